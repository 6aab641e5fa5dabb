/**
 * Databases kept from earlier releases open, answer what they answered then, agree with themselves
 * and take writes. And a format level belongs to its minor release for good.
 */
import assert from 'node:assert/strict';
import {cpSync, mkdtempSync, readdirSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {version} from '#server/node/version.ts';
import {formatLevels, formatsOf} from '#server/engine/formats/levels.ts';
import {type KeptAnswer, keptDatabases, keptName} from './databases.ts';
import {ServiceWorld, TestDatabase} from '../worlds/service-world.ts';

const base = mkdtempSync(join(tmpdir(), 'svc-kept-'));
after(() => rmSync(base, {recursive: true}));
const releases = readdirSync(keptDatabases).sort();
const minorOf = (release: string) => release.split('.').slice(0, 2).join('.');

/** The format level that a kept root says it has. */
function levelOf(release: string): number {
  const path = join(keptDatabases, release, 'raft-storage-one/server/state');
  const [, json = ''] = readFileSync(path, 'utf8').split('\n');
  return (JSON.parse(json) as {formatLevel: number}).formatLevel;
}

test('there is one of every minor release with a format level, and of this one: make keep', () => {
  const kept = new Set(releases.map(minorOf));
  const wanted = [...formatLevels.map(({since}) => since), minorOf(version)];
  assert.deepEqual(
    wanted.filter(minor => !kept.has(minor)),
    [],
  );
});

for (const release of releases) {
  test(`no patch of ${minorOf(release)} writes another format than ${release} did`, () => {
    assert.equal(formatsOf(`${minorOf(release)}.99`).level, levelOf(release));
  });

  const isReadable = levelOf(release) >= formatsOf(version).level - 1;
  test(`the database of ${release} opens and answers as then`, {skip: !isReadable}, async () => {
    const rootPath = join(base, release);
    cpSync(join(keptDatabases, release), rootPath, {recursive: true});
    const world = await ServiceWorld.open({}, {rootPath});
    try {
      while (world.engine.migrating.length > 0) {
        await new Promise(resolve => setImmediate(resolve));
      }
      const database = new TestDatabase(world.service, keptName);
      const answers = JSON.parse(
        readFileSync(join(rootPath, 'answers.json'), 'utf8'),
      ) as KeptAnswer[];
      for (const {question, rows} of answers) {
        assert.deepEqual(await database.run(question), rows, question);
      }
      const [checked] = await database.run('CHECK DATABASE');
      assert.equal(checked?.['totalErrors'], 0, JSON.stringify(checked));
      await database.run("INSERT INTO Person SET name = 'new'");
      assert.equal((await database.run("SELECT FROM Person WHERE name = 'new'")).length, 1);
    } finally {
      await world.close();
    }
  });
}
