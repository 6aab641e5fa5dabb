/**
 * The agent tool server over a socket: messages, batches, transport, configuration, resources,
 * prompts.
 */
import assert from 'node:assert/strict';
import {after, before, beforeEach, test} from 'node:test';
import {
  type Call,
  type HttpAnswer,
  type HttpWorld,
  httpWorld,
} from '#server/testing/worlds/http-world.ts';

let world: HttpWorld;
before(async () => {
  world = await httpWorld();
});
after(() => world.server.close(0));

const closed = {
  enabled: false,
  allowReads: true,
  allowInsert: false,
  allowUpdate: false,
  allowDelete: false,
  allowSchemaChange: false,
  allowAdmin: false,
  profile: 'all',
  allowedUsers: ['root'],
  allowedOrigins: [],
};

const configure = (body: object, call: Call = {}): Promise<HttpAnswer> =>
  world.call('/mcp/config', {body, ...call});

beforeEach(async () => {
  await configure({...closed, enabled: true, principalProfiles: null, databases: null});
});

const send = (body: unknown, call: Call = {}): Promise<HttpAnswer> =>
  world.call('/mcp', {body, ...call});

const ask = async (method: string, params?: object, call: Call = {}): Promise<unknown> => {
  const {json} = await send({jsonrpc: '2.0', id: 1, method, params}, call);
  const {result, error} = json as {readonly result?: unknown; readonly error?: unknown};
  return result ?? error;
};

const failed = (code: number, message: string, id: unknown = 1) => ({
  jsonrpc: '2.0',
  id,
  error: {code, message},
});
const badId = failed(-32_600, "Invalid Request: 'id' must be a string or an integer", null);
const badShape = failed(
  -32_600,
  "Invalid Request: 'method' must be a string and 'params' an object",
);

const messages: readonly (readonly [string | object, number, unknown])[] = [
  // what is sent, status, what comes back
  [{id: 1, method: 'ping'}, 200, {jsonrpc: '2.0', id: 1, result: {}}],
  [{jsonrpc: '2.0', id: 'a"b', method: 'ping'}, 200, {jsonrpc: '2.0', id: 'a"b', result: {}}],
  ['{"id":null,"method":"ping"}', 200, badId],
  ['{"id":1.5,"method":"ping"}', 200, badId],
  ['{"id":{},"method":"ping"}', 200, badId],
  ['{"id":[1],"method":"ping"}', 200, badId],
  ['{"id":true,"method":"ping"}', 200, badId],
  [
    '{"id":9007199254740993,"method":"ping"}',
    200,
    '{"jsonrpc":"2.0","id":9007199254740993,"result":{}}',
  ],
  [
    '{"id":123456789012345678901234567890,"method":"ping"}',
    200,
    '{"jsonrpc":"2.0","id":123456789012345678901234567890,"result":{}}',
  ],
  ['{"jsonrpc":', 200, failed(-32_700, 'Parse error: the request body is not valid JSON', null)],
  ['', 200, failed(-32_700, 'Parse error: empty request body', null)],
  ['[]', 200, failed(-32_600, 'Invalid Request: empty batch', null)],
  ['7', 200, failed(-32_600, 'Invalid Request: message is not a JSON object', null)],
  ['{}', 200, badId],
  ['{"id":1}', 200, badShape],
  ['{"id":1,"method":7}', 200, badShape],
  ['{"id":1,"method":"ping","params":[]}', 200, badShape],
  [
    '{"id":1,"jsonrpc":"1.0","method":"ping"}',
    200,
    failed(-32_600, "Invalid Request: 'jsonrpc' must be '2.0'"),
  ],
  ['{"id":1,"result":{}}', 202, ''],
  ['{"id":1,"error":{"code":1,"message":"m"}}', 202, ''],
  ['{"method":"notifications/initialized"}', 202, ''],
  ['{"method":"tools/call","params":{"name":"list_databases"}}', 202, ''],
  ['[{"method":"a"},{"id":1,"result":{}}]', 202, ''],
  [
    '[{"id":1,"method":"ping"},{"method":"x"},{"id":1,"method":"nope"},5,[{"id":2,"method":"a"}]]',
    200,
    [
      {jsonrpc: '2.0', id: 1, result: {}},
      failed(-32_601, 'Method not found: nope'),
      failed(-32_600, 'Invalid Request: batch element is not a JSON object', null),
      failed(-32_600, 'Invalid Request: batch element is not a JSON object', null),
    ],
  ],
  [{id: 1, method: 'logging/setLevel'}, 200, failed(-32_601, 'Method not found: logging/setLevel')],
];

for (const [body, status, expected] of messages) {
  const name = typeof body === 'string' ? body : JSON.stringify(body);
  test(`message ${name.slice(0, 80)}`, async () => {
    const answer = await send(body);
    assert.equal(answer.status, status);
    if (typeof expected === 'string') assert.equal(answer.text, expected);
    else assert.deepEqual(answer.json, expected);
  });
}

test('a batch has a bound, and every message below it is answered', async () => {
  const message = '{"id":1,"method":"ping"}';
  const whole = await send(`[${Array.from({length: 10_000}, () => message).join()}]`);
  assert.equal((whole.json as unknown[]).length, 10_000);
  const above = await send(`[${Array.from({length: 10_001}, () => message).join()}]`);
  assert.match(above.text, /"id":null.*at most 10000 messages \(svc\.mcp\.batchSizeMax\)/);
});

test('a message that nests too deeply is refused', async () => {
  const answer = await send(`{"id":1,"method":"ping","params":{"a":${'['.repeat(100)}`);
  assert.equal((answer.json as {error: {code: number}}).error.code, -32_600);
});

test('only POST is known', async () => {
  for (const method of ['GET', 'DELETE', 'PUT', 'OPTIONS', 'HEAD']) {
    const answer = await world.call('/mcp', {method, as: 'none'});
    assert.deepEqual([answer.status, answer.headers.get('allow')], [405, 'POST'], method);
  }
  const {json} = await world.call('/mcp', {method: 'GET'});
  const message = 'Method Not Allowed: the MCP endpoint accepts POST only';
  assert.deepEqual(json, failed(-32_600, message, null));
});

test('credentials come first, then the switch, then the list of users', async () => {
  const ping = {id: 1, method: 'ping'};
  assert.equal((await send(ping, {as: 'none'})).status, 401);
  assert.equal((await send(ping, {as: 'root:wrong'})).status, 401);
  const anna = await send(ping, {as: 'anna:anna-pass'});
  const refused = failed(-32_600, 'User not authorized for MCP access');
  assert.deepEqual([anna.status, anna.json], [403, refused]);
  const batch = await send([ping, {method: 'x'}], {as: 'anna:anna-pass'});
  assert.deepEqual([batch.status, batch.json], [403, [refused]]);
  await configure({allowedUsers: ['*']});
  assert.equal((await send(ping, {as: 'anna:anna-pass'})).status, 200);
  await configure({enabled: false});
  const disabled = await send(ping);
  assert.deepEqual(
    [disabled.status, disabled.json],
    [503, failed(-32_600, 'MCP server is disabled')],
  );
  assert.equal((await send('')).status, 503);
  assert.equal((await send('{"method":"x"}')).status, 202);
  assert.equal((await send('{')).status, 200);
});

test('pages are told apart by their origin, before credentials', async () => {
  const from = async (origin: string, headers: Readonly<Record<string, string>> = {}) => {
    const call = {as: 'none', headers: {origin, ...headers}};
    const {status, json} = await send({id: 1, method: 'ping'}, call);
    if (status === 403) assert.deepEqual(json, failed(-32_600, 'Origin not allowed', null));
    return status;
  };
  // 401 is past the origin.
  assert.equal(await from('http://localhost:3000'), 401);
  assert.equal(await from(`http://127.0.0.1:${world.port}`), 401);
  assert.equal(await from('http://[::1]'), 401);
  for (const hostile of [
    'http://evil.example',
    'null',
    '',
    'http://localhost.evil.example',
    'http://127.0.0.1.evil.example',
    'http://evil.example@localhost',
    'http://localhost/path',
    'file://localhost',
  ]) {
    assert.equal(await from(hostile), 403, hostile);
  }
  await configure({allowedOrigins: ['https://app.example/']});
  assert.equal(await from('https://app.example'), 401);
  assert.equal(await from('http://app.example'), 403);
  assert.equal(await from('https://app.example:8443'), 403);
  await configure({allowedOrigins: ['*']});
  assert.equal(await from('http://evil.example'), 401);
});

test('a page whose own name was made to lead here is no page of this server', async () => {
  const head = (host: string, origin: string) =>
    `POST /api/v1/mcp HTTP/1.1\r\nHost: ${host}\r\nOrigin: ${origin}\r\nConnection: close\r\n` +
    'Content-Length: 2\r\n\r\n{}';
  assert.match(await world.raw(head('evil.example', 'http://evil.example')), /^HTTP\/1\.1 403/);
  assert.match(await world.raw(head('localhost', 'http://localhost')), /^HTTP\/1\.1 401/);
});

test('initialize answers one version and the instructions of the profile', async () => {
  const answer = async () => {
    const result = await ask('initialize', {protocolVersion: '2025-06-18', clientInfo: {}});
    return result as {readonly protocolVersion: string; readonly instructions: string};
  };
  const general = await answer();
  assert.deepEqual(
    {...general, instructions: ''},
    {
      protocolVersion: '2025-03-26',
      serverInfo: {name: 'svc', version: '1.0'},
      capabilities: {
        tools: {listChanged: false},
        resources: {listChanged: false, subscribe: false},
        prompts: {listChanged: false},
      },
      instructions: '',
    },
  );
  assert.match(general.instructions, /list_databases/);
});

test('list_databases shows what the caller may read', async () => {
  const list = async (call?: Call): Promise<unknown> =>
    ask('tools/call', {name: 'list_databases'}, call);
  const shown = (databases: readonly string[]) => ({
    content: [{type: 'text', text: JSON.stringify({databases})}],
    isError: false,
  });
  const all = world.service.databaseNames((await root()).principal);
  assert.deepEqual(await list(), shown(all));
  await configure({allowedUsers: ['*'], databases: {db: {allowReads: false}}});
  assert.deepEqual(await list({as: 'anna:anna-pass'}), shown([]));
  await configure({databases: {db: {allowedUsers: ['anna']}}});
  assert.deepEqual(await list({as: 'anna:anna-pass'}), shown(['db']));
  assert.deepEqual(await list(), shown(all.filter(name => name !== 'db')));
});

async function root() {
  const principal = world.security.principalOf('root');
  assert(principal !== undefined);
  return {principal};
}

test('calls that mean nothing', async () => {
  const said = (text: string) => ({content: [{type: 'text', text}], isError: true});
  assert.deepEqual(await ask('tools/call', {name: 'nope'}), said('Unknown tool: nope'));
  assert.deepEqual(await ask('tools/call', {}), said('Unknown tool: '));
  const params = {
    code: -32_602,
    message: "Invalid params: 'name' must be a string and 'arguments' an object",
  };
  assert.deepEqual(await ask('tools/call', {name: 7}), params);
  assert.deepEqual(await ask('tools/call', {name: 'list_databases', arguments: []}), params);
  assert.deepEqual(await ask('prompts/get', {name: 'graphrag_query', arguments: 'x'}), params);
});

test('a resource that is not to be read is like one that is not', async () => {
  const read = (uri: unknown) => ask('resources/read', {uri});
  const missing = (uri: string) => ({code: -32_002, message: `Resource not found: ${uri}`});
  await configure({databases: {db: {allowedUsers: ['anna']}}});
  for (const uri of [
    'svc://nope/schema',
    'svc://db/schema',
    'zzz',
    'svc://db',
    'svc://db/schema/',
    '',
  ]) {
    assert.deepEqual(await read(uri), missing(uri));
  }
  assert.equal(((await ask('resources/read', {uri: 7})) as {code: number}).code, -32_602);
  await configure({databases: null});
  const {contents} = (await read('svc://db/schema')) as {
    readonly contents: readonly {readonly text: string; readonly mimeType: string}[];
  };
  assert.equal(contents[0]?.mimeType, 'application/json');
  assert.equal(JSON.parse(contents[0]?.text ?? '').database, 'db');
  await configure({allowReads: false});
  const message = 'Read operations are not allowed by MCP configuration';
  assert.deepEqual(await read('svc://db/schema'), {code: -32_600, message});
  assert.deepEqual(await ask('resources/list'), {resources: []});
});
