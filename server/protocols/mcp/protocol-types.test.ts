/**
 * Every kind of answer is one of MCP 2025-03-26: each method, each tool as it answers and as it
 * refuses, each error, alone and in a batch.
 */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {
  checkProtocolTypes,
  type KnownMethod,
  knownMethods,
  typesVersion,
} from '#server/testing/agents/protocol-types.ts';
import {type HttpWorld, httpWorld} from '#server/testing/worlds/http-world.ts';
import {tools} from './tools/tool-list.ts';

let world: HttpWorld;

before(async () => {
  world = await httpWorld();
  for (const command of [
    'CREATE VERTEX TYPE Person',
    'CREATE PROPERTY Person.emb ARRAY_OF_FLOATS',
    'CREATE PROPERTY Person.bio STRING',
    'CREATE INDEX ON Person (emb) LSM_VECTOR METADATA {"dimensions": 2}',
    'CREATE INDEX ON Person (bio) FULL_TEXT',
    "INSERT INTO Person SET name = 'ann', emb = [1.0, 0.0], bio = 'red apple'",
  ]) {
    const {status, text} = await world.call('/command/db', {body: {language: 'sql', command}});
    assert.equal(status, 200, text);
  }
  const flags = ['Reads', 'Insert', 'Update', 'Delete', 'SchemaChange', 'Admin'];
  await configure({
    enabled: true,
    ...Object.fromEntries(flags.map(flag => [`allow${flag}`, true])),
  });
});
after(() => world.server.close(0));

async function configure(body: object): Promise<void> {
  assert.equal((await world.call('/mcp/config', {body})).status, 200);
}

const on = {database: 'db'};
const near = {...on, indexName: 'Person[emb]', queryVector: [1, 0], k: 1};
const ann = {typeName: 'Person', matchKeys: {name: 'ann'}};

/** Arguments with which each tool answers. */
const good: Readonly<Record<string, object>> = {
  list_databases: {},
  get_schema: on,
  query: {...on, language: 'sql', query: 'SELECT FROM Person'},
  execute_command: {...on, language: 'sql', command: 'UPDATE Person SET age = 3'},
  sample_records: on,
  vector_search: near,
  full_text_search: {...on, typeName: 'Person', queryText: 'apple'},
  hybrid_search: {...near, vectorIndexName: 'Person[emb]', indexName: undefined},
  upsert_entity: {...on, ...ann, setProperties: {age: 4}},
  upsert_relationship: {
    ...on,
    fromType: 'Person',
    fromMatchKeys: ann.matchKeys,
    toType: 'Person',
    toMatchKeys: ann.matchKeys,
    relType: 'Knows',
  },
  server_status: {},
  profiler_start: {timeoutSeconds: 60},
  profiler_status: {},
  profiler_stop: {},
  get_server_settings: {},
  set_server_setting: {key: 'svc.txRetries', value: '4'},
};

/** The arguments of prompts serve both. */
const prompt = {...on, question: 'who?', sourceText: 'Ann knows Bob.'};

interface Asked {
  readonly method: KnownMethod;
  readonly params?: object;
}

const answered: readonly Asked[] = [
  {method: 'initialize', params: {protocolVersion: '2025-03-26', capabilities: {}}},
  {method: 'ping'},
  {method: 'tools/list'},
  {method: 'resources/list'},
  {method: 'resources/read', params: {uri: 'svc://db/schema'}},
  {method: 'prompts/list'},
  ...['graphrag_query', 'build_knowledge_graph'].map(name => ({
    method: 'prompts/get' as const,
    params: {name, arguments: prompt},
  })),
  ...Object.entries(good).map(([name, given]) => callOf(name, given)),
];
const refused: readonly Asked[] = [
  ...tools.map(({name}) => callOf(name, {database: 7, limit: -1, key: ''})),
  callOf('query', {...good['query'], query: 'DELETE FROM Person'}),
  callOf('nope', {}),
];

function callOf(name: string, given: object): Asked {
  return {method: 'tools/call', params: {name, arguments: given}};
}

async function answerTo(body: unknown): Promise<unknown> {
  return (await world.call('/mcp', {body})).json;
}

const message = ({method, params}: Asked, id: number | string = 1) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
});

test('every method and every tool answers in the types of the protocol', async () => {
  assert.equal(typesVersion, '2025-03-26');
  assert.deepEqual(new Set(answered.map(({method}) => method)), new Set(knownMethods));
  assert.deepEqual(Object.keys(good).toSorted(), tools.map(({name}) => name).toSorted());
  for (const asked of answered) {
    const answer = await answerTo(message(asked));
    const {result} = answer as {readonly result?: {readonly isError?: boolean}};
    assert(result !== undefined && result.isError !== true, JSON.stringify({asked, answer}));
    checkProtocolTypes(answer, asked.method);
  }
});

test('what a tool refuses is a result in the types of the protocol', async () => {
  for (const asked of refused) {
    const answer = await answerTo(message(asked));
    checkProtocolTypes(answer, 'tools/call');
  }
  for (const name of ['query', 'nope']) {
    const {result} = (await answerTo(message(callOf(name, {})))) as {result: {isError: boolean}};
    assert.equal(result.isError, true);
  }
});

test('every error is one of the protocol', async () => {
  const bodies: readonly unknown[] = [
    '{',
    '',
    '[]',
    '7',
    '{}',
    '{"id":1.5,"method":"ping"}',
    '{"id":"x","jsonrpc":"1.0","method":"ping"}',
    '{"id":1,"method":"ping","params":[]}',
    {id: 1, method: 'nope'},
    {id: 1, method: 'tools/call', params: {name: 7}},
    {id: 1, method: 'resources/read', params: {uri: 'svc://nope/schema'}},
    {id: 1, method: 'resources/read', params: {uri: 7}},
    {id: 1, method: 'prompts/get', params: {name: 'nope'}},
    {id: 1, method: 'prompts/get', params: {name: 'graphrag_query'}},
  ];
  const check = async (body: unknown): Promise<void> => {
    const answer = await answerTo(body);
    assert('error' in (answer as object), JSON.stringify({body, answer}));
    checkProtocolTypes(answer);
  };
  for (const body of bodies) await check(body);
  await configure({allowReads: false});
  await check({id: 1, method: 'resources/read', params: {uri: 'svc://db/schema'}});
  await check({id: 1, method: 'prompts/get', params: {name: 'graphrag_query', arguments: prompt}});
  await configure({allowReads: true, allowedUsers: []});
  await check({id: 1, method: 'ping'});
  await configure({allowedUsers: ['root'], enabled: false});
  await check({id: 1, method: 'ping'});
  await configure({enabled: true});
  for (const call of [{method: 'GET'}, {headers: {origin: 'http://evil.example'}, body: '{}'}]) {
    checkProtocolTypes((await world.call('/mcp', call)).json);
  }
});

test('the answers of a batch are of the protocol, each under its own id', async () => {
  const all = [...answered, ...refused];
  const answers = (await answerTo(all.map(message))) as readonly {readonly id: number}[];
  assert.deepEqual(
    answers.map(({id}) => id),
    all.map((_, at) => at),
  );
  for (const [at, answer] of answers.entries()) checkProtocolTypes(answer, all[at]?.method);
});

test('an answer that is none of the protocol is noticed', () => {
  const wrong: readonly (readonly [unknown, KnownMethod])[] = [
    [{id: 1, result: {}}, 'ping'],
    [{jsonrpc: '2.0', id: null, result: {}}, 'ping'],
    [{jsonrpc: '2.0', id: 1, result: {more: 1}}, 'ping'],
    [{jsonrpc: '2.0', id: 1, result: {tools: [{name: 'x'}]}}, 'tools/list'],
    [{jsonrpc: '2.0', id: 1, result: {content: [{type: 'text'}]}}, 'tools/call'],
    [{jsonrpc: '2.0', id: 1, error: {code: 1.5, message: 'm'}}, 'ping'],
  ];
  for (const [answer, method] of wrong) {
    assert.throws(() => checkProtocolTypes(answer, method), JSON.stringify(answer));
  }
});
