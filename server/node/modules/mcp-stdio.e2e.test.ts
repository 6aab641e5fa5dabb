/** `bin/mcp-stdio.sh` as a client starts it: answers on standard output, and the exit codes. */
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import {rmSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {test} from 'node:test';
import {temporaryRoot} from '#server/testing/worlds/server-process.ts';

const script = join(resolve(import.meta.dirname, '../../..'), 'bin/mcp-stdio.sh');

interface Run {
  readonly code: number | null;
  readonly lines: readonly string[];
  readonly error: string;
}

/** Runs the script in a folder with what is written to it. */
function run(root: string, settings: string, input: string, signal?: NodeJS.Signals): Promise<Run> {
  const {promise, resolve: settle, reject} = Promise.withResolvers<Run>();
  const child = spawn(script, [], {
    env: {
      ...process.env,
      SVC_SETTINGS:
        `-Dsvc.server.rootPath=${root} -Dsvc.server.httpIncomingHost=127.0.0.1 ` +
        `-Dsvc.server.httpIncomingPort=0 ${settings}`,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let out = '';
  let error = '';
  child.stderr.on('data', chunk => (error += String(chunk)));
  child.stdout.on('data', chunk => {
    out += String(chunk);
    // The answer says that it runs.
    if (signal !== undefined) child.kill(signal);
  });
  child.on('error', reject);
  child.on('close', code => {
    settle({code, lines: out.split('\n').slice(0, -1), error});
  });
  child.stdin.on('error', () => {});
  if (signal === undefined) child.stdin.end(input);
  else child.stdin.write(input);
  return promise;
}

const password = '-Dsvc.server.rootPassword=only-for-tests';
const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n';

test('the script serves root until its input ends, and starts with a password only', async () => {
  const root = temporaryRoot('mcp-stdio');
  try {
    const none = await run(root, '', ping);
    assert.deepEqual([none.code, none.lines], [1, []]);
    assert.match(none.error, /give its password as svc\.server\.rootPassword/);

    const served = await run(
      root,
      `${password} -Dsvc.server.defaultDatabases=shop`,
      `\n${ping}{"method":"notifications/initialized"}\n{\n` +
        '[{"id":"a","method":"tools/call","params":{"name":"list_databases"}},{"method":"x"}]\n' +
        '[{"method":"x"}]',
    );
    assert.equal(served.code, 0, served.error);
    assert.deepEqual(
      served.lines.map(line => JSON.parse(line) as unknown),
      [
        {jsonrpc: '2.0', id: 1, result: {}},
        {
          jsonrpc: '2.0',
          id: null,
          error: {code: -32_700, message: 'Parse error: the request body is not valid JSON'},
        },
        [
          {
            jsonrpc: '2.0',
            id: 'a',
            result: {content: [{type: 'text', text: '{"databases":["shop"]}'}], isError: false},
          },
        ],
      ],
    );

    const wrong = await run(root, '-Dsvc.server.rootPassword=another-one', ping);
    assert.deepEqual([wrong.code, wrong.lines], [1, []]);
    assert.match(wrong.error, /is not the password of root/);

    const unknown = await run(root, `${password} -Dsvc.nope=1`, ping);
    assert.deepEqual([unknown.code, unknown.lines], [1, []]);
    assert.match(unknown.error, /svc\.nope/);

    const stopped = await run(root, password, ping, 'SIGTERM');
    assert.deepEqual([stopped.code, stopped.lines.length], [1, 1]);
  } finally {
    rmSync(root, {recursive: true, force: true});
  }
});
