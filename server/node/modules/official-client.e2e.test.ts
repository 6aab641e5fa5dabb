/**
 * The official TypeScript client against a real server, over HTTP and over standard input: every
 * method of the protocol, each answer checked by the schemas that the client brings.
 */
import assert from 'node:assert/strict';
import {execFile} from 'node:child_process';
import {rmSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {test} from 'node:test';
import {promisify} from 'node:util';
import {
  freePort,
  rootPassword,
  startServer,
  temporaryRoot,
} from '#server/testing/worlds/server-process.ts';

const repository = resolve(import.meta.dirname, '../../..');
const script = join(repository, 'bin/mcp-stdio.sh');
const program = join(repository, 'server/testing/agents/official-client.mjs');

const database = 'shop';
const call = (name: string, given: object = {}) => ['callTool', {name, arguments: given}];
const ann = {database, typeName: 'Person', matchKeys: {name: 'Ann'}};
const sql = {database, language: 'sql'};

/** What is asked, and what is looked at in the answer. */
const walk: readonly (readonly [readonly unknown[], (answer: unknown) => void])[] = [
  [['ping'], answer => assert.deepEqual(answer, {})],
  [['listTools'], answer => assert.equal((answer as {tools: object[]}).tools.length, 16)],
  [call('list_databases'), says('{"databases":["shop"]}')],
  [call('upsert_entity', {...ann, setProperties: {age: 30}}), says(/"age":30.*"count":1/)],
  [call('upsert_entity', {...ann, setProperties: {age: 31}}), says(/"age":31.*"count":1/)],
  [
    call('query', {...sql, query: 'SELECT name, age FROM Person'}),
    says('{"records":[{"name":"Ann","age":31}],"count":1}'),
  ],
  [
    call('execute_command', {...sql, command: 'DELETE FROM Person'}),
    says('Delete operations are not allowed by MCP configuration'),
  ],
  [['listResources'], has(/"uri":"svc:\/\/shop\/schema"/)],
  [['readResource', {uri: 'svc://shop/schema'}], has(/\\"name\\":\\"Person\\"/)],
  [['readResource', {uri: 'svc://other/schema'}], has(/"code":-32002/)],
  [['listPrompts'], has(/graphrag_query.*build_knowledge_graph/)],
  [
    ['getPrompt', {name: 'graphrag_query', arguments: {database, question: 'who?'}}],
    has(/<question>\\nwho\?\\n<\/question>/),
  ],
];

function says(expected: string | RegExp): (answer: unknown) => void {
  return answer => {
    const {content} = answer as {readonly content: readonly [{readonly text: string}]};
    const [{text}] = content;
    if (typeof expected === 'string') assert.equal(text, expected);
    else assert.match(text, expected);
  };
}

function has(expected: RegExp): (answer: unknown) => void {
  return answer => assert.match(JSON.stringify(answer), expected);
}

async function takeTheWalk(connection: object): Promise<void> {
  const given = JSON.stringify({connection, requests: walk.map(([request]) => request)});
  // Without the condition by which our own sources are found: the library has sources, too.
  const {stdout} = await promisify(execFile)(process.execPath, [program, given]);
  const [first, ...answers] = JSON.parse(stdout) as unknown[];
  assert.match(JSON.stringify(first), /"name":"svc".*"instructions":"This is Svc/);
  for (const [at, [request, look]] of walk.entries()) {
    try {
      look(answers[at]);
    } catch (error) {
      throw new Error(`${JSON.stringify(request)}: ${JSON.stringify(answers[at])}`, {cause: error});
    }
  }
}

const open = {enabled: true, allowInsert: true, allowUpdate: true, allowSchemaChange: true};

test('the official client over HTTP', async () => {
  const port = await freePort();
  await using server = await startServer({
    root: temporaryRoot('mcp-client'),
    port,
    settings: {'svc.server.defaultDatabases': 'shop'},
  });
  const admin = server.client();
  await admin.agentConfiguration(open);
  admin.close();
  const pair = Buffer.from(`root:${rootPassword}`).toString('base64');
  await takeTheWalk({url: `${server.url}/api/v1/mcp`, authorization: `Basic ${pair}`});
});

test('the official client over standard input', async () => {
  const root = temporaryRoot('mcp-client-stdio');
  const port = await freePort();
  const settings = {'svc.server.defaultDatabases': 'shop'};
  try {
    const server = await startServer({root, port, settings});
    const admin = server.client();
    await admin.agentConfiguration({...open, enabled: false});
    admin.close();
    await server.stop();
    await takeTheWalk({
      command: script,
      env: {
        SVC_SETTINGS:
          `-Dsvc.server.rootPath=${root} -Dsvc.server.rootPassword=${rootPassword} ` +
          '-Dsvc.server.httpIncomingHost=127.0.0.1 -Dsvc.server.httpIncomingPort=0',
        PATH: process.env['PATH'] ?? '',
      },
    });
  } finally {
    rmSync(root, {recursive: true, force: true, maxRetries: 5});
  }
});
