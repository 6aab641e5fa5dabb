/**
 * A short look at what `make cluster-crash` and `make porcupine` do at length: members are killed
 * and links broken under load, nothing acknowledged is lost or doubled, histories hold.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {runClusterCrashes} from './cluster-crash.ts';
import {goObstacle} from './go-program.ts';
import {runHistories} from './histories.ts';

const seed = Number(process.env['SEED'] || 1);
const obstacle = await goObstacle();

test('three kills lose nothing, and all members hold the same', {timeout: 180_000}, async t => {
  const {findings, surprises, ...counts} = await runClusterCrashes({size: 3, cycles: 3, seed});
  t.diagnostic(`acknowledged ${counts.acknowledged} unknown ${counts.unknown}`);
  t.diagnostic(`transfers ${counts.transfers} looks ${counts.looks}`);
  assert.deepEqual(findings, [], `replay: make cluster-crash CYCLES=3 SEED=${seed}`);
  assert.deepEqual(surprises, []);
  assert(counts.acknowledged > 3, 'the writers wrote next to nothing: the run proves nothing');
  assert(counts.looks > 3, 'nobody looked at the accounts: the run proves nothing');
});

test('a history under faults is linearizable, and sessions keep their guarantees', {
  skip: obstacle ?? false,
  timeout: 180_000,
}, async t => {
  const options = {system: 'svc', size: 3, runs: 1, seconds: 6, seed} as const;
  const [run] = await runHistories({...options, onRun: () => undefined});
  assert(run !== undefined);
  t.diagnostic(`operations ${run.operations}, at followers ${run.atFollowers}`);
  assert.deepEqual([run.verdict, run.broken, run.surprises], ['linearizable', [], []]);
  assert(run.operations > 100, 'next to nothing was asked: the run proves nothing');
});
