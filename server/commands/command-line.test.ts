/** The command line as a person meets it: help, exit codes, and one sentence for each mistake. */
import assert from 'node:assert/strict';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import http from 'node:http';
import type {AddressInfo} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {test} from 'node:test';
import {svc} from '#server/testing/terminal/piped-command.ts';

/** Answers every request with the same body while `work` runs. */
async function answering(
  body: string,
  work: (url: string, requests: string[]) => Promise<void>,
): Promise<void> {
  const requests: string[] = [];
  const server = http.createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    requests.push(`${request.method} ${request.url} ${text}`);
    response.writeHead(200, {'Content-Type': 'application/json'}).end(body);
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  try {
    await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests);
  } finally {
    server.closeAllConnections();
    await new Promise(resolve => server.close(resolve));
  }
}

test('help lists every command, and every command has help', async () => {
  const {code, out} = await svc(['--help']);
  assert.equal(code, 0);
  for (const name of ['start', 'query', 'load', 'database', 'cluster', 'settings', 'version']) {
    assert.match(out, new RegExp(`^  ${name} `, 'm'));
    const help = await svc([name, '--help']);
    assert.equal(help.code, 0);
    assert.match(help.out, new RegExp(`^usage: svc ${name}`, 'm'));
  }
});

const mistakes = [
  // words                                  said
  [['qurey', 'db', 'x'], /no command 'qurey'; did you mean 'svc query'\?/],
  [['query', 'db'], /query: STATEMENT is missing/],
  [['query', 'db', 'SELECT', '1'], /no argument for '1'; quote a value that holds blanks/],
  [['query', 'db', 'x', '--fromat', 'csv'], /unknown option --fromat; did you mean --format\?/],
  [['query', 'db', 'x', '--param', 'novalue'], /'novalue' is not of the form NAME=JSON/],
  [['query', 'db', 'x', '--format', 'xml'], /no format 'xml': choose one of table, json/],
  [['load', 'db', 'graph.txt'], /'graph\.txt' does not tell its format: give --format/],
  [['load', 'db', 'a.csv', 'b.ndjson'], /cannot go together/],
  [['database', 'craete', 'x'], /no action 'craete': did you mean create\?/],
  [['database', 'drop'], /NAME is missing: which database shall it drop\?/],
  [['start', '--set', 'svc.x'], /'svc\.x' is not of the form KEY=VALUE/],
  [['start', '--set'], /option --set needs a KEY=VALUE/],
  [['version', '--json=1'], /option --json takes no value/],
] as const;

for (const [words, said] of mistakes) {
  test(`svc ${words.join(' ')}: exit code 2 and one sentence`, async () => {
    const {code, out, error} = await svc(words, {SVC_PASSWORD: 'x'});
    assert.equal(code, 2);
    assert.equal(out, '');
    assert.match(error, said);
    assert.equal(error.split('\n').length, 2);
  });
}

test('without a server the exit code is 1 and the sentence says what to do', async () => {
  const words = ['query', 'db', 'SELECT 1', '--url', 'http://127.0.0.1:1'];
  const {code, error} = await svc(words, {SVC_PASSWORD: 'x'});
  assert.equal(code, 1);
  assert.match(error, /cannot reach 127\.0\.0\.1:1 \(.*start a server with 'svc start'/);
});

test('without a terminal and without a password nothing is asked', async () => {
  const {code, error} = await svc(['database', 'list']);
  assert.equal(code, 1);
  assert.match(error, /no password for user root: set SVC_PASSWORD, or give --password-file/);
});

test('start hands its settings on; the last value of a key counts', async () => {
  const words = ['start', '--set', 'a=1', '--set=b=x=y', '--set', 'a=2', '--config', 'c.json'];
  const {code, started} = await svc(words);
  assert.equal(code, 0);
  assert.deepEqual(started, [{sets: {a: '2', b: 'x=y'}, configPath: 'c.json'}]);
});

test('query sends parameters as JSON, or as text where they are none', async () => {
  await answering('{"result":[{"n":1}]}', async (url, requests) => {
    const params = ['--param', 'a=[1,2]', '--param', 'b=Ann', '--param', 'c="7"'];
    const ran = await svc(
      ['query', 'db', '-', '--url', url, ...params],
      {SVC_PASSWORD: 'x'},
      'SELECT 1',
    );
    assert.deepEqual(ran, {code: 0, out: '{"n":1}\n', error: '', started: []});
    assert.deepEqual(requests, [
      'POST /api/v1/command/db {"language":"sql","command":"SELECT 1",' +
        '"params":{"a":[1,2],"b":"Ann","c":"7"}}',
    ]);
  });
});

test('load sends the files as one stream and prints the counts of the server', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-load-'));
  const files = [join(folder, 'a.csv'), join(folder, 'b.csv')];
  writeFileSync(files[0] ?? '', '@type,@class\nvertex,A');
  writeFileSync(files[1] ?? '', '@type,@class\nvertex,B\n');
  const body = '{"verticesCreated":2,"edgesCreated":0,"linesRead":2}';
  try {
    await answering(body, async (url, requests) => {
      const words = ['load', 'db', ...files, '--url', url, '--option', 'wal=true'];
      const {code, out} = await svc(words, {SVC_PASSWORD: 'x'});
      assert.equal(code, 0);
      assert.match(out, /^loaded 2 vertices and 0 edges from 2 lines in [\d.]+ s\n$/);
      assert.deepEqual(requests, [
        'POST /api/v1/batch/db?wal=true @type,@class\nvertex,A\n---\n@type,@class\nvertex,B\n',
      ]);
    });
  } finally {
    rmSync(folder, {recursive: true});
  }
});
