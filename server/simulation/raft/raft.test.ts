/**
 * Groups of cores under faults: a bounded number of seeds, the histories that once failed, the
 * same trace for the same seed, and every kind of fault at a leader and at a follower.
 * Holds invariants R1, R2 and R3.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {failureOf} from '../shrink.ts';
import {keptWorlds} from './kept-worlds.ts';
import {faultKinds} from './raft-faults.ts';
import {RaftWorld, raftWorldOf, raftWorlds} from './raft-world.ts';

test('ten groups of sixty seconds hold: make simulate PROFILE=raft SEED=n', async t => {
  const hit = new Set<string>();
  let operations = 0;
  for (let seed = 1; seed <= 10; seed++) {
    const world = new RaftWorld(raftWorldOf(seed));
    const failure = await failureOf({...raftWorlds, run: () => world.run()}, raftWorldOf(seed));
    assert.equal(failure, undefined, `seed ${seed}: ${failure?.stack}`);
    operations += world.report.operations;
    for (const fault of world.report.faults.keys()) hit.add(fault);
  }
  const missed = faultKinds.flatMap(kind =>
    ['leader', 'follower'].map(role => `${kind} of a ${role}`).filter(fault => !hit.has(fault)),
  );
  assert.deepEqual(missed, []);
  t.diagnostic(`${operations} operations, ${hit.size} kinds of faults by role`);
});

for (const {because, options} of keptWorlds) {
  test(`once failed: ${because}`, () => {
    new RaftWorld(options).run();
  });
}

test('the same seed gives the same trace, another one gives another', () => {
  const hash = (seed: number) => new RaftWorld(raftWorldOf(seed)).run().traceHash;
  assert.equal(hash(7), hash(7));
  assert.notEqual(hash(7), hash(8));
});
