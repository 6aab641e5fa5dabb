/**
 * POST /batch against a real server: what good batches store, and what bad ones are answered and
 * leave behind. The counts of every answer are compared with what a query finds.
 */
import assert from 'node:assert/strict';
import {connect} from 'node:net';
import {after, before, test} from 'node:test';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {
  rootPassword,
  type ServerProcess,
  startServer,
  temporaryRoot,
} from '#server/testing/worlds/server-process.ts';
import {eventually} from '#server/testing/time/eventually.ts';

let server: ServerProcess;
let databases = 0;

before(async () => {
  server = await startServer({
    root: temporaryRoot('batch'),
    port: await freePort(),
    settings: {'svc.batch.idMapMax': 1_000, 'svc.recordSizeMax': 100_000},
  });
});

after(() => server.dispose());

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly json: Record<string, unknown>;
}

interface Call {
  readonly as?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

async function post(path: string, body: string | Buffer, call: Call = {}): Promise<Answer> {
  const user = call.as ?? `root:${rootPassword}`;
  const response = await fetch(`${server.url}/api/v1${path}`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(user).toString('base64')}`,
      'content-type': 'application/x-ndjson',
      ...call.headers,
    },
    body: new Uint8Array(Buffer.from(body)),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type') === 'application/json';
  return {status: response.status, text, json: isJson ? JSON.parse(text) : {}};
}

async function command(database: string, text: string): Promise<Record<string, unknown>[]> {
  const headers = {'content-type': 'application/json'};
  const body = JSON.stringify({language: 'sql', command: text});
  const answer = await post(`/command/${database}`, body, {headers});
  assert.equal(answer.status, 200, `${text}: ${answer.text}`);
  return answer.json['result'] as Record<string, unknown>[];
}

const schema = [
  'CREATE VERTEX TYPE Person',
  'CREATE PROPERTY Person.name STRING',
  'CREATE PROPERTY Person.born DATE',
  'CREATE INDEX ON Person (name) UNIQUE',
  'CREATE VERTEX TYPE Free',
  'CREATE VERTEX TYPE Ruled',
  'CREATE PROPERTY Ruled.must INTEGER (mandatory true, notnull true, max 10)',
  'CREATE PROPERTY Ruled.level INTEGER (default 7)',
  'CREATE EDGE TYPE Knows',
  'CREATE EDGE TYPE Once UNIQUE',
  'CREATE DOCUMENT TYPE Note',
];

async function newDatabase(): Promise<string> {
  const name = `batch${++databases}`;
  const headers = {'content-type': 'application/json'};
  await post('/server', JSON.stringify({command: `create database ${name}`}), {headers});
  for (const statement of schema) await command(name, statement);
  return name;
}

async function countOf(database: string, type: string): Promise<number> {
  const [row] = await command(database, `SELECT count(*) AS c FROM ${type}`);
  return Number(row?.['c']);
}

/** What is stored is what the answer says. */
async function checkCounts(database: string, answer: Answer): Promise<void> {
  const vertices = (await countOf(database, 'Person')) + (await countOf(database, 'Free'));
  const ruled = await countOf(database, 'Ruled');
  const edges = (await countOf(database, 'Knows')) + (await countOf(database, 'Once'));
  assert.equal(answer.json['verticesCreated'], vertices + ruled, answer.text);
  assert.equal(answer.json['edgesCreated'], edges, answer.text);
}

const v = (id: string, rest = ''): string => `{"@type":"v","@class":"Free","@id":"${id}"${rest}}\n`;
const p = (name: string): string => `{"@type":"v","@class":"Person","name":"${name}"}\n`;
const e = (from: string, to: string, type = 'Knows'): string =>
  `{"@type":"e","@class":"${type}","@from":"${from}","@to":"${to}"}\n`;

const good: readonly (readonly [string, string, string, string, number, number, object])[] = [
  // because                query                type      body
  ['ids lead to vertices', '', 'x-ndjson', v('a') + v('b') + e('a', 'b'), 2, 1, {linesRead: 3}],
  ['lines may end in CR', '', 'x-ndjson', (v('a') + e('a', 'a')).replaceAll('\n', '\r'), 1, 1, {}],
  ['the last line needs no end', '', 'jsonl', (v('a') + e('a', 'a')).trimEnd(), 1, 1, {}],
  ['empty lines are skipped', '', 'jsonl', `\n\n${v('a')}\r\n\n`, 1, 0, {linesSkipped: 4}],
  ['nothing is a batch', '', 'jsonl', '', 0, 0, {linesRead: 0}],
  [
    'ids are numbers, too',
    '',
    'jsonl',
    v('7') + '{"@type":"e","@class":"Knows","@from":7,"@to":"7"}',
    1,
    1,
    {},
  ],
  ['a repeated id is the last', '', 'jsonl', v('a') + v('a') + e('a', 'a'), 2, 1, {}],
  [
    'vertices have numbers',
    'refMode=ordinal&ordinalBase=5',
    'jsonl',
    v('x') + v('y') + e('5', '6'),
    2,
    1,
    {},
  ],
  [
    'ids may be left out',
    'idMapping=false',
    'jsonl',
    v('a'),
    1,
    0,
    {idMappingOmitted: true, idMappingSize: 1},
  ],
  ['vertices need no id', '', 'jsonl', p('a') + p('b'), 2, 0, {verticesWithoutId: 2}],
  [
    'commits may be small',
    'vertexBatchSize=1&commitEvery=1',
    'jsonl',
    v('a') + v('b') + e('a', 'b') + e('b', 'a'),
    2,
    2,
    {},
  ],
  ['the class may come last', '', 'jsonl', '{"x":1,"@class":"Free","@type":"vertex"}', 1, 0, {}],
  [
    'unique edges once',
    '',
    'jsonl',
    v('a') + v('b') + e('a', 'b', 'Once') + e('b', 'a', 'Once'),
    2,
    2,
    {},
  ],
  ['as many as expected', 'expectedRecords=2', 'jsonl', v('a') + v('b'), 2, 0, {}],
  [
    'CSV has headers',
    '',
    'csv',
    '@type,@class,@id,name\nv,Person,1,"A ""B"""\nv,Person,2,\n---\n' +
      '@type,@class,@from,@to\ne,Knows,1,2\n',
    2,
    1,
    {linesSkipped: 3},
  ],
];

for (const [because, query, type, body, vertices, edges, fields] of good) {
  test(`stored: ${because}`, async () => {
    const database = await newDatabase();
    const headers = {'content-type': type === 'csv' ? 'text/csv' : `application/${type}`};
    const answer = await post(`/batch/${database}?${query}`, body, {headers});
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.json['verticesCreated'], vertices);
    assert.equal(answer.json['edgesCreated'], edges);
    assert.equal(answer.json['bytesRead'], Buffer.byteLength(body));
    for (const [name, value] of Object.entries(fields))
      assert.equal(answer.json[name], value, name);
    await checkCounts(database, answer);
  });
}

const illegal = 'IllegalArgumentException';
const malformed = 'MalformedBatchRecordException';
const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;

const bad: readonly (readonly [string, string, string, number, string, RegExp, number, number])[] =
  [
    // because  query  body  status  class  says  vertices and edges stored
    ['not JSON', '', v('a') + '{"@type":\n', 400, malformed, /line 2/, 1, 0],
    ['a list', '', '[]', 400, malformed, /line 1.*JSON array/, 0, 0],
    ['a text', '', '"x"', 400, malformed, /line 1/, 0, 0],
    ['no kind', '', '{"@class":"Free"}', 400, illegal, /Missing @type at line 1/, 0, 0],
    ['no class', '', '{"@type":"v"}', 400, illegal, /Missing @class at line 1/, 0, 0],
    [
      'another kind',
      '',
      '{"@type":"d","@class":"Note"}',
      400,
      illegal,
      /Unknown @type 'd' at line 1/,
      0,
      0,
    ],
    [
      'unknown class',
      '',
      v('a') + '{"@type":"v","@class":"Nope"}',
      400,
      'SchemaException',
      /Nope.*line 2/,
      1,
      0,
    ],
    [
      'class of another kind',
      '',
      '{"@type":"v","@class":"Knows"}',
      400,
      illegal,
      /not a vertex/,
      0,
      0,
    ],
    ['unknown id', '', v('a') + e('a', 'b'), 400, illegal, /'b' at line 2/, 1, 0],
    [
      'unknown number',
      'refMode=ordinal',
      v('a') + e('0', '1'),
      400,
      illegal,
      /'1' at line 2/,
      1,
      0,
    ],
    [
      'no end',
      '',
      '{"@type":"e","@class":"Knows","@from":"#1:1"}',
      400,
      illegal,
      /@to at line 1/,
      0,
      0,
    ],
    [
      'dangling edge',
      '',
      v('a') + e('a', '#1:999'),
      404,
      'RecordNotFoundException',
      /#1:999.*line 2/,
      1,
      0,
    ],
    ['vertex behind edges', '', v('a') + e('a', 'a') + v('b'), 400, illegal, /line 3/, 1, 1],
    [
      'key twice in a batch',
      '',
      p('x') + p('y') + p('x'),
      409,
      'DuplicatedKeyException',
      /Person\[name\].*line 3/,
      2,
      0,
    ],
    [
      'key twice in two commits',
      'vertexBatchSize=1',
      p('x') + p('x'),
      409,
      'DuplicatedKeyException',
      /\[x\].*line 2/,
      1,
      0,
    ],
    [
      'edge twice',
      '',
      v('a') + e('a', 'a', 'Once') + e('a', 'a', 'Once'),
      409,
      'DuplicatedKeyException',
      /line 3/,
      1,
      1,
    ],
    [
      'edge twice in two commits',
      'commitEvery=1',
      v('a') + e('a', 'a', 'Once') + e('a', 'a', 'Once'),
      409,
      'DuplicatedKeyException',
      /line 3/,
      1,
      1,
    ],
    [
      'a value of another type',
      '',
      '{"@type":"v","@class":"Person","born":"soon"}',
      400,
      illegal,
      /Person.born.*line 1/,
      0,
      0,
    ],
    [
      'a rule broken',
      '',
      '{"@type":"v","@class":"Ruled","must":11}',
      400,
      'ValidationException',
      /Ruled.must.*line 1/,
      0,
      0,
    ],
    [
      'a property missing',
      '',
      v('a') + '{"@type":"v","@class":"Ruled"}',
      400,
      'ValidationException',
      /mandatory.*line 2/,
      1,
      0,
    ],
    [
      'a record too large',
      '',
      `{"@type":"v","@class":"Free","x":"${'x'.repeat(150_000)}"}`,
      400,
      illegal,
      /100000 bytes/,
      0,
      0,
    ],
    ['a line too long', '', 'x'.repeat(400_000), 400, malformed, /bytes/, 0, 0],
    [
      'nested deeply',
      '',
      `{"@type":"v","@class":"Free","x":${deep}}`,
      400,
      malformed,
      /line 1/,
      0,
      0,
    ],
    [
      'an id of no kind',
      '',
      '{"@type":"v","@class":"Free","@id":[1]}',
      400,
      illegal,
      /@id at line 1/,
      0,
      0,
    ],
    [
      'too many ids',
      '',
      Array.from({length: 1_001}, (_, at) => v(`${at}`)).join(''),
      400,
      illegal,
      /idMapMax/,
      1_000,
      0,
    ],
    ['fewer than expected', 'expectedRecords=5', v('a'), 408, '', /Expected 5 records but 1/, 1, 0],
    [
      'more than expected',
      'expectedRecords=1',
      v('a') + v('b'),
      400,
      '',
      /Expected 1 records but 2/,
      2,
      0,
    ],
  ];

for (const [because, query, body, status, exception, says, vertices, edges] of bad) {
  test(`refused: ${because}`, async () => {
    const database = await newDatabase();
    const answer = await post(`/batch/${database}?${query}`, body);
    assert.equal(answer.status, status, answer.text);
    assert.equal(answer.json['exception'] ?? '', exception);
    const detail = answer.json['detail'] as string | undefined;
    assert.match(`${answer.json['error'] as string} ${detail ?? ''}`, says);
    assert.equal(answer.json['verticesCreated'], vertices);
    assert.equal(answer.json['edgesCreated'], edges);
    assert.equal(answer.json['partialCommit'], vertices + edges > 0);
    await checkCounts(database, answer);
  });
}

test('invalid UTF-8 and NUL bytes are refused with the line', async () => {
  const database = await newDatabase();
  for (const byte of [0x00, 0xff, 0xc0]) {
    const line = Buffer.concat([
      Buffer.from('{"@type":"v","@class":"Free","x":"'),
      Buffer.of(byte),
      Buffer.from('"}\n'),
    ]);
    const answer = await post(`/batch/${database}`, line);
    assert.equal(answer.status, 400, answer.text);
    assert.match(String(answer.json['error']), /line 1/);
  }
  assert.equal(await countOf(database, 'Free'), 0);
});

const wrongWords = [
  'batchSize=abc',
  'wal=yes',
  'idMapping=zzz',
  'refMode=name',
  'vertexBatchSize=0',
  'commitEvery=-1',
  'expectedRecords=1.5',
];
for (const query of wrongWords) {
  test(`refused before anything is read: ${query}`, async () => {
    const answer = await post(`/batch/${await newDatabase()}?${query}`, v('a'));
    assert.equal(answer.status, 400);
    assert.match(String(answer.json['detail']), new RegExp(query.split('=')[0] ?? ''));
  });
}

test('values keep their kinds, defaults are filled in, other vertices are reached', async () => {
  const database = await newDatabase();
  const first = await post(`/batch/${database}`, v('a'));
  const rid = (first.json['idMapping'] as Record<string, string>)['a'];
  const answer = await post(
    `/batch/${database}`,
    '{"@type":"v","@class":"Person","@id":"n","name":"Zo\\u00eb","born":"2024-02-29",' +
      '"big":9007199254740993,"half":0.5,"whole":5.0,"list":[1,{"a":null}],' +
      '"yes":true,"no":null}\n' +
      '{"@type":"v","@class":"Ruled","@id":"r","must":10}\n' +
      `{"@type":"e","@class":"Knows","@from":"n","@to":"${rid}","since":1999}\n`,
  );
  assert.equal(answer.status, 200, answer.text);
  const headers = {'content-type': 'application/json'};
  const query = {language: 'sql', command: 'SELECT FROM Person'};
  const {text} = await post(`/command/${database}`, JSON.stringify(query), {headers});
  const stored =
    '"name":"Zoë","born":"2024-02-29","big":9007199254740993,"half":0.5,"whole":5.0,' +
    '"list":[1,{"a":null}],"yes":true,"no":null';
  assert.ok(text.includes(stored), text);
  assert.equal((await command(database, 'SELECT level FROM Ruled'))[0]?.['level'], 7);
  const [found] = await command(database, "SELECT out('Knows').@rid AS to FROM Person");
  assert.deepEqual(found?.['to'], [rid]);
  const [back] = await command(database, "SELECT in('Knows').name AS of FROM Free");
  assert.deepEqual(back?.['of'], ['Zoë']);
});

test('vertices fire triggers, and one that is forbidden is left out', async () => {
  const database = await newDatabase();
  const trigger = (when: string, type: string, code: string): Promise<unknown> =>
    command(
      database,
      `CREATE TRIGGER ${type}${when} ${when} CREATE ON ${type} EXECUTE SQL '${code}'`,
    );
  await trigger('BEFORE', 'Free', 'SELECT ($record.n <> 2)');
  await trigger('AFTER', 'Free', 'INSERT INTO Note SET n = $record.n');
  await trigger('AFTER', 'Knows', 'INSERT INTO Note SET edge = true');
  const lines = v('a', ',"n":1') + v('b', ',"n":2') + v('c', ',"n":3') + e('a', 'c');
  const answer = await post(`/batch/${database}`, lines);
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual([answer.json['verticesCreated'], answer.json['edgesCreated']], [2, 1]);
  assert.deepEqual(Object.keys(answer.json['idMapping'] as object).sort(), ['a', 'c']);
  assert.equal(await countOf(database, 'Free'), 2);
  assert.deepEqual(await command(database, 'SELECT n, edge FROM Note ORDER BY n'), [
    {n: 1, edge: null},
    {n: 3, edge: null},
  ]);
});

test('a streamed answer tells progress, ids and one summary', async () => {
  const database = await newDatabase();
  const headers = {accept: 'application/x-ndjson'};
  const body = v('a') + v('b') + v('c') + e('a', 'b') + e('b', 'c');
  const answer = await post(`/batch/${database}?vertexBatchSize=2`, body, {headers});
  assert.equal(answer.status, 200);
  const lines = answer.text
    .trim()
    .split('\n')
    .map(line => JSON.parse(line));
  const ids = Object.assign({}, ...lines.map(line => line.progress?.idMapping ?? {}));
  assert.deepEqual(Object.keys(ids).sort(), ['a', 'b', 'c']);
  const {summary} = lines.at(-1);
  assert.equal(summary.verticesCreated, 3);
  assert.equal(summary.edgesCreated, 2);
  assert.equal(summary.idMappingStreamed, true);
  assert.ok(summary.commitIndex > 0);
  assert.equal(
    lines.filter(line => line.summary !== undefined || line.error !== undefined).length,
    1,
  );
});

test('a streamed failure keeps its status before the first line, later it has counts', async () => {
  const database = await newDatabase();
  const headers = {accept: 'application/x-ndjson'};
  const wrong = '{"@type":"v","@class":"Nope"}\n';
  assert.equal((await post(`/batch/${database}`, wrong, {headers})).status, 400);
  const late = await post(`/batch/${database}?vertexBatchSize=1`, v('a') + v('b') + wrong, {
    headers,
  });
  assert.equal(late.status, 200);
  const {error} = JSON.parse(late.text.trim().split('\n').at(-1) ?? '');
  assert.equal(error.status, 400);
  assert.equal(error.exception, 'SchemaException');
  assert.equal(error.verticesCreated, 2);
  assert.equal(error.partialCommit, true);
});

test('rights are those of single records', async () => {
  const database = await newDatabase();
  const headers = {'content-type': 'application/json'};
  const user = {
    name: `reader${databases}`,
    password: 'reader-pass',
    databases: {[database]: ['*']},
  };
  const made = await post(
    '/server',
    JSON.stringify({command: `create user ${JSON.stringify(user)}`}),
    {headers},
  );
  assert.equal(made.status, 200, made.text);
  const as = `${user.name}:${user.password}`;
  const answer = await post(`/batch/${database}`, v('a'), {as});
  assert.equal(answer.status, 403, answer.text);
  assert.equal(await countOf(database, 'Free'), 0);
  const other = await newDatabase();
  assert.equal((await post(`/batch/${other}`, v('a'), {as})).status, 403);
});

test('a body that breaks off leaves its whole lines stored and the server well', async () => {
  const database = await newDatabase();
  const {port} = new URL(server.url);
  const credentials = Buffer.from(`root:${rootPassword}`).toString('base64');
  const socket = connect(Number(port), '127.0.0.1');
  const closed = new Promise<void>(resolve => socket.once('close', () => resolve()));
  socket.on('error', () => {});
  socket.resume();
  socket.write(
    `POST /api/v1/batch/${database} HTTP/1.1\r\nHost: x\r\n` +
      `Authorization: Basic ${credentials}\r\nContent-Length: 10000\r\n\r\n` +
      `${v('a')}${v('b')}{"@type":"v","@cla`,
  );
  socket.end();
  await closed;
  // The load ends a moment behind the connection.
  for (let tries = 0; tries < 200 && (await countOf(database, 'Free')) < 2; tries++);
  assert.equal(await countOf(database, 'Free'), 2);
});

test('batches at the same time do not meet, except where a key is unique', async () => {
  const database = await newDatabase();
  const body = Array.from({length: 300}, (_, at) => p(`n${at}`)).join('');
  const answers = await Promise.all([
    post(`/batch/${database}?vertexBatchSize=50`, body),
    post(`/batch/${database}?vertexBatchSize=50`, body),
    post(`/batch/${database}`, Array.from({length: 900}, (_, at) => v(`${at}`)).join('')),
  ]);
  assert.equal(answers[2]?.status, 200);
  const statuses = answers.slice(0, 2).map(({status}) => status);
  assert.ok(statuses.includes(409), 'one of two batches with the same keys is refused');
  const stored = answers.reduce((sum, {json}) => sum + Number(json['verticesCreated']), 0);
  assert.equal((await countOf(database, 'Person')) + (await countOf(database, 'Free')), stored);
  const names = await command(database, 'SELECT name, count(*) AS c FROM Person GROUP BY name');
  assert.ok(names.every(row => row['c'] === 1));
});

test('a client that goes on sending behind a mistake hears of it', async () => {
  const database = await newDatabase();
  const answer = await post(`/batch/${database}`, `nonsense\n${v('a').repeat(300_000)}`);
  assert.equal(answer.status, 400, answer.text);
  assert.equal(answer.json['linesRead'], 1);
});

/** Sends the first part, does something when it is stored, then sends the second. */
async function inTwoParts(
  database: string,
  parts: readonly [string, string],
  between: () => Promise<unknown>,
): Promise<Answer> {
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      controller.enqueue(encoder.encode(parts[0]));
      while ((await countOf(database, 'Free')) === 0);
      await between();
      controller.enqueue(encoder.encode(parts[1]));
      controller.close();
    },
  });
  const credentials = Buffer.from(`root:${rootPassword}`).toString('base64');
  const url = `${server.url}/api/v1/batch/${database}?vertexBatchSize=1&commitEvery=1`;
  const headers = {authorization: `Basic ${credentials}`};
  const response = await fetch(url, {method: 'POST', headers, body, duplex: 'half'});
  const text = await response.text();
  return {status: response.status, text, json: JSON.parse(text) as Record<string, unknown>};
}

test('an edge to a vertex that was deleted meanwhile is refused', async () => {
  const database = await newDatabase();
  const answer = await inTwoParts(database, [v('a'), v('b') + e('a', 'b')], () =>
    command(database, 'DELETE FROM Free'),
  );
  assert.equal(answer.status, 404, answer.text);
  assert.equal(answer.json['exception'], 'RecordNotFoundException');
  assert.equal(await countOf(database, 'Knows'), 0);
});

test('a load goes on when other types are changed, and ends when its own are', async () => {
  const database = await newDatabase();
  const parts = [v('a'), v('b') + e('a', 'b')] as const;
  const other = await inTwoParts(database, parts, () =>
    command(database, 'CREATE PROPERTY Person.age INTEGER'),
  );
  assert.equal(other.status, 200, other.text);
  await command(database, 'DELETE FROM Free');
  const own = await inTwoParts(database, [v('a'), v('b', ',"x":"text"')], () =>
    command(database, 'CREATE PROPERTY Free.x STRING'),
  );
  assert.equal(own.status, 200, own.text);
  const [row] = await command(database, 'SELECT x FROM Free WHERE x IS NOT NULL');
  assert.equal(row?.['x'], 'text');
});

test('rights are asked again while lines come', async () => {
  const database = await newDatabase();
  const databases = {[database]: ['admin']};
  const user = {name: 'loader', password: 'loader-pass', databases};
  const json = {headers: {'content-type': 'application/json'}};
  const made = await post('/server', JSON.stringify({command: `create user`, ...user}), json);
  assert.equal(made.status, 200, made.text);
  const credentials = Buffer.from(`${user.name}:${user.password}`).toString('base64');
  const {hostname, port} = new URL(server.url);
  const socket = connect(Number(port), hostname);
  const chunk = (lines: string): string =>
    `${Buffer.byteLength(lines).toString(16)}\r\n${lines}\r\n`;
  let text = '';
  const answered = new Promise<void>((resolve, reject) => {
    socket.on('error', reject);
    socket.on('close', () => resolve());
  });
  await new Promise<void>(resolve => {
    socket.on('data', data => {
      text += String(data);
      // The credentials were good.
      if (text.includes('100 Continue')) resolve();
    });
    socket.write(
      `POST /api/v1/batch/${database} HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ` +
        `${credentials}\r\nExpect: 100-continue\r\nConnection: close\r\n` +
        'Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n',
    );
  });
  socket.write(chunk(v('a') + v('b') + v('c')));
  const dropped = await post('/server', JSON.stringify({command: 'drop user loader'}), json);
  assert.equal(dropped.status, 200, dropped.text);
  socket.write(`${chunk(v('d') + v('e'))}0\r\n\r\n`);
  await answered;
  assert.match(text, /HTTP\/1\.1 401 /);
  assert.ok((await countOf(database, 'Free')) <= 3);
});

test('M3: one user has a share of the batches that run at once, root has a place', async () => {
  const database = await newDatabase();
  const user = {name: 'mallory', password: 'mallory-pass', databases: {[database]: ['*']}};
  const headers = {'content-type': 'application/json'};
  await post('/server', JSON.stringify({command: 'create user', ...user}), {headers});
  const {port} = new URL(server.url);
  const as = 'mallory:mallory-pass';
  // The password is known from now on: eight checks of it at once are more than a user's share.
  assert.equal((await post(`/batch/${database}`, '', {as})).status, 200);
  const waiting = Array.from({length: 8}, () => {
    const socket = connect(Number(port), '127.0.0.1');
    socket.on('error', () => {});
    socket.write(
      `POST /api/v1/batch/${database} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n` +
        `Authorization: Basic ${Buffer.from(as).toString('base64')}\r\n\r\n{`,
    );
    return socket;
  });
  try {
    // Each is at work as soon as its head was read.
    let refused: Answer | undefined;
    await eventually('eight batches of the user are at work', async () => {
      refused = await post(`/batch/${database}`, '', {as});
      return refused.status === 503;
    });
    assert.match(refused?.text ?? '', /svc\.batch\.concurrentMaxPerUser/);
    assert.equal((await post(`/batch/${database}`, v('a'))).status, 200);
  } finally {
    for (const socket of waiting) socket.destroy();
  }
});

test('a record refused for one of its unique keys leaves none of the others taken', async () => {
  const database = await newDatabase();
  for (const statement of [
    'CREATE VERTEX TYPE Two',
    'CREATE PROPERTY Two.a INTEGER',
    'CREATE PROPERTY Two.b INTEGER',
    'CREATE PROPERTY Two.tags LIST OF INTEGER',
    'CREATE INDEX ON Two (a) UNIQUE',
    'CREATE INDEX ON Two (b) UNIQUE',
    'CREATE INDEX ON Two (tags BY ITEM) UNIQUE',
  ]) {
    await command(database, statement);
  }
  const two = (a: number, b: number, tags: readonly number[]): string =>
    `{"@type":"v","@class":"Two","a":${a},"b":${b},"tags":${JSON.stringify(tags)}}\n`;
  const refused = await post(`/batch/${database}`, two(1, 1, [1, 1]) + two(2, 1, [2]));
  assert.equal(refused.status, 409, refused.text);
  assert.match(refused.text, /line 2/);
  assert.equal(await countOf(database, 'Two'), 1);
  const stored = await post(`/batch/${database}`, two(2, 2, [2, 2]) + two(3, 3, []));
  assert.equal(stored.status, 200, stored.text);
  assert.equal(await countOf(database, 'Two'), 3);
});
