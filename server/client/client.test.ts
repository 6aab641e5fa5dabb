/**
 * The client against a plain HTTP server that answers what the documented interface answers,
 * and that misbehaves in the ways networks do.
 */
import assert from 'node:assert/strict';
import http from 'node:http';
import type {AddressInfo} from 'node:net';
import {test} from 'node:test';
import {Client, type ClientOptions} from './client.ts';
import {NotConnected, ServerError, UnknownOutcome} from './server-error.ts';

type Handler = (request: http.IncomingMessage, response: http.ServerResponse, body: string) => void;

/** Serves `handler` on a free port while `work` runs with a client of it. */
async function served(
  handler: Handler,
  work: (client: Client) => Promise<void>,
  more: Partial<ClientOptions> = {},
): Promise<void> {
  const server = http.createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    handler(request, response, body);
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const {port} = server.address() as AddressInfo;
  const credentials = {kind: 'basic', user: 'root', password: 'a:b ü'} as const;
  const client = new Client({url: `http://127.0.0.1:${port}`, credentials, ...more});
  try {
    await work(client);
  } finally {
    client.close();
    server.closeAllConnections();
    await new Promise(resolve => server.close(resolve));
  }
}

function json(response: http.ServerResponse, status: number, body: string): void {
  response.writeHead(status, {'Content-Type': 'application/json'});
  response.end(body);
}

test('what nobody was there to lead is asked again, and nothing else', async () => {
  const refusals = ['ServerIsNotTheLeaderException', 'ServerIsNotTheLeaderException'];
  let asked = 0;
  const handler: Handler = (_request, response) => {
    asked++;
    const exception = refusals.shift();
    if (exception === undefined) json(response, 200, '{"result":[]}');
    else json(response, 503, JSON.stringify({error: 'Cannot execute command', exception}));
  };
  const patient = {electionRetries: {count: 2, delayMillis: 1}};
  await served(
    handler,
    async client => {
      assert.deepEqual((await client.command('db', 'INSERT INTO T')).result, []);
      assert.equal(asked, 3);
      refusals.push('CommitOutcomeUnknownException');
      await assert.rejects(client.command('db', 'INSERT INTO T'), ServerError);
      assert.equal(asked, 4);
      refusals.push(...Array.from({length: 3}, () => 'ServerIsNotTheLeaderException'));
      await assert.rejects(client.command('db', 'INSERT INTO T'), ServerError);
      assert.equal(asked, 7);
    },
    patient,
  );
});

test('parameters go out and rows come back with exact 64-bit integers', async () => {
  const handler: Handler = (request, response, body) => {
    const pair = Buffer.from('root:a:b ü').toString('base64');
    assert.equal(request.headers.authorization, `Basic ${pair}`);
    assert.equal(request.url, '/api/v1/query/my%20db');
    assert.equal(
      body,
      '{"language":"sql","command":"SELECT :n","params":{"n":9223372036854775807}}',
    );
    json(response, 200, '{"result":[{"n":9223372036854775807,"m":1.5}],"limit":20000}');
  };
  await served(handler, async client => {
    const params = {n: 9223372036854775807n};
    const answer = await client.query('my db', 'SELECT :n', {params});
    assert.deepEqual(answer.result, [{n: 9223372036854775807n, m: 1.5}]);
    assert.equal(answer.limit, 20000);
  });
});

test('a refusal is a ServerError with every field of the error body', async () => {
  const body = {
    error: 'Found duplicate key in index',
    requestId: 'r1',
    exception: 'org.example.DuplicatedKeyException',
    exceptionArgs: 'Person[name]|[Ann]|#1:0',
    detail: 'the index Person[name] holds Ann already',
  };
  await served(
    (_request, response) => json(response, 409, JSON.stringify(body)),
    async client => {
      const refused = client.command('db', 'INSERT INTO Person SET name = 1');
      await assert.rejects(refused, (error: unknown) => {
        assert(error instanceof ServerError);
        assert.equal(error.status, 409);
        assert.equal(error.exceptionName, 'DuplicatedKeyException');
        assert.equal(error.exceptionArgs, body.exceptionArgs);
        assert.equal(error.requestId, 'r1');
        assert.match(error.message, /duplicate key.*holds Ann already \(status 409\)/);
        return true;
      });
    },
  );
});

test('a session sends its header with every call', async () => {
  const seen: string[] = [];
  const handler: Handler = (request, response) => {
    seen.push(`${request.url} ${String(request.headers['svc-session-id'])}`);
    if (request.url?.startsWith('/api/v1/begin/') === true) {
      response.writeHead(204, {'svc-session-id': 'AS-1'}).end();
    } else if (request.url?.startsWith('/api/v1/command/') === true) {
      json(response, 200, '{"result":[]}');
    } else response.writeHead(204).end();
  };
  await served(handler, async client => {
    const session = await client.begin('db', 'REPEATABLE_READ');
    await session.command('db', 'DELETE FROM T');
    await session.commit();
    assert.deepEqual(seen, [
      '/api/v1/begin/db undefined',
      '/api/v1/command/db AS-1',
      '/api/v1/commit/db AS-1',
    ]);
  });
});

test('a write whose answer is lost is an unknown outcome and is not sent again', async () => {
  let requests = 0;
  const handler: Handler = (request, response) => {
    requests += 1;
    if (requests === 1) json(response, 200, '{"result":[]}');
    else request.socket.destroy();
  };
  await served(handler, async client => {
    await client.command('db', 'first, so that the connection is a kept one');
    await assert.rejects(client.command('db', 'INSERT INTO T'), UnknownOutcome);
    assert.equal(requests, 2);
  });
});

test('an answer that breaks off in its body is an unknown outcome', async () => {
  const handler: Handler = (request, response) => {
    response.writeHead(200, {'Content-Length': '100'});
    response.write('{"result":');
    setImmediate(() => request.socket.destroy());
  };
  await served(handler, client => assert.rejects(client.command('db', 'INSERT'), UnknownOutcome));
});

test('an absent server is told apart: the request never left', async () => {
  let url = '';
  await served(
    () => undefined,
    async client => {
      url = client.url;
    },
  );
  const client = new Client({url, credentials: {kind: 'none'}});
  await assert.rejects(client.command('db', 'INSERT'), NotConnected);
  assert.equal(await client.ready(), false);
});

test('a streamed load reports progress and returns the summary', async () => {
  const handler: Handler = (request, response, body) => {
    assert.equal(request.headers['content-type'], 'application/x-ndjson');
    assert.equal(request.url, '/api/v1/batch/db?commitEvery=2');
    assert.equal(body, '{"a":1}\n{"a":2}\n');
    response.writeHead(200, {'Content-Type': 'application/x-ndjson'});
    response.write('{"progress":{"verticesCreated":1,"edgesCreated":0}}\n{"prog');
    response.end('ress":{"verticesCreated":2}}\n{"summary":{"verticesCreated":2,"linesRead":2}}');
  };
  await served(handler, async client => {
    const seen: number[] = [];
    async function* lines(): AsyncGenerator<string> {
      yield '{"a":1}\n';
      yield '{"a":2}\n';
    }
    const counts = await client.batch('db', lines(), {
      query: {commitEvery: 2},
      onProgress: progress => seen.push(progress.verticesCreated),
    });
    assert.deepEqual(seen, [1, 2]);
    assert.equal(counts.verticesCreated, 2);
    assert.equal(counts.linesRead, 2);
  });
});

test('a streamed load that fails tells what had been stored', async () => {
  const handler: Handler = (_request, response) => {
    response.writeHead(200, {'Content-Type': 'application/x-ndjson'});
    response.end(
      '{"error":{"error":"bad record","status":400,"detail":"line 7","edgesCreated":3}}\n',
    );
  };
  await served(handler, async client => {
    await assert.rejects(
      client.batch('db', 'x', {onProgress: () => undefined}),
      (error: unknown) => {
        assert(error instanceof ServerError);
        assert.equal(error.status, 400);
        assert.equal(error.fields['edgesCreated'], 3);
        return true;
      },
    );
  });
});

test('rows stream one by one, and an error in the stream is thrown after them', async () => {
  const handler: Handler = (request, response) => {
    assert.equal(request.headers.accept, 'application/x-ndjson');
    response.writeHead(200, {'Content-Type': 'application/x-ndjson'});
    response.end('{"record":{"n":1}}\n{"record":{"n":2}}\n{"error":{"message":"stopped"}}\n');
  };
  await served(handler, async client => {
    const rows: unknown[] = [];
    const reading = async (): Promise<void> => {
      for await (const row of client.queryStream('db', 'SELECT FROM T')) rows.push(row);
    };
    await assert.rejects(reading(), /stopped/);
    assert.deepEqual(rows, [{n: 1}, {n: 2}]);
  });
});

test('a statement carries its tag, and one that is given up has an unknown outcome', async () => {
  const tags: unknown[] = [];
  const giveUp = new AbortController();
  const handler: Handler = request => {
    tags.push(request.headers['x-svc-query-tag']);
    giveUp.abort();
  };
  await served(handler, async client => {
    const options = {tag: 'mine', signal: giveUp.signal};
    await assert.rejects(client.command('db', 'UPDATE T SET a = 1', options), UnknownOutcome);
    assert.deepEqual(tags, ['mine']);
  });
});
