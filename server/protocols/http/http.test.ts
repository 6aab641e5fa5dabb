/**
 * The HTTP surface over a socket: routes, envelope, credentials, statements, transactions.
 * Holds invariant H1.
 */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {
  type Call,
  type HttpAnswer,
  type HttpWorld,
  httpWorld,
} from '#server/testing/worlds/http-world.ts';
import {Double} from '#server/model/value.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {openApiDocument} from './documentation/openapi.ts';
import {routeTable} from './server.ts';

let world: HttpWorld;
before(async () => {
  world = await httpWorld();
  const step = {stepName: 'V[n]', stepIndex: 0, totalSteps: 2};
  world.service.work = [
    {id: 1, operation: 'build index', ...step, done: 1, total: 3, startedAt: 5, elapsedMs: 7},
    {id: 2, operation: 'check', ...step, done: 1, total: undefined, startedAt: 5, elapsedMs: 7},
  ];
});
after(() => world.server.close(0));

function run(text: string, call: Call & {readonly fields?: object} = {}): Promise<HttpAnswer> {
  return world.call('/command/db', {
    body: {language: 'sql', command: text, ...call.fields},
    ...call,
  });
}

/** Body without what differs each time. */
function bodyOf({json, text}: HttpAnswer): unknown {
  if (typeof json !== 'object' || json === null) return json ?? text;
  const {requestId, ...rest} = json as Record<string, unknown>;
  return requestId === undefined ? rest : {...rest, requestId: true};
}

const auth = (error: string) => ({error, requestId: true});
const failed = {
  error: 'Authentication failed',
  requestId: true,
  exception: 'ServerSecurityException',
  detail: 'User/Password not valid',
};
const statement = {language: 'sql', command: 'rows 2'};
const field = (detail: string) => ({
  error: 'Cannot execute command',
  requestId: true,
  exception: 'RequestRefusedBeforeExecutionException',
  detail,
});
const invalid = (detail: string) => ({
  error: 'Invalid JSON payload',
  detail: `The request body must be a valid JSON object: ${detail}`,
});
const ok = {user: 'root', result: [{n: 0}], limit: 20_000, returned: 1, truncated: false};

const work = {
  database: 'db',
  stepName: 'V[n]',
  stepIndex: 0,
  totalSteps: 2,
  done: 1,
  startedOn: 5,
  elapsedMs: 7,
};
const cases: readonly (readonly [string, Call, number, unknown])[] = [
  // path, what is sent, status, body
  ['/health', {as: 'none'}, 204, ''],
  ['/ready', {as: 'none'}, 204, ''],
  ['/ready', {as: 'none', method: 'HEAD'}, 204, ''],
  ['/nothing', {}, 404, ''],
  ['//nothing', {as: 'none'}, 404, 'Not Found'],
  ['/%zz', {as: 'none'}, 404, ''],
  [
    '/exists/%zz',
    {},
    400,
    {error: 'Malformed path', detail: "The path segment '%zz' is not valid percent-encoded UTF-8"},
  ],
  [
    '/ready',
    {as: 'none', body: ''},
    405,
    {error: 'Method Not Allowed', detail: 'The route /ready accepts GET, HEAD only'},
  ],
  [
    '/databases',
    {as: 'none', method: 'OPTIONS'},
    405,
    {error: 'Method Not Allowed', detail: 'The route /databases accepts GET, HEAD only'},
  ],
  [
    '/query/db',
    {method: 'PUT', body: {}},
    405,
    {error: 'Method Not Allowed', detail: 'The route /query/{database} accepts POST only'},
  ],
  ['/databases', {method: 'HEAD'}, 200, ''],

  ['/databases', {as: 'none'}, 401, auth('')],
  ['/databases', {as: 'root:wrongwrong'}, 401, failed],
  ['/databases', {as: 'nobody:wrongwrong'}, 401, failed],
  ['/databases', {as: 'Basic !!!!'}, 401, auth('Basic authentication error')],
  ['/databases', {as: 'Basic cm9vdA=='}, 401, auth('Basic authentication error')],
  ['/databases', {as: 'Digest abc'}, 401, auth('Authentication not supported')],
  ['/databases', {as: 'Bearer zzz'}, 401, auth('Invalid or expired authentication token')],
  ['/databases', {as: `Bearer at-${'0'.repeat(64)}`}, 401, auth('Invalid or expired API token')],
  [
    '/databases',
    {as: 'none', headers: {'X-Svc-Cluster-Token': 'x', 'X-Svc-Forwarded-User': 'root'}},
    401,
    auth('Invalid cluster token'),
  ],
  ['/databases', {}, 200, {version: '1.0', user: 'root', result: ['db']}],
  ['/databases', {as: 'anna:anna-pass'}, 200, {version: '1.0', user: 'anna', result: ['db']}],
  ['/exists/db', {}, 200, {result: true}],
  ['/exists/nope', {}, 200, {result: false}],
  ['/exists/', {}, 200, {result: false}],
  ['/progress/nope', {}, 200, {result: []}],
  [
    '/progress/db',
    {},
    200,
    {
      result: [
        {...work, id: 1, operation: 'build index', total: 3, percentage: 33},
        {...work, id: 2, operation: 'check', total: -1, percentage: -1},
      ],
    },
  ],
  [
    '/sessions',
    {as: 'anna:anna-pass'},
    403,
    {
      error: 'Security error',
      requestId: true,
      exception: 'ServerSecurityException',
      detail: 'Only root user is authorized to execute server commands',
    },
  ],

  ['/query/db', {body: {...statement, command: 'rows'}}, 200, ok],
  ['/query/db', {body: {...statement, command: ' rows ', zzz: 1}}, 200, ok],
  ['/query/db', {body: ''}, 400, {error: 'Command text is null'}],
  ['/query/db', {body: {command: 'rows'}}, 400, {error: 'Language is null'}],
  ['/query/db', {body: {language: 'sql'}}, 400, field('command missing')],
  [
    '/query/db',
    {body: {language: 5, command: 'rows'}},
    400,
    field("Field 'language' must be a string"),
  ],
  [
    '/query/db',
    {body: {...statement, limit: 'x'}},
    400,
    field("Field 'limit' must be an integer in 32 bits"),
  ],
  [
    '/query/db',
    {body: {...statement, limit: 1.5}},
    400,
    field("Field 'limit' must be an integer in 32 bits"),
  ],
  [
    '/query/db',
    {body: {...statement, limit: 2 ** 31}},
    400,
    field("Field 'limit' must be an integer in 32 bits"),
  ],
  [
    '/query/db',
    {body: {...statement, retries: -1}},
    400,
    field("Field 'retries' must not be negative"),
  ],
  [
    '/query/db',
    {body: {...statement, typeHints: 'yes'}},
    400,
    field("Field 'typeHints' must be true or false"),
  ],
  [
    '/query/db',
    {body: {...statement, params: 'x'}},
    400,
    field("Field 'params' must be an object or an array"),
  ],
  [
    '/query/db',
    {body: {...statement, params: {v: {$bytes: '%%%'}}}},
    400,
    field("Parameter '$bytes' is not valid base64 (standard or URL-safe)"),
  ],
  [
    '/query/db',
    {body: {...statement, params: [{$int8: [128]}]}},
    400,
    field("Parameter '$int8' must be a list of integers from -128 to 127"),
  ],
  [
    '/query/db',
    {body: '[{"language":"sql"}]'},
    400,
    {
      error: 'The request payload must be a JSON object',
      detail: 'This endpoint does not accept a top-level JSON array',
    },
  ],
  ['/query/db', {body: '5'}, 400, invalid('it is a single value')],
  [
    '/query/db',
    {body: statement, headers: {'X-Svc-Read-After': 'abc'}},
    400,
    field('The bookmark in X-Svc-Read-After is not a number'),
  ],
  [
    '/query/db',
    {body: statement, headers: {'X-Svc-Read-Consistency': 'soon'}},
    400,
    field('X-Svc-Read-Consistency must be one of eventual, read_your_writes, linearizable'),
  ],
  ['/query/db/sql', {}, 404, ''],
  [
    '/query/db/sql/rows%202?limit=7&serializer=record',
    {},
    200,
    {result: [{n: 0}, {n: 1}], limit: 7, returned: 2, truncated: false},
  ],
  ['/query/db/sql/rows?limit=x', {}, 400, field("Field 'limit' must be an integer in 32 bits")],
  [
    '/query/db',
    {body: {...statement, command: 'write'}},
    400,
    {
      error: 'Query is not idempotent',
      requestId: true,
      exception: 'QueryNotIdempotentException',
      detail: 'the statement changes data or cannot be proven to only read: send it to /command',
    },
  ],
  [
    '/query/nope',
    {body: statement},
    404,
    {
      error: 'Database not found',
      requestId: true,
      exception: 'DatabaseNotAvailableException',
      detail: "Database 'nope' is not available",
    },
  ],
  [
    '/command/db',
    {body: {...statement, command: 'break'}},
    500,
    {error: 'Internal error', requestId: true, exception: 'InternalException'},
  ],
  [
    '/query/db',
    {body: {...statement, command: 'rows', serializer: 'graph'}},
    200,
    {...ok, result: {vertices: [], edges: []}},
  ],
  [
    '/server?mode=basic',
    {},
    200,
    {user: 'root', version: '1.0', serverName: 'svc_0', languages: ['sql'], instanceId: 'i'},
  ],
  ['/server', {body: ''}, 400, {error: 'Server command is null'}],
  ['/server', {body: {}}, 400, {error: 'Server command is null'}],
  ['/server', {body: {command: 5}}, 400, {error: 'Server command not valid'}],
  ['/server', {body: {command: 'get server settings'}}, 400, {error: 'Server command not valid'}],
  ['/batch/db', {body: 'anything'}, 200, {batch: true}],
];

for (const [path, call, status, body] of cases) {
  const shown = JSON.stringify(call.body ?? call.as ?? '')?.slice(0, 60);
  test(`${call.method ?? ''} ${path} ${shown} is ${status}`, async () => {
    const answer = await world.call(path, call);
    assert.equal(answer.status, status, answer.text);
    assert.deepEqual(bodyOf(answer), body);
    assert.match(String(answer.headers.get('x-request-id')), /^[0-9a-f]{16}-[0-9a-f]+$/);
    assert.equal(answer.headers.get('x-svc-commit-index'), '42');
    assert.match(String(answer.headers.get('x-svc-replay-protection')), /^[0-9a-f-]{36}$/);
  });
}

test('a statement that is profiled brings its plan along', async () => {
  const body = {...statement, command: 'rows', profileExecution: 'basic'};
  const {explain, explainPlan, ...rest} = bodyOf(await world.call('/query/db', {body})) as {
    readonly explain: string;
    readonly explainPlan: Readonly<Record<string, unknown>>;
  };
  assert.deepEqual(rest, ok);
  assert.match(explain, /project .* as n .*\n.*unnest/);
  assert.equal(explainPlan['prettyPrint'], explain);
});

const commands: readonly (readonly [string, number, unknown])[] = [
  ['LIST  databases', 400, 'Server command not valid'],
  ['List Databases', 200, undefined],
  ['create database', 400, 'Cannot execute command'],
  ['create database a/b', 400, 'Cannot execute command'],
  ['create database db', 409, 'Database already exists'],
  ['drop database nope', 400, 'Cannot execute command'],
  ['open database nope', 404, 'Database not found'],
  ['align database nope', 404, 'Database not found'],
  ['align database db', 200, undefined],
  ['set server setting svc.txRetries', 400, 'Cannot execute command'],
  ['set server setting svc.txRetries abc', 400, 'Cannot execute command'],
  ['set server setting svc.nope 1', 400, 'Cannot execute command'],
  ['set server setting  svc.txRetries  5', 200, undefined],
  ['get server events', 200, undefined],
  ['get server events ../x', 403, 'Security error'],
  ['create user', 400, 'Invalid JSON payload'],
  ['create user {"name":', 400, 'Invalid JSON payload'],
  ['create user {"password":"einstein1"}', 400, 'Cannot execute command'],
  ['create user {"name":"al","password":"einstein1"}', 403, 'Security error'],
  ['create user {"name":"albert","password":"x"}', 403, 'Security error'],
  ['create user {"name":"albert","password":"einstein1","databases":[]}', 403, 'Security error'],
  [
    'create user {"name":"albert","password":"einstein1","databses":{}}',
    400,
    'Cannot execute command',
  ],
  ['create user {"name":"anna","password":"einstein1"}', 409, 'User already exists'],
  ['drop user nobody', 400, 'Cannot execute command'],
  ['list queries zzz', 400, 'Server command not valid'],
  ['list queries database db tag x', 200, undefined],
  ['terminate query', 400, 'Server command not valid'],
  ['terminate query nope', 200, undefined],
  ['terminate queries tag nope', 200, undefined],
  ['terminate transaction nope', 200, undefined],
  ['profiler start 0', 400, 'Cannot execute command'],
  ['profiler foo', 400, 'Unknown profiler command: foo'],
  ['profiler load ../x.json', 400, 'Cannot execute command'],
  ['profiler load nope.json', 400, 'Cannot execute command'],
  ['profiler reset', 200, undefined],
  ['profiler list', 200, undefined],
  ['shutdown elsewhere', 400, 'Cannot execute command'],
  ['shutdownnow', 400, 'Server command not valid'],
];

for (const [text, status, error] of commands) {
  test(`server command '${text}' is ${status}`, async () => {
    const answer = await world.command(text);
    assert.equal(answer.status, status, answer.text);
    assert.equal((answer.json as {error?: string}).error, error);
  });
}

test('a user who is not root gives no commands but those for everybody', async () => {
  const as = 'anna:anna-pass';
  assert.equal((await world.command('create database x', {as})).status, 403);
  assert.equal((await world.command('shutdown', {as})).status, 403);
  assert.deepEqual((await world.command('list databases', {as})).json, {result: ['db']});
  assert.deepEqual((await world.command('list queries', {as})).json, {result: []});
});

test('request ids are echoed, cut and cleaned', async () => {
  const echo = async (id: string): Promise<string | null> => {
    const answer = await world.call('/health', {headers: {'X-Request-Id': id}});
    return answer.headers.get('x-request-id');
  };
  assert.equal(await echo('abc-123'), 'abc-123');
  assert.equal(await echo('x'.repeat(300)), 'x'.repeat(128));
  assert.equal(await echo('a\tb'), 'ab');
});

test('a login stands for its user until logout', async () => {
  const login = await world.call('/login', {body: '', as: 'anna:anna-pass'});
  const {token, user} = login.json as {token: string; user: string};
  assert.equal(user, 'anna');
  const as = `Bearer ${token}`;
  assert.equal((await world.call('/databases', {as})).status, 200);
  const listed = (await world.call('/sessions')).json as {count: number; result: unknown[]};
  assert.equal(listed.count, 1);
  assert.equal((await world.call('/logout', {body: '', as})).status, 204);
  assert.equal((await world.call('/databases', {as})).status, 401);
});

test('parameters keep 64 bits, doubles and markers', async () => {
  const params = '{"a":9007199254740993,"b":5.0,"c":{"$bytes":"AQL_"},"d":[{"$int8":[-1]}],"0":1}';
  const body = `{"language":"SQL","command":"rows","params":${params}}`;
  assert.equal((await world.call('/query/db', {body})).status, 200);
  const seen = world.service.requests.at(-1);
  assert.equal(seen?.language, 'sql');
  assert.equal(seen?.parameters.get('a'), 9007199254740993n);
  assert.deepEqual(seen?.parameters.get('b'), new Double(5));
  assert.deepEqual(seen?.parameters.get('c'), new Uint8Array([1, 2, 255]));
  assert.deepEqual(seen?.parameters.get('d'), [[-1]]);
  assert.equal(seen?.parameters.get('0'), 1);
});

test('a transaction lives by its header', async () => {
  const begun = await world.call('/begin/db', {
    body: {isolationLevel: 'REPEATABLE_READ'},
    headers: {'X-Svc-Query-Tag': 'job-7', 'X-Svc-Client-Name': 'nightly 2'},
  });
  assert.equal(begun.status, 204);
  const id = String(begun.headers.get('svc-session-id'));
  const headers = {'svc-session-id': id};
  const inside = await run('write', {headers});
  assert.equal(inside.headers.get('svc-session-id'), id);
  assert.equal(world.service.requests.at(-1)?.transactionId, id);
  const again = await world.call('/begin/db', {body: '', headers});
  assert.deepEqual([again.status, again.json], [409, {error: 'Transaction already started'}]);
  assert.equal(again.headers.get('svc-session-id'), id);
  const listed = (await world.command('list transactions')).json;
  const [transaction] = (listed as {readonly result: readonly {readonly idleMs: number}[]}).result;
  assert.ok(Number(transaction?.idleMs) >= 0);
  assert.deepEqual(listed, {
    result: [
      {
        id,
        user: 'root',
        database: 'db',
        idleMs: transaction?.idleMs,
        busy: false,
        runningQueries: [],
        server: 'svc_0',
        tag: 'job-7',
        clientName: 'nightly 2',
      },
    ],
  });
  const commit = await world.call('/commit/db', {body: '', headers});
  assert.deepEqual([commit.status, commit.headers.get('svc-session-id')], [204, null]);
  const dead = await run('rows', {headers});
  assert.deepEqual([dead.status, dead.headers.get('svc-session-id')], [404, null]);
  // Told again for whom the first answer was lost.
  assert.equal((await world.call('/commit/db', {body: '', headers})).status, 204);
  const strange = {'svc-session-id': 'AS-never-begun'};
  assert.equal((await world.call('/commit/db', {body: '', headers: strange})).status, 404);
  assert.equal((await world.call('/rollback/db', {body: '', headers})).status, 204);
  assert.equal((await world.call('/commit/db', {body: ''})).status, 204);
});

test('a bad isolation level or a misspelt field begins nothing', async () => {
  const before = world.service.open.size;
  for (const body of [
    {isolationLevel: 'NOPE'},
    {isolation: 'REPEATABLE_READ'},
    {isolationLevel: 1},
  ]) {
    assert.equal((await world.call('/begin/db', {body})).status, 400, JSON.stringify(body));
  }
  assert.equal((await world.call('/begin/nope', {body: ''})).status, 404);
  assert.equal(world.service.open.size, before);
});

test('a repeated request id runs once, but not for another body or a new database', async () => {
  const headers = {'X-Request-Id': 'once-1'};
  const writesBefore = world.service.writes;
  const [first, twin] = await Promise.all([run('write', {headers}), run('write', {headers})]);
  const second = await run('write', {headers});
  assert.equal(first.text, second.text);
  assert.equal(first.text, twin.text);
  assert.equal(world.service.writes, writesBefore + 1);
  await run('write now', {headers});
  assert.equal(world.service.writes, writesBefore + 2);
  await run('write', {headers, as: 'anna:anna-pass'});
  assert.equal(world.service.writes, writesBefore + 3);

  const other = {body: {language: 'sql', command: 'write'}, headers};
  await world.command('create database other');
  await world.call('/command/other', other);
  await world.command('drop database other');
  await world.call('/command/other', other);
  await world.command('create database other');
  await world.call('/command/other', other);
  assert.equal(world.service.writes, writesBefore + 5);
  await world.command('drop database other');
});

test('a failure is not kept for a repeated request id', async () => {
  const headers = {'X-Request-Id': 'fails-1'};
  assert.equal((await run('fail commit.conflict', {headers})).status, 503);
  const count = world.service.requests.length;
  assert.equal((await run('fail commit.conflict', {headers})).status, 503);
  assert.equal(world.service.requests.length, count + 1);
});

test('a command nobody waits for runs to its end', async () => {
  const writesBefore = world.service.writes;
  const answer = await run('write', {fields: {awaitResponse: false}});
  assert.equal(answer.status, 202);
  assert.deepEqual(answer.json, {result: 'Command accepted for asynchronous execution'});
  await eventually('the command has run', () => world.service.writes > writesBefore);
  assert.equal(world.service.writes, writesBefore + 1);
});

test('a connection forgets its credentials when the user changes', async () => {
  const {security} = world;
  await security.createUser({name: 'carl', password: 'carl-pass', databases: {}});
  const status = async (as: string): Promise<number> =>
    (await world.call('/databases', {as})).status;
  for (let count = 0; count < 3; count++) assert.equal(await status('carl:carl-pass'), 200);
  await security.changeUser('carl', {password: 'carl-new-pass', databases: undefined});
  assert.equal(await status('carl:carl-pass'), 401);
  for (let count = 0; count < 3; count++) assert.equal(await status('carl:carl-new-pass'), 200);
  for (let count = 0; count < 5; count++) assert.equal(await status(`carl:guess-${count}`), 401);
  assert.equal(await status('carl:guess-6'), 401);
  await security.dropUser('carl');
});

test('users are listed, created, changed and dropped', async () => {
  const users = '/server/users';
  const user = {name: 'viaapi', password: 'viaapi-pass1', databases: {db: ['readonly']}};
  const created = await world.call(users, {body: user});
  assert.deepEqual([created.status, created.json], [201, {result: "User 'viaapi' created"}]);
  assert.equal((await world.call(users, {body: user})).status, 409);
  assert.equal((await world.call(users, {body: {...user, name: 'apitoken:x'}})).status, 400);
  assert.equal((await world.call(users, {body: {name: 'x', password: 'y'}})).status, 400);
  assert.equal((await world.call(users, {body: ''})).status, 400);
  const put = {method: 'PUT', body: {databases: {}}};
  assert.equal((await world.call(`${users}?name=viaapi`, put)).status, 200);
  assert.equal((await world.call(`${users}?name=nobody`, put)).status, 404);
  assert.equal((await world.call(users, put)).status, 400);
  const listed = (await world.call(users)).json as {result: unknown[]};
  assert.deepEqual(listed.result.at(-1), {name: 'viaapi', databases: {}});
  const gone = await world.call(`${users}?name=viaapi`, {method: 'DELETE'});
  assert.deepEqual(gone.json, {result: "User 'viaapi' deleted"});
  assert.equal((await world.call(`${users}?name=viaapi`, {method: 'DELETE'})).status, 404);
  assert.equal((await world.call(`${users}?name=root`, {method: 'DELETE'})).status, 400);
  assert.equal((await world.call(users, {as: 'anna:anna-pass'})).status, 403);
});

test('a group is saved, gives its rights at once, and is deleted', async () => {
  const groups = '/server/groups';
  const writers = {database: 'db', name: 'writers', types: {T: {access: ['createRecord']}}};
  const user = {name: 'wanda', password: 'wanda-pass', databases: {db: ['writers']}};
  await world.call('/server/users', {body: user});
  const mayCreate = (): boolean | undefined => {
    const wanda = world.security.principalOf('wanda');
    return wanda && world.security.access(wanda, 'db')?.allowsOnType('createRecord', 'T');
  };
  assert.equal(mayCreate(), false);
  assert.equal((await world.call(groups, {body: writers})).status, 200);
  assert.equal(mayCreate(), true);
  const listed = (await world.call(groups)).json as {result: {databases: object}};
  assert.deepEqual(Object.keys(listed.result.databases), ['*', 'db']);
  const bad = {...writers, types: {T: {access: ['flyRecord']}}};
  for (const body of ['', {database: 'db'}, {name: 'x'}, bad, {...writers, acces: []}]) {
    assert.equal((await world.call(groups, {body})).status, 400, JSON.stringify(body));
  }
  const remove = (query: string): Promise<HttpAnswer> =>
    world.call(`${groups}?${query}`, {method: 'DELETE'});
  assert.equal((await remove('database=*&name=admin')).status, 400);
  assert.equal((await remove('database=db')).status, 400);
  assert.equal((await remove('database=db&name=writers')).status, 200);
  assert.equal((await remove('database=db&name=writers')).status, 404);
  assert.equal(mayCreate(), false);
});

test('a running query is listed by its tag and can be ended', async () => {
  const hanging = run('hang', {headers: {'X-Svc-Query-Tag': 'night job'}});
  const list = async (): Promise<{id: string}[]> => {
    const answer = await world.command('list queries tag night job');
    return (answer.json as {result: {id: string}[]}).result;
  };
  while ((await list()).length === 0);
  const [row] = await list();
  const as = 'anna:anna-pass';
  assert.deepEqual((await world.command('list queries', {as})).json, {result: []});
  const others = await world.command(`terminate query ${row?.id}`, {as});
  assert.deepEqual(others.json, {result: {id: row?.id, status: 'not found'}});
  const ended = await world.command('terminate queries tag night job');
  assert.deepEqual(ended.json, {result: [{id: row?.id, status: 'terminated'}]});
  assert.equal((await hanging).status, 409);
});

test('a search has a body that is checked before anything is looked for', async () => {
  const search = (kind: string, body: object | undefined) =>
    world.call(`/vector/db/${kind}`, {method: 'POST', ...(body && {body})});
  const none = await search('search', undefined);
  assert.deepEqual([none.status, none.json], [400, {error: 'Request body is required'}]);
  const blank = await search('fulltext', {queryText: ' ', typeName: 'Doc'});
  assert.equal(blank.status, 400);
  assert.match(blank.text, /'queryText' must not be blank/);
  const half = await search('hybrid', {
    vectorIndexName: 'Doc[v]',
    queryVector: [1],
    fulltextQuery: 'apple',
  });
  assert.match(half.text, /'fulltextIndexName' and 'fulltextQuery' must be supplied together/);
});

test('every route is described in the document, and nothing else', async () => {
  const {paths} = openApiDocument('1.0');
  const described = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map(method => `${method} ${path}`),
  );
  const routed = routeTable(async () => {}).flatMap(({path, operations}) =>
    Object.keys(operations).map(
      method => `${method.toLowerCase()} /api/v1${path.replace('...}', '}')}`,
    ),
  );
  assert.deepEqual(described.sort(), [...routed, 'get /ws'].sort());
});

test('the document and its page are served, with credentials only', async () => {
  assert.equal((await world.call('/docs', {as: 'none'})).status, 401);
  const page = await world.call('/docs');
  assert.match(String(page.headers.get('content-type')), /^text\/html/);
  assert.match(page.text, /<code>\/api\/v1\/command\/\{database\}<\/code>/);
  assert.match(page.text, /<code>\.toUpperCase<\/code> method<\/dt><dd>.+<\/dd>/);
  const {json, headers} = await world.call('/openapi.json');
  assert.equal((json as {openapi: string}).openapi, '3.1.0');
  assert.equal(headers.get('x-svc-commit-index'), '42');
});
