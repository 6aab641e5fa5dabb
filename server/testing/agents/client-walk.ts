/**
 * A walk through every method of the agent protocol by an official client, in a process of its own,
 * over HTTP and over standard input. The client holds each answer against the types that it brings;
 * the walk looks at what it says.
 */
import assert from 'node:assert/strict';
import {execFile} from 'node:child_process';
import {rmSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {promisify} from 'node:util';
import {freePort} from '../worlds/free-port.ts';
import {rootPassword, startServer, temporaryRoot} from '../worlds/server-process.ts';

const stdioScript = join(resolve(import.meta.dirname, '../../..'), 'bin/mcp-stdio.sh');

/** A program that takes what it asks as its last argument, and prints the answers. */
export type ClientProgram = readonly [string, ...string[]];

/** Runs without the condition by which our own sources are found: the library has sources, too. */
export const typescriptClient: ClientProgram = [
  process.execPath,
  join(import.meta.dirname, 'official-client.mjs'),
];

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

const open = {enabled: true, allowInsert: true, allowUpdate: true, allowSchemaChange: true};
const settings = {'svc.server.defaultDatabases': database};

/** Walks over HTTP, with a server of its own. Answers a line for each step that went wrong. */
export async function walkOverHttp(client: ClientProgram): Promise<readonly string[]> {
  const port = await freePort();
  await using server = await startServer({root: temporaryRoot('mcp-client'), port, settings});
  const admin = server.client();
  await admin.agentConfiguration(open);
  admin.close();
  const pair = Buffer.from(`root:${rootPassword}`).toString('base64');
  const connection = {url: `${server.url}/api/v1/mcp`, authorization: `Basic ${pair}`};
  return await takeTheWalk(client, connection);
}

/** Walks over standard input, with a server that the client starts. Answers as `walkOverHttp`. */
export async function walkOverLines(client: ClientProgram): Promise<readonly string[]> {
  const root = temporaryRoot('mcp-client-stdio');
  const port = await freePort();
  try {
    const server = await startServer({root, port, settings});
    const admin = server.client();
    await admin.agentConfiguration({...open, enabled: false});
    admin.close();
    await server.stop();
    const words =
      `-Dsvc.server.rootPath=${root} -Dsvc.server.rootPassword=${rootPassword} ` +
      '-Dsvc.server.httpIncomingHost=127.0.0.1 -Dsvc.server.httpIncomingPort=0';
    const env = {SVC_SETTINGS: words, PATH: process.env['PATH'] ?? ''};
    return await takeTheWalk(client, {command: stdioScript, env});
  } finally {
    rmSync(root, {recursive: true, force: true, maxRetries: 5});
  }
}

async function takeTheWalk(
  [program, ...words]: ClientProgram,
  connection: object,
): Promise<readonly string[]> {
  const given = JSON.stringify({connection, requests: walk.map(([request]) => request)});
  const {stdout} = await promisify(execFile)(program, [...words, given]);
  const [first, ...answers] = JSON.parse(stdout) as unknown[];
  const begins = has(/"name":"svc".*"instructions":"This is Svc/);
  const steps = walk.map(([request, look], at) => ({request, look, answer: answers[at]}));
  return [{request: ['initialize'], look: begins, answer: first}, ...steps].flatMap(
    ({request, look, answer}) => {
      try {
        look(answer);
        return [];
      } catch (error) {
        const found = JSON.stringify(answer)?.slice(0, 400);
        return [`${JSON.stringify(request)}: ${found}: ${String(error)}`];
      }
    },
  );
}
