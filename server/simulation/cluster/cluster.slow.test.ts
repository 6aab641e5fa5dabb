/**
 * Clusters of whole servers under faults: a bounded number of seeds, and the same trace for the
 * same seed.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {failureOf} from '../shrink.ts';
import {clusterFaultKinds, ClusterWorld, clusterWorldOf, clusterWorlds} from './cluster-world.ts';

test('ten clusters of sixty seconds hold: make simulate PROFILE=cluster SEED=n', async t => {
  const hit = new Set<string>();
  let operations = 0;
  for (let seed = 1; seed <= 10; seed++) {
    const world = new ClusterWorld(clusterWorldOf(seed));
    const failure = await failureOf(
      {...clusterWorlds, run: () => world.run()},
      clusterWorldOf(seed),
    );
    assert.equal(failure, undefined, `seed ${seed}: ${failure?.stack}`);
    operations += world.report.operations;
    for (const fault of world.report.faults.keys()) hit.add(fault.replace(/ of a .*/, ''));
  }
  assert.deepEqual(
    clusterFaultKinds.filter(kind => !hit.has(kind)),
    [],
  );
  t.diagnostic(`${operations} operations`);
});

/** Seeds of worlds that once did not hold. */
const once: readonly number[] = [
  // A snapshot that came late took the place of a newer state, and what lay between was gone.
  70_050,
  // The rest of a wait for a quorum was less than the clock shows, and time stood still.
  200_915,
  // Who began to lead looked into a store that was behind, on a full disk; or was told twice.
  7_030, 7_035,
  // Behind its start a server gave a snapshot whose database was ahead of the index it stood for.
  1_001_035,
  // The world was judged while a member was still stopping.
  20_003_937,
  // The power went while a new leader wrote what its store lacked, and nobody heard of it.
  20_005_903,
  // A write that went astray fell on both copies of the newest vote, which was forgotten.
  50_102_354,
  // A leader knew less to be committed than its databases held, and gave no snapshot: nobody could.
  52_202_414,
];

test('clusters that once did not hold', async () => {
  for (const seed of once) await new ClusterWorld(clusterWorldOf(seed)).run();
});

test('the same seed gives the same trace, another one gives another', async () => {
  const hash = async (seed: number) =>
    (await new ClusterWorld({...clusterWorldOf(seed), seconds: 10}).run()).traceHash;
  assert.equal(await hash(7), await hash(7));
  assert.notEqual(await hash(7), await hash(8));
});
