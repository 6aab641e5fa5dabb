/**
 * Databases kept from every minor release, as its server left them when it was killed: the tests
 * of all later releases open them (databases.test.ts).
 *
 * `make keep` writes that of this release into fixtures/databases/VERSION: the server's root, and
 * the answers that its own statements gave. A kept one is never written again.
 */
import {cpSync, existsSync, mkdirSync, rmSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {version} from '#server/node/version.ts';
import {freePort} from '../worlds/free-port.ts';
import {startServer, temporaryRoot} from '../worlds/server-process.ts';

export const keptDatabases = join(import.meta.dirname, '../fixtures/databases');
export const keptName = 'kept';

/** What a kept root was asked before its server was killed. */
export interface KeptAnswer {
  readonly question: string;
  readonly rows: readonly unknown[];
}

/** Every kind of key and record that this release writes. */
const statements = [
  'CREATE VERTEX TYPE Person BUCKETS 2',
  'CREATE VERTEX TYPE Author EXTENDS Person',
  'CREATE EDGE TYPE Knows',
  'CREATE EDGE TYPE Cites LIGHTWEIGHT',
  'CREATE DOCUMENT TYPE Note',
  'CREATE PROPERTY Person.name STRING (mandatory true, notnull true)',
  'CREATE PROPERTY Person.born DATE',
  'CREATE PROPERTY Note.tags LIST OF STRING',
  'CREATE PROPERTY Note.price DECIMAL',
  "CREATE PROPERTY Note.far STRING (external true, compression 'auto')",
  "CREATE PROPERTY Note.packed STRING (compression 'lz4')",
  'CREATE INDEX ON Person (name) UNIQUE',
  'CREATE INDEX ON Person (born, name) NOTUNIQUE',
  'CREATE INDEX ON Note (tags BY ITEM) NOTUNIQUE',
  "INSERT INTO Person SET name = 'ada', born = date('1815-12-10', 'yyyy-MM-dd'), " +
    "notes = {'a': [1, 2.5, true, null]}",
  "INSERT INTO Author SET name = 'bo', big = 9007199254740993, small = -1.5e-300",
  "INSERT INTO Person (name) VALUES ('cy'), ('dee'), ('eli')",
  "CREATE EDGE Knows FROM (SELECT FROM Person WHERE name = 'ada') " +
    "TO (SELECT FROM Person WHERE name = 'bo') SET since = 1840",
  "CREATE EDGE Cites FROM (SELECT FROM Person WHERE name = 'bo') " +
    "TO (SELECT FROM Person WHERE name = 'ada')",
  "INSERT INTO Note SET text = 'ñandú 漢字', tags = ['x', 'y'], price = 12.30",
  "INSERT INTO Note SET text = 'second', tags = ['y'], " +
    "embedded = {'@type': 'Note', 'text': 'inner'}",
  `INSERT INTO Note SET text = 'third', far = '${'far '.repeat(200)}', ` +
    `packed = '${'packed '.repeat(200)}'`,
  "DELETE FROM Person WHERE name = 'eli'",
  "UPDATE Person SET age = 36 WHERE name = 'ada'",
];

const questions = [
  'SELECT @rid, @type, name, born, age, notes, small, big.asString() AS big ' +
    'FROM Person ORDER BY name',
  "SELECT name, out('Knows').name AS knows, in('Cites').name AS citedBy " +
    'FROM Person ORDER BY name',
  "SELECT name FROM Person WHERE name = 'cy'",
  "SELECT name FROM Person WHERE born < date('1900-01-01', 'yyyy-MM-dd')",
  'SELECT FROM Note ORDER BY text',
  "SELECT text FROM Note WHERE tags CONTAINS 'y' ORDER BY text",
  'SELECT since FROM Knows',
  'SELECT count(*) AS n FROM Person',
  'SELECT name, properties.size() AS properties FROM schema:types ORDER BY name',
];

/** Writes the kept database of this release; `undefined` when it is there already. */
async function keep(): Promise<string | undefined> {
  const target = join(keptDatabases, version);
  if (existsSync(target)) return undefined;
  const root = temporaryRoot('keep');
  // Small segments, so that little is kept; the name that the tests' engine has.
  const settings = {'svc.ha.logSegmentSize': '64KB', 'svc.server.name': 'one'};
  const server = await startServer({root, port: await freePort(), settings});
  try {
    const client = server.client();
    await client.createDatabase(keptName);
    for (const statement of statements) await client.command(keptName, statement);
    const answers: KeptAnswer[] = [];
    for (const question of questions) {
      const {result} = await client.query(keptName, question);
      answers.push({question, rows: result});
    }
    client.close();
    await server.kill();
    mkdirSync(target, {recursive: true});
    for (const part of ['databases', 'raft-storage-one']) {
      cpSync(join(root, part), join(target, part), {recursive: true});
    }
    rmSync(join(target, 'databases', keptName, 'LOCK'), {force: true});
    writeFileSync(join(target, 'answers.json'), `${JSON.stringify(answers, undefined, 2)}\n`);
    return target;
  } finally {
    await server.dispose();
  }
}

if (import.meta.main) {
  const target = await keep();
  process.stdout.write(
    target === undefined
      ? `the database of ${version} is kept already\n`
      : `the database of ${version} is in ${target}: commit it\n`,
  );
}
