/** A warm-up on real files: it writes, ends when it is told to, and leaves nothing. */
import assert from 'node:assert/strict';
import {existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {resolveSettings} from '#server/base/setting-values.ts';
import {createDiskStoreFactory} from '#server/engine/store-factory.ts';
import {createClock, createRandom, createTimers} from '#server/platform/real/clock.ts';
import {createDisk} from '#server/platform/real/disk.ts';
import {loadJavaScript} from '#server/platform/real/javascript.ts';
import {createMachine} from '#server/platform/real/machine.ts';
import {createSourceReader} from '#server/platform/real/source-reader.ts';
import {openStore} from '#server/storage/rocksdb/open.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {type WriteWarmupOptions, startWriteWarmup} from './write-warmup.ts';

const root = mkdtempSync(join(tmpdir(), 'svc-warmup-'));
after(() => rmSync(root, {recursive: true}));
const path = join(root, 'warmup');

interface Told {
  readonly event: string;
  readonly fields: Readonly<Record<string, unknown>> | undefined;
}

async function options(open: typeof openStore = openStore) {
  const told: Told[] = [];
  const disk = createDisk();
  const {settings} = resolveSettings([]);
  const given: WriteWarmupOptions = {
    clock: createClock(),
    random: createRandom(),
    timers: createTimers(),
    sourceReader: createSourceReader(),
    machine: createMachine(),
    javascript: await loadJavaScript(),
    settings: () => settings,
    disk,
    path,
    stores: createDiskStoreFactory(disk, open),
    logger: {log: (_level, event, fields) => told.push({event, fields})},
  };
  return {given, told};
}

test('writes are done in a folder that was cleared before and is gone behind them', async () => {
  mkdirSync(path);
  writeFileSync(join(path, 'of an earlier process'), 'that ended in the middle');
  const {given, told} = await options();
  const end = startWriteWarmup(given);
  await eventually('it is over', () => told.length > 0, {millisMax: 60_000});
  assert.deepEqual(
    told.map(({event, fields}) => [event, fields?.['writes']]),
    [['cluster.warmed-up', 400]],
  );
  assert.deepEqual(readdirSync(root), []);
  await end();
});

test('told to end it ends soon, with nothing left', async () => {
  const {given, told} = await options();
  const end = startWriteWarmup(given);
  await eventually('it has begun', () => existsSync(path));
  await end();
  const [{event, fields} = {event: 'none', fields: undefined}] = told;
  assert.equal(event, 'cluster.warmed-up');
  assert.ok(Number(fields?.['writes']) < 400);
  assert.deepEqual(readdirSync(root), []);
});

test('what goes wrong is told and harms nobody', async () => {
  const {given, told} = await options(() => Promise.reject(new Error('no room')));
  const end = startWriteWarmup(given);
  await end();
  assert.equal(told[0]?.event, 'cluster.warmup-failed');
  assert.match(String(told[0]?.fields?.['detail']), /no room/);
  assert.deepEqual(readdirSync(root), []);
});
