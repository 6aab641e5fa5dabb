/**
 * What is written in another format is refused by name or migrated; a patch release raises
 * nothing. Migrations under crashes are in simulation/storage.slow.test.ts.
 */
import assert from 'node:assert/strict';
import {cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {crc32} from 'node:zlib';
import {Refusal} from '#server/base/errors.ts';
import {openDiskEngine} from '#server/simulation/disk-engine.ts';
import {closing} from '#server/testing/closing.ts';
import type {Engine} from '../engine.ts';
import {type FormatLevel, type Formats, formatLevels, formatsOf} from './levels.ts';
import {migrationKey} from '#server/transactions/system-keys.ts';
import {migrationOf} from './migration.ts';

const base = mkdtempSync(join(tmpdir(), 'svc-formats-'));
after(() => rmSync(base, {recursive: true}));
let roots = 0;

/** Rows under `r` gain a mark with each level. */
const levels: readonly FormatLevel[] = [1, 2, 3].map(level => ({
  level,
  since: `7.${level}`,
  step: {
    range: {start: Buffer.from('r'), end: Buffer.from('s')},
    rowsAtOnce: 10,
    rewrite(key, value, into) {
      if (value[0] !== level) into.put(key, Buffer.from([level]));
    },
  },
}));

function build(level: number): Formats {
  return formatsOf(`7.${level}.4`, levels);
}

async function open(rootPath: string, formats: Formats): Promise<Engine> {
  return closing(await openDiskEngine({rootPath, settings: {formats}}));
}

/** A root with one database of 95 rows, written by a build of level 1 and stopped. */
async function rootOfLevel1(): Promise<string> {
  const rootPath = join(base, `root${++roots}`);
  const engine = await open(rootPath, build(1));
  await engine.createDatabase('a');
  const transaction = engine.database('a')?.begin('READ_COMMITTED');
  for (let row = 0; row < 95; row++) transaction?.put(Buffer.from(`r${row}`), Buffer.from([1]));
  assert.equal((await transaction?.commit())?.kind, 'committed');
  await engine.close();
  return rootPath;
}

function levelsOfRows(engine: Engine): Map<number, number> {
  const session = engine.database('a')?.read();
  const counts = new Map<number, number>();
  for (let row = 0; row < 95; row++) {
    const level = session?.get(Buffer.from(`r${row}`))?.[0] ?? 0;
    counts.set(level, (counts.get(level) ?? 0) + 1);
  }
  session?.close();
  return counts;
}

async function migrated(engine: Engine): Promise<void> {
  while (engine.migrating.length > 0) await new Promise(resolve => setImmediate(resolve));
}

function refusedWith(...patterns: RegExp[]): (error: unknown) => boolean {
  return error => {
    assert.ok(error instanceof Refusal, String(error));
    assert.equal(error.code, 'start.refused');
    for (const pattern of patterns) assert.match(error.message, pattern);
    return true;
  };
}

test('a new minor release migrates in place and says how far it is', async () => {
  const rootPath = await rootOfLevel1();
  const events: string[] = [];
  const engine = closing(
    await openDiskEngine({
      rootPath,
      settings: {formats: build(2)},
      onEvent: event => events.push(event),
    }),
  );
  assert.deepEqual(engine.migrating, ['a']);
  const database = engine.database('a');
  assert.ok(database !== undefined);
  assert.equal(migrationOf(database)?.from, 1);
  // The database is in service meanwhile.
  assert.equal(levelsOfRows(engine).get(1), 95);
  await migrated(engine);
  assert.equal(migrationOf(database), undefined);
  assert.deepEqual([...levelsOfRows(engine)], [[2, 95]]);
  assert.deepEqual(
    events.filter(event => event.startsWith('format.')),
    ['format.raised', 'format.migrating', 'format.migrated'],
  );
  await engine.close();
});

test('nothing of the old level comes behind the entry that raises a server that runs', async () => {
  const rootPath = await rootOfLevel1();
  // A member of the new release writes what the others read until then.
  const formats = {...build(1)};
  const engine = await open(rootPath, formats);
  const database = engine.database('a');
  assert.ok(database !== undefined);
  const writing = (row: string) => {
    const transaction = database.begin('READ_COMMITTED');
    transaction.put(Buffer.from(row), Buffer.from([transaction.formatLevel]));
    return transaction;
  };
  Object.assign(formats, build(2));
  const before = writing('r0');
  // Opened behind the entry and before it is executed: not to be shared with the migration.
  const reader = database.nextApplied().then(() => {
    const session = database.read();
    assert.equal(session.get(migrationKey), undefined);
    return session;
  });
  const raised = engine.raiseFormat();
  const meanwhile = writing('r1');
  assert.equal(meanwhile.formatLevel, 1);
  assert.equal((await meanwhile.commit()).kind, 'conflict');
  assert.equal((await before.commit()).kind, 'conflict');
  await raised;
  assert.equal(engine.formatLevel, 2);
  await migrated(engine);
  const session = await reader;
  assert.equal(session.get(Buffer.from('r0'))?.[0], 1);
  session.close();
  assert.equal((await writing('r2').commit()).kind, 'committed');
  assert.deepEqual([...levelsOfRows(engine)], [[2, 95]]);
  await engine.close();
  await assert.rejects(open(rootPath, build(1)), refusedWith(/format/));
});

test('a stopped migration goes on where it was, and patches read it both ways', async () => {
  const rootPath = await rootOfLevel1();
  const first = await open(rootPath, build(2));
  while (levelsOfRows(first).get(2) === undefined) {
    await new Promise(resolve => setImmediate(resolve));
  }
  await first.close();
  const later = await open(rootPath, formatsOf('7.2.9', levels));
  const database = later.database('a');
  assert.ok(database !== undefined);
  assert.ok((migrationOf(database)?.rowsRewritten ?? 0) > 0, 'it had begun');
  assert.ok((levelsOfRows(later).get(1) ?? 0) > 0, 'and not ended');
  await migrated(later);
  assert.deepEqual([...levelsOfRows(later)], [[2, 95]]);
  await later.close();
  const earlier = await open(rootPath, formatsOf('7.2.0', levels));
  assert.deepEqual([...levelsOfRows(earlier)], [[2, 95]]);
  await earlier.close();
});

test('an older release refuses by name from the raise on, and changes nothing', async () => {
  const rootPath = await rootOfLevel1();
  const engine = await open(rootPath, build(2));
  await migrated(engine);
  await engine.close();
  await assert.rejects(
    open(rootPath, build(1)),
    refusedWith(/written in format 2, and this release reads format 1: start the release that/),
  );
  // The database alone, as a copy beside others, is refused as well.
  const other = await rootOfLevel1();
  rmSync(join(other, 'databases/a'), {recursive: true});
  cpSync(join(rootPath, 'databases/a'), join(other, 'databases/a'), {recursive: true});
  await assert.rejects(open(other, build(1)), refusedWith(/databases\/a was written in format 2/));
  const again = await open(rootPath, build(2));
  assert.deepEqual([...levelsOfRows(again)], [[2, 95]]);
  await again.close();
});

test('a release that is two levels ahead names the one to start first', async () => {
  const rootPath = await rootOfLevel1();
  await assert.rejects(
    open(rootPath, build(3)),
    refusedWith(/rows of format 1, and this release reads formats 2 and 3: start release 7\.2/),
  );
  const between = await open(rootPath, build(2));
  await between.close();
  await assert.rejects(open(rootPath, build(3)), refusedWith(/let it finish its migration/));
  const again = await open(rootPath, build(2));
  await migrated(again);
  await again.close();
  const newest = await open(rootPath, build(3));
  await migrated(newest);
  assert.deepEqual([...levelsOfRows(newest)], [[3, 95]]);
  await newest.close();
});

test('a patch writes the level of its minor release, whatever its table says', () => {
  assert.equal(formatsOf('7.1.0', levels).level, 1);
  assert.equal(formatsOf('7.1.99', levels).level, 1);
  assert.equal(formatsOf('7.2.0', levels).level, 2);
  assert.equal(formatsOf('8.0.0', levels).level, 3);
});

test('the levels of this build have no gap, and each a minor release of its own', () => {
  formatLevels.forEach(({level, since}, at) => {
    assert.equal(level, at + 1);
    assert.match(since, /^\d+\.\d+$/);
    assert.equal(formatsOf(`${since}.0`).level, level);
  });
});

test('a log of another version is refused by name', async () => {
  const rootPath = await rootOfLevel1();
  const directory = join(rootPath, 'raft-storage-one/log');
  const [segment = ''] = readdirSync(directory).filter(name => name.startsWith('segment'));
  const bytes = readFileSync(join(directory, segment));
  for (const version of [0, 3]) {
    bytes.writeUInt32LE(version, 4);
    bytes.writeUInt32LE(crc32(bytes.subarray(0, 56)), 56);
    writeFileSync(join(directory, segment), bytes);
    await assert.rejects(
      open(rootPath, build(1)),
      refusedWith(
        new RegExp(`written in version ${version}, and this release reads versions 1 and 2`),
      ),
    );
  }
});

test('a server store of another version or level is refused by name', async () => {
  const rootPath = await rootOfLevel1();
  const path = join(rootPath, 'raft-storage-one/server/state');
  const [, json = ''] = readFileSync(path, 'utf8').split('\n');
  const write = (version: number, text: string) => {
    const checksum = crc32(text).toString(16).padStart(8, '0');
    writeFileSync(path, `svc-server-state ${version} ${checksum}\n${text}`);
  };
  write(2, json);
  await assert.rejects(
    open(rootPath, build(1)),
    refusedWith(/written in version 2, and this release reads version 1/),
  );
  write(1, json.replace('"formatLevel":1', '"formatLevel":9'));
  await assert.rejects(open(rootPath, build(1)), refusedWith(/format 9.* reads format 1/));
});
