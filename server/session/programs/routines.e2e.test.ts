/** What a database's own functions and triggers are after the server was killed: still there. */
import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {
  rootPassword,
  type ServerProcess,
  startServer,
  temporaryRoot,
} from '#server/testing/worlds/server-process.ts';

const root = temporaryRoot('routines');
let server: ServerProcess | undefined;

after(() => server?.dispose());

async function post(path: string, body: object): Promise<Record<string, unknown>> {
  const response = await fetch(`${server?.url}/api/v1${path}`, {
    method: 'POST',
    headers: {authorization: `Basic ${Buffer.from(`root:${rootPassword}`).toString('base64')}`},
    body: JSON.stringify(body),
  });
  return {status: response.status, ...((await response.json()) as object)};
}

const sql = (text: string): Promise<Record<string, unknown>> =>
  post('/command/kept', {language: 'sql', command: text});

test('functions and triggers survive a kill, in every language', async () => {
  server = await startServer({root, port: await freePort()});
  await post('/server', {command: 'create database kept'});
  for (const text of [
    'CREATE DOCUMENT TYPE Note',
    'CREATE DOCUMENT TYPE Journal',
    'DEFINE FUNCTION own.twice "SELECT :n * 2 AS r" PARAMETERS [n]',
    'DEFINE FUNCTION own.more "return own + 1" PARAMETERS [own] LANGUAGE js',
    `CREATE TRIGGER a AFTER CREATE ON Note EXECUTE SQL
      'INSERT INTO Journal SET n = own.twice($record.n)'`,
    "CREATE TRIGGER b BEFORE CREATE ON Note EXECUTE JAVASCRIPT 'record.n = record.n + 100'",
  ]) {
    assert.equal((await sql(text))['status'], 200, text);
  }
  await server.kill();
  server = await startServer({root, port: await freePort()});
  assert.equal((await sql('INSERT INTO Note SET n = 1'))['status'], 200);
  const answer = await sql('SELECT n, own.more(n) AS more FROM Journal');
  assert.deepEqual(answer['result'], [{n: 202, more: 203}]);
  const refused = await sql('SELECT own.twise(1)');
  assert.notEqual(refused['status'], 200);
  assert.match(String(refused['detail']), /did you mean 'own.twice'/);
});
