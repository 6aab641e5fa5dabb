/**
 * Fifty clusters at rest: each is looked at once a minute at most, nothing is written, and the
 * operator fits into 200 MB together with the world that it is tried in.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {OperatorWorld} from './operator-world.ts';

const clusters = 50;
const minutes = 10;
const rssMax = 200 * 2 ** 20;

test(`${clusters} clusters at rest cost next to nothing`, {timeout: 300_000}, async t => {
  const world = new OperatorWorld(1);
  world.startOperator();
  const names = Array.from({length: clusters}, (_, at) => `db${at}`);
  for (const name of names) world.create({}, name);
  const isWell = (): boolean =>
    names.every(name => world.cluster(name).status?.phase === 'Running');
  assert.ok(await world.time.run(30 * 60_000, isWell), 'all of them run');
  await world.time.run(2 * 60_000);
  const {writes} = world.kubernetes.store;
  const {reconciles} = world.counts;
  await world.time.run(minutes * 60_000);
  const looks = world.counts.reconciles - reconciles;
  const {rss} = process.memoryUsage();
  t.diagnostic(`${looks} looks in ${minutes} minutes, ${(rss / 2 ** 20).toFixed(0)} MB`);
  assert.equal(world.kubernetes.store.writes, writes, 'nothing was written');
  assert.ok(looks <= clusters * minutes, `${looks} looks`);
  assert.ok(rss <= rssMax, `${rss} bytes`);
  await world.end();
});
