/** Hostile and slow clients, large answers and streams: what the server bears and what it says. */
import assert from 'node:assert/strict';
import {once} from 'node:events';
import {connect} from 'node:net';
import {test} from 'node:test';
import {closing} from '#server/testing/closing.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {type HttpWorld, httpWorld, rootPassword} from '#server/testing/worlds/http-world.ts';

const credentials = Buffer.from(`root:${rootPassword}`).toString('base64');
const authorization = `Authorization: Basic ${credentials}`;

async function inWorld(
  settings: Readonly<Record<string, string | number>>,
  body: (world: HttpWorld) => Promise<void>,
): Promise<void> {
  const world = await httpWorld(settings);
  try {
    await body(world);
  } finally {
    await world.server.close(0);
  }
}

function post(path: string, headers: string, body = ''): string {
  return `POST /api/v1${path} HTTP/1.1\r\nHost: x\r\n${authorization}\r\n${headers}\r\n\r\n${body}`;
}

const rows = (command: string, more: object = {}) => ({body: {language: 'sql', command, ...more}});
/** Rows of 17 MB: more than is buffered. */
const manyRows = '17000 1000';
const ndjson = {headers: {Accept: 'application/x-ndjson'}};

test('a body that says it is too large is refused before it arrives', async () => {
  await inWorld({}, async world => {
    const answer = await world.raw(post('/command/db', 'Content-Length: 209715200', '{"a":'));
    assert.match(answer, /^HTTP\/1\.1 413 /);
    assert.match(answer, /"error":"Request body too large"/);
    assert.match(answer, /\(209715200 bytes\).*104857600 bytes/);
    assert.equal((await world.call('/health', {as: 'none'})).status, 204);
  });
});

const strangersMax = 3;

test('svc.network.maxPreAuthConnections: the oldest stranger is closed for the next', async () => {
  await inWorld({'svc.network.maxPreAuthConnections': strangersMax}, async world => {
    const strangers = 'svc_network_connections_refused_total';
    const opened = async (request?: string) => {
      const socket = connect(world.port, '127.0.0.1');
      closing({close: () => socket.destroy()});
      let received = '';
      socket.on('data', bytes => (received += String(bytes)));
      await once(socket, 'connect');
      const ask = async (text: string): Promise<string> => {
        received = '';
        socket.write(text);
        await eventually('an answer', () => /\r\n\r\n/.test(received) || socket.closed);
        return received.slice(0, 'HTTP/1.1 200'.length);
      };
      if (request !== undefined) await ask(request);
      return {socket, ask};
    };
    const statement = JSON.stringify(rows('rows 1').body);
    const query = post('/query/db', `Content-Length: ${statement.length}`, statement);
    const wrong = query.replace(credentials, Buffer.from('root:wrong').toString('base64'));
    const odd = query.replace('Content-Length', 'X-Request-Id: 1\r\nContent-Length');
    const known = [await opened(query), await opened(odd)];
    const guesser = await opened(wrong);
    const probe = await opened('GET /api/v1/health HTTP/1.1\r\nHost: x\r\n\r\n');
    const silent = await opened();
    assert.deepEqual(
      [guesser, probe, silent].map(({socket}) => socket.closed),
      [false, false, false],
      'so many may be strangers',
    );
    const next = await opened();
    await eventually('the oldest is closed', () => guesser.socket.closed);
    assert.equal(await next.ask(query), 'HTTP/1.1 200');
    assert.equal(await probe.ask(query), 'HTTP/1.1 200', 'it has room again');
    await Promise.all(Array.from({length: 5 * strangersMax}, () => opened()));
    await eventually('silence ends', () => silent.socket.closed);
    for (const {ask} of [...known, next, probe]) assert.equal(await ask(query), 'HTTP/1.1 200');
    const scrape = await world.call('//prometheus');
    const count = new RegExp(`^${strangers}{protocol="http"} (\\d+)`, 'm').exec(scrape.text)?.[1];
    assert.ok(Number(count) >= 4 * strangersMax, `${count} were counted`);
  });
});

test('L13: bodies count in the share of their user until they are answered', async () => {
  const shares = {'svc.keptMemoryMaxPerUser': '2MB', 'svc.keptMemoryMax': '4MB'};
  await inWorld(shares, async world => {
    const sized = (megabytes: number) =>
      rows('rows 1', {params: {filler: 'x'.repeat(megabytes * 1_000_000)}});
    const as = 'anna:anna-pass';
    for (let count = 0; count < 4; count++) {
      assert.equal((await world.call('/query/db', {...sized(1.5), as})).status, 200);
    }
    const refused = await world.call('/query/db', {...sized(3), as});
    assert.notEqual(refused.status, 200);
    assert.match(refused.text, /svc\.keptMemoryMaxPerUser/);
    assert.equal((await world.call('/query/db', sized(6))).status, 200, 'root has no share');
  });
});

test('L13: many small bodies under way count like a large one', async () => {
  const shares = {'svc.keptMemoryMaxPerUser': '2MB', 'svc.keptMemoryMax': '4MB'};
  await inWorld(shares, async world => {
    const anna = Buffer.from('anna:anna-pass').toString('base64');
    const chunk = `186a0\r\n${' '.repeat(100_000)}`;
    const begun = post('/query/db', 'Transfer-Encoding: chunked', chunk);
    const answers: string[] = [];
    for (let count = 0; count < 24; count += 1) {
      const socket = connect(world.port, '127.0.0.1');
      closing({close: () => socket.destroy()});
      socket.on('data', bytes => answers.push(String(bytes)));
      socket.write(begun.replace(credentials, anna));
    }
    await eventually('some are refused', () => answers.length > 0);
    assert.match(answers.join(''), /svc\.keptMemoryMaxPerUser/);
    assert.equal((await world.call('/query/db', rows('rows 1'))).status, 200);
  });
});

test('L13: a large body is read a piece a turn of the event loop', async () => {
  await inWorld({}, async world => {
    let turns = 0;
    let isOver = false;
    const turn = (): void => {
      turns += 1;
      if (!isOver) setImmediate(turn);
    };
    turn();
    const megabytes = 16;
    const filler = 'x'.repeat(megabytes << 20);
    const headers = {'X-Request-Id': 'a large one'};
    const answer = await world.call('/command/db', {
      ...rows('rows 1', {params: {filler}}),
      headers,
    });
    isOver = true;
    assert.equal(answer.status, 200);
    // To come, to be hashed and to be parsed: a third of a megabyte in a turn at most.
    assert.ok(turns > 3 * 3 * megabytes, `${turns} turns`);
  });
});

test('M3: what is beyond the share of a user is refused late, on both paths', async () => {
  const delay = 600;
  const shares = {'svc.server.httpSessionMaxPerUser': 1, 'svc.security.failureDelay': delay};
  await inWorld(shares, async world => {
    const as = 'anna:anna-pass';
    assert.equal((await world.call('/begin/db', {as, body: {}})).status, 204);
    // A header that only node's server knows takes the other path.
    for (const headers of [{}, {'X-Request-Id': 'other-path'}]) {
      const startedAt = performance.now();
      const refused = world.call('/begin/db', {as, body: {}, headers});
      assert.equal((await world.call('/begin/db', {body: {}, headers})).status, 204);
      assert.match((await refused).text, /svc\.server\.httpSessionMaxPerUser/);
      assert.ok(performance.now() - startedAt >= delay - 1, 'it came late');
    }
  });
});

test('L3: what a browser sends for a page of another site is refused', async () => {
  await inWorld({}, async world => {
    const body = JSON.stringify({language: 'sql', command: 'write'});
    for (const [site, status] of [
      ['cross-site', 403],
      ['same-origin', 200],
    ] as const) {
      const headers = {'Content-Type': 'text/plain', 'Sec-Fetch-Site': site};
      assert.equal((await world.call('/command/db', {body, headers})).status, status);
    }
    assert.equal(world.service.writes, 1);
  });
});

test('a chunked body is refused as soon as it is too large', async () => {
  await inWorld({'svc.server.httpBodyContentMaxSize': 1_000}, async world => {
    const chunk = `400\r\n${'x'.repeat(0x400)}\r\n`;
    const answer = await world.raw(post('/command/db', 'Transfer-Encoding: chunked', chunk));
    assert.match(answer, /^HTTP\/1\.1 413 /);
    assert.equal(world.service.requests.length, 0);
  });
});

test('a client that asks first is told 413 instead of sending its body', async () => {
  await inWorld({'svc.server.httpBodyContentMaxSize': 1_000}, async world => {
    const asks = 'Expect: 100-continue\r\nConnection: close\r\nContent-Length:';
    assert.match(await world.raw(post('/command/db', `${asks} 2000`)), /^HTTP\/1\.1 413 /);
    const small = post('/command/db', `${asks} 2`, '{}');
    assert.match(await world.raw(small), /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 400 /);
  });
});

test('malformed bodies are refused with their place', async () => {
  await inWorld({}, async world => {
    const cases: readonly (readonly [string | Uint8Array, RegExp])[] = [
      ['{"language":"sql",\n "command":', /line 2 column 12/],
      ['{"language":"sql","command":"x"} x', /line 1 column 34/],
      [Buffer.from('7b2261223a22ff227d', 'hex'), /line 1 column/],
      [`{"params":${'['.repeat(1_000_000)}`, /nested more than 64 levels/],
      ['{"a":"\u0001"}', /line 1 column/],
      ['nul\u0000', /line 1 column/],
    ];
    for (const [body, place] of cases) {
      const {status, text} = await world.call('/command/db', {body});
      assert.equal(status, 400, text);
      assert.match(text, /"error":"Invalid JSON payload"/);
      assert.match(text, place);
    }
    const nested = `${'['.repeat(40)}${']'.repeat(40)}`;
    const deep = `{"language":"sql","command":"rows","params":{"a":${nested}}}`;
    const answer = await world.call('/command/db', {body: deep});
    assert.equal(answer.status, 400);
    assert.match(answer.text, /nested more than 32 levels/);
  });
});

test('a body that stalls is broken off, headers too, and others are not held up', async () => {
  await inWorld({'svc.network.socketTimeout': 150}, async world => {
    const stalled = world.raw(post('/command/db', 'Content-Length: 100', '{'));
    const headless = world.raw('POST /api/v1/command/db HTTP/1.1\r\nHost: x\r\nX-Slow: ');
    assert.equal((await world.call('/query/db', rows('rows'))).status, 200);
    assert.match(await stalled, /^HTTP\/1\.1 408 .*Request body incomplete/s);
    assert.match(await headless, /^HTTP\/1\.1 408 /);
  });
});

test('a client that leaves cancels its statement', async () => {
  await inWorld({}, async world => {
    const body = JSON.stringify(rows('hang').body);
    const socket = connect(world.port, '127.0.0.1');
    socket.write(post('/query/db', `Content-Length: ${body.length}`, body));
    await eventually('it runs', () => world.service.running.size > 0);
    socket.destroy();
    await eventually('it ends', () => world.service.running.size === 0);
    assert.equal(world.service.aborted, 1);
  });
});

test('an answer larger than what is buffered arrives whole, in chunks', async () => {
  await inWorld({}, async world => {
    const answer = await world.call('/query/db', rows(`rows ${manyRows}`, {limit: -1}));
    const {result} = answer.json as {result: {n: number}[]};
    assert.equal(result.length, 17_000);
    assert.deepEqual(result.at(-1), {n: 16_999, text: 'x'.repeat(1_000)});
    assert.equal(answer.headers.get('content-length'), null);
    const plain = {headers: {'Accept-Encoding': 'identity'}};
    const small = await world.call('/query/db', {...rows('wide'), ...plain});
    assert.equal(small.headers.get('content-length'), String(small.text.length));
  });
});

test('an answer of more rows than it may carry is refused', async () => {
  await inWorld({'svc.server.httpQueryMaxResultRows': 10}, async world => {
    const refused = await world.call('/query/db', rows('rows 11', {limit: -1}));
    assert.equal(refused.status, 413);
    assert.match(refused.text, /svc\.server\.httpQueryMaxResultRows/);
    assert.equal((await world.call('/query/db', rows('rows 10', {limit: -1}))).status, 200);
  });
});

test('a failure in the middle of a large answer breaks the connection', async () => {
  await inWorld({}, async world => {
    await assert.rejects(world.call('/query/db', rows(`late ${manyRows}`, {limit: -1})));
    const early = await world.call('/query/db', rows('late 1000'));
    assert.equal(early.status, 400, 'before the answer has begun it keeps its status');
  });
});

test('rows stream as lines with their stats at the end', async () => {
  await inWorld({}, async world => {
    const answer = await world.call('/query/db', {...rows('rows 2'), ...ndjson});
    assert.equal(answer.headers.get('content-type'), 'application/x-ndjson');
    assert.equal(answer.headers.get('cache-control'), 'no-cache');
    const stats = '{"stats":{"limit":20000,"returned":2,"truncated":false}}';
    assert.equal(answer.text, `{"record":{"n":0}}\n{"record":{"n":1}}\n${stats}\n`);
    const none = await world.call('/query/db', {...rows('rows 0'), ...ndjson});
    assert.match(none.text, /^\{"stats":\{[^\n]*\n$/);
    const get = await world.call('/query/db/sql/rows%201', ndjson);
    assert.equal(get.text.split('\n').length, 3);
  });
});

test('a stream refuses writes, graphs and early failures with a status', async () => {
  await inWorld({}, async world => {
    const write = await world.call('/command/db', {...rows('write'), ...ndjson});
    assert.equal(write.status, 400);
    assert.match(write.text, /RequestRefusedBeforeExecutionException/);
    assert.equal(world.service.writes, 0);
    const graph = await world.call('/query/db', {
      ...rows('rows', {serializer: 'graph'}),
      ...ndjson,
    });
    assert.equal(graph.status, 400);
    const early = await world.call('/query/db', {...rows('fail sql.syntax'), ...ndjson});
    assert.equal(early.status, 400);
  });
});

test('a late failure of a stream is its last line, without stats', async () => {
  await inWorld({}, async world => {
    const {text, status} = await world.call('/query/db', {...rows('late 3'), ...ndjson});
    assert.equal(status, 200);
    const last = JSON.parse(text.trimEnd().split('\n').at(-1) ?? '');
    const {requestId, detail, message, ...error} = last.error;
    assert.match(requestId, /-/);
    assert.match(detail, /cannot be divided by zero/);
    assert.equal(message, detail);
    assert.deepEqual(error, {
      error: 'Cannot execute command',
      exception: 'ArithmeticErrorException',
      status: 400,
    });
    assert.doesNotMatch(text, /stats/);
  });
});

test('a silent stream sends empty lines', async () => {
  await inWorld({'svc.server.httpStreamingKeepAliveInterval': 20}, async world => {
    const body = JSON.stringify(rows('stall').body);
    const socket = connect(world.port, '127.0.0.1');
    let text = '';
    socket.on('data', bytes => (text += String(bytes)));
    const accept = 'Accept: application/x-ndjson\r\nConnection: close\r\n';
    socket.write(post('/query/db', `${accept}Content-Length: ${body.length}`, body));
    const isSilent = (): boolean => /\{"record":\{"n":\d+\}\}\n\r\n1\r\n\n\r\n/.test(text);
    await eventually('an empty line comes', isSilent);
    const [id = ''] = world.service.running.keys();
    assert.equal((await world.command(`terminate query ${id}`)).status, 200);
    const hasEnded = (): boolean => /\n\{"error":.*\}\n\r\n0\r\n\r\n$/.test(text);
    await eventually('an error is its last line', hasEnded);
    if (!socket.closed) await once(socket, 'close');
  });
});

test('a reader that stops reading is dropped', async () => {
  await inWorld({'svc.network.socketTimeout': 100}, async world => {
    const socket = connect(world.port, '127.0.0.1');
    const body = JSON.stringify(rows(`rows ${manyRows}`, {limit: -1}).body);
    const accept = 'Accept: application/x-ndjson\r\n';
    socket.write(post('/query/db', `${accept}Content-Length: ${body.length}`, body));
    // The first bytes are read and no more, so the answer backs up until the server gives up.
    await once(socket, 'readable');
    assert.equal(world.service.requests.length, 1);
    await eventually('its result is closed', () => world.service.openCursors === 0);
    socket.destroy();
    assert.equal((await world.call('/health', {as: 'none'})).status, 204);
  });
});

test('production hides the details of every failure', async () => {
  await inWorld({'svc.server.mode': 'production'}, async world => {
    for (const body of ['{', JSON.stringify(rows('fail sql.syntax').body)]) {
      const {text, status} = await world.call('/command/db', {body});
      assert.equal(status, 400);
      assert.doesNotMatch(text, /detail/);
    }
    assert.equal((await world.call('//', {as: 'none'})).status, 404);
  });
});

test('credentials missing on a large upload end it at once', async () => {
  await inWorld({}, async world => {
    const head = 'POST /api/v1/command/db HTTP/1.1\r\nHost: x\r\nContent-Length: 50000000\r\n\r\n';
    const answer = await world.raw(`${head}${'x'.repeat(1_000)}`);
    assert.match(answer, /^HTTP\/1\.1 401 .*WWW-Authenticate: Basic/s);
    assert.match(answer, /Connection: close/);
  });
});

test('closing lets running requests end and refuses new connections', async () => {
  const world = await httpWorld();
  const slow = world.call('/query/db', rows('slow 100'));
  await eventually('it runs', () => world.service.requests.length > 0);
  const closed = world.server.close(5_000);
  await assert.rejects(world.call('/health', {as: 'none'}));
  assert.equal((await slow).status, 200);
  await closed;
});

test('closing breaks off what does not end in time', async () => {
  const world = await httpWorld();
  const hanging = world.call('/query/db', rows('hang'));
  await eventually('it runs', () => world.service.running.size > 0);
  await Promise.all([assert.rejects(hanging), world.server.close(20)]);
});

test('the first free port of a range is taken', async () => {
  const first = await httpWorld();
  const second = await httpWorld();
  try {
    await assert.rejects(
      second.server.listen('127.0.0.1', {from: first.port, to: first.port}),
      /EADDRINUSE|ERR_SERVER_ALREADY_LISTEN/,
    );
  } finally {
    await Promise.all([first.server.close(0), second.server.close(0)]);
  }
});
