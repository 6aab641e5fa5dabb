/**
 * What a replica's clients see of requests that only the leader can carry out.
 * Holds invariant H5.
 */
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {createServer, type Server as NetServer, type Socket} from 'node:net';
import {join} from 'node:path';
import {afterEach, beforeEach, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {
  type ClusterOfTwo,
  clusterOfTwo,
  clusterToken,
} from '#server/testing/cluster/cluster-of-two.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {leaderNeeded} from '#server/cluster/leadership.ts';
import type {Call, HttpAnswer, HttpWorld} from '#server/testing/worlds/http-world.ts';

// No machine is too slow for these; a test that waits for the end of one shortens it.
const settings = {
  'svc.ha.forwardLeaderWaitTimeoutMs': 30_000,
  'svc.ha.proxyReadTimeout': 30_000,
  'svc.ha.proxyCommandTimeout': 30_000,
  'svc.ha.proxyMaxBodySize': 2_048,
  'svc.ha.quorumTimeout': 30_000,
};
const leaderWait = 'svc.ha.forwardLeaderWaitTimeoutMs';

let two: ClusterOfTwo;
beforeEach(async () => {
  two = await clusterOfTwo(settings, {
    batch: async exchange => {
      if (exchange.header('accept') === 'application/x-ndjson') {
        exchange.startStream(200, 'application/x-ndjson');
        await exchange.write('{"progress":{}}\n');
        return exchange.endStream('{"summary":{"verticesCreated":1,"commitIndex":90}}\n');
      }
      const pieces: Buffer[] = [];
      for await (const piece of exchange.request) pieces.push(piece as Buffer);
      exchange.answerJson(200, {bytes: Buffer.concat(pieces).length});
    },
  });
});
afterEach(() => two.close());

function command(world: HttpWorld, text: string, call: Call = {}): Promise<HttpAnswer> {
  return world.call('/command/db', {body: {language: 'sql', command: text}, ...call});
}

function exceptionOf({json}: HttpAnswer): string | undefined {
  return (json as {readonly exception?: string} | undefined)?.exception;
}

function member(user: string, token = clusterToken): Call {
  return {
    as: 'none',
    headers: {
      'X-Svc-Cluster-Token': token,
      'X-Svc-Forwarded-User': user,
      'X-Svc-Forwarded-To-Leader': 'true',
    },
  };
}

test('a write goes to the leader as its user, a read stays', async () => {
  two.leader.service.appliedIndex = 57;
  const write = await command(two.replica, 'write', {as: 'anna:anna-pass'});
  assert.equal(write.status, 200);
  const {stats, ...answered} = write.json as {readonly stats: unknown};
  assert.ok(stats);
  assert.deepEqual(answered, {
    user: 'anna',
    result: [{write: 1}],
    limit: 20_000,
    returned: 1,
    truncated: false,
  });
  assert.equal(write.headers.get('x-svc-commit-index'), '57');
  assert.equal(two.leader.service.writes, 1);
  assert.equal(two.replica.service.requests.length, 0);
  const read = await command(two.replica, 'rows 2', {
    headers: {'X-Svc-Read-Consistency': 'eventual'},
  });
  assert.equal(read.status, 200);
  assert.equal(two.leader.service.requests.length, 1);
  assert.equal(two.replica.service.requests.length, 1);
});

test('the answer of the leader comes as it is: errors, headers, long ones', async () => {
  const failed = await command(two.replica, 'write', {
    headers: {'X-Request-Id': 'mine'},
    body: {language: 'sql', command: 'write', retries: -1},
  });
  assert.equal(failed.status, 400);
  two.leader.service.beforeWrite = async () => {
    throw new Refusal('commit.duplicate-key', 'taken', {detail: {args: 'I|k|#1:0'}});
  };
  const taken = await command(two.replica, 'write', {headers: {'X-Request-Id': 'mine'}});
  assert.equal(taken.status, 409);
  assert.equal(taken.headers.get('x-request-id'), 'mine');
  assert.deepEqual(taken.json, {
    error: 'Found duplicate key in index',
    requestId: 'mine',
    exception: 'DuplicatedKeyException',
    exceptionArgs: 'I|k|#1:0',
    detail: 'taken',
  });
});

test('who was just elected holds what it is asked until it is ready', async () => {
  two.lead(undefined);
  const {cluster} = two.leader;
  cluster.isSettling = true;
  const relayed = command(two.leader, 'write', {...member('anna')});
  const own = command(two.leader, 'write');
  await eventually('both are held', () => cluster.waiting === 2);
  assert.equal(two.leader.service.writes, 0);
  cluster.isSettling = false;
  two.lead(two.leader);
  assert.equal((await relayed).status, 200);
  assert.equal((await own).status, 200);
  assert.equal(two.leader.service.writes, 2);
});

test('a write that meets a hand-over is carried out once, whoever leads then', async () => {
  const {cluster, service} = two.leader;
  service.beforeWrite = async () => {
    if (cluster.isSettling) throw leaderNeeded('the leadership is being handed over');
  };
  for (const stays of [true, false]) {
    cluster.isSettling = true;
    const write = command(two.leader, 'write');
    const relayed = command(two.replica, 'write');
    const before = service.writes + two.replica.service.writes;
    await eventually('both are held', () => cluster.waiting === 2);
    assert.equal(service.writes + two.replica.service.writes, before);
    cluster.isSettling = false;
    if (stays) cluster.changed();
    else two.lead(two.replica);
    assert.equal((await write).status, 200);
    assert.equal((await relayed).status, 200);
  }
  assert.equal(service.writes + two.replica.service.writes, 4);
});

test('a transaction of a replica is one of the leader', async () => {
  const begun = await two.replica.call('/begin/db', {body: ''});
  assert.equal(begun.status, 204);
  const id = begun.headers.get('svc-session-id') ?? '';
  assert.ok(two.leader.service.open.has(id));
  const inside = {headers: {'svc-session-id': id}};
  assert.equal((await command(two.replica, 'rows 1', inside)).status, 200);
  assert.equal(two.replica.service.requests.length, 0);
  assert.equal((await two.replica.call('/commit/db', {body: '', ...inside})).status, 204);
  // Told again for whom the first answer was lost.
  assert.equal((await two.replica.call('/commit/db', {body: '', ...inside})).status, 204);
  assert.equal((await command(two.replica, 'rows 1', inside)).status, 404);
});

test('users and databases are changed on the leader', async () => {
  assert.deepEqual((await two.replica.command('create database other')).json, {result: 'ok'});
  assert.ok(two.leader.service.databases.has('other'));
  assert.ok(!two.replica.service.databases.has('other'));
  const user = {name: 'carl', password: 'carl-pass', databases: {}};
  assert.equal((await two.replica.call('/server/users', {body: user})).status, 201);
  assert.ok(two.leader.security.principalOf('carl') !== undefined);
  const dropped = await two.replica.call('/server/users?name=carl', {method: 'DELETE'});
  assert.equal(dropped.status, 200);
  assert.equal(two.leader.security.principalOf('carl'), undefined);
  const denied = await two.replica.call('/server/users', {as: 'anna:anna-pass', body: user});
  assert.equal(denied.status, 403);
});

test('a bulk load streams through, larger than other bodies may be', async () => {
  const body = Buffer.alloc(3 << 20, 'x\n');
  const loaded = await two.replica.call('/batch/db', {body});
  assert.deepEqual(loaded.json, {bytes: body.length});
  const large = JSON.stringify({language: 'sql', command: `write ${'x'.repeat(4_000)}`});
  const refused = await command(two.replica, '', {body: large});
  assert.equal(refused.status, 413);
  assert.match(refused.text, /svc\.ha\.proxyMaxBodySize/);
});

test('without a leader a write waits for one, then says that nothing happened', async () => {
  two.lead(undefined);
  two.replica.set(leaderWait, 100);
  const nobody = await command(two.replica, 'write');
  assert.equal(nobody.status, 503);
  assert.equal(exceptionOf(nobody), 'ServerIsNotTheLeaderException');
  two.replica.set(leaderWait, 30_000);
  const waiting = command(two.replica, 'write');
  await eventually('it waits', () => two.replica.cluster.waiting === 1);
  two.lead(two.leader);
  assert.equal((await waiting).status, 200);
  assert.equal(two.leader.service.writes, 1);
});

test('a replica that becomes the leader carries out what it was to relay', async () => {
  two.lead(undefined);
  const waiting = command(two.replica, 'write');
  await eventually('it waits', () => two.replica.cluster.waiting === 1);
  two.lead(two.replica);
  assert.equal((await waiting).status, 200);
  assert.equal(two.replica.service.writes, 1);
});

test('a request is relayed once: what was relayed already is refused', async () => {
  two.replica.cluster.leader = {host: '127.0.0.1', port: two.leader.port};
  const relayed = await command(two.replica, 'write', member('root'));
  assert.equal(relayed.status, 409);
  assert.equal(exceptionOf(relayed), 'ServerIsNotTheLeaderException');
  assert.equal(relayed.headers.get('x-svc-leader'), `127.0.0.1:${two.leader.port}`);
  assert.equal(two.leader.service.writes, 0);
});

test('a leader that leads no more is asked once, then the next one', async () => {
  // The replica still takes the old leader for one.
  two.leader.cluster.isLeader = false;
  const {listening} = two.replica.cluster;
  const waiting = command(two.replica, 'write');
  await eventually('it waits for the next', () => two.replica.cluster.listening > listening);
  two.lead(two.replica);
  assert.equal((await waiting).status, 200);
  assert.equal(two.leader.service.writes, 0);
  assert.equal(two.replica.service.writes, 1);
});

test('two members that take each other for the leader refuse in time', async () => {
  two.lead(undefined);
  two.replica.cluster.leader = {host: '127.0.0.1', port: two.leader.port};
  two.leader.cluster.leader = {host: '127.0.0.1', port: two.replica.port};
  two.replica.set(leaderWait, 100);
  assert.equal((await command(two.replica, 'write')).status, 503);
  assert.equal(two.leader.service.writes + two.replica.service.writes, 0);
});

test('a leader that is not there: nothing happened', async () => {
  two.lead(undefined);
  two.replica.cluster.leader = {host: '127.0.0.1', port: 9};
  two.replica.set(leaderWait, 100);
  const answer = await command(two.replica, 'write');
  assert.equal(answer.status, 503);
  assert.equal(exceptionOf(answer), 'ServerIsNotTheLeaderException');
});

/** Takes requests and lets each connection meet its end. */
async function listening(onData: (socket: Socket) => void): Promise<NetServer & {port: number}> {
  const server = createServer(socket => {
    socket.on('data', () => onData(socket));
    socket.on('error', () => undefined);
  });
  await new Promise<void>(resolve => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  return Object.assign(server, {port: typeof address === 'object' ? (address?.port ?? 0) : 0});
}

for (const [how, end] of [
  ['falls silent', () => undefined],
  ['dies', (socket: Socket) => void socket.destroy()],
] as const) {
  test(`a leader that ${how} after it was asked: the outcome is unknown`, async () => {
    let asked = 0;
    const broken = await listening(socket => {
      asked++;
      // The next leader appears, and has all the time to answer.
      if (asked === 2) {
        two.replica.set('svc.ha.proxyCommandTimeout', 30_000);
        two.lead(two.leader);
      }
      end(socket);
    });
    try {
      two.lead(undefined);
      two.replica.set('svc.ha.proxyCommandTimeout', 100);
      two.replica.cluster.leader = {host: '127.0.0.1', port: broken.port};
      const answer = await command(two.replica, 'write');
      assert.equal(answer.status, 503);
      assert.equal(exceptionOf(answer), 'CommitOutcomeUnknownException');
      // With an id it is applied once, so the next leader is asked.
      const headers = {'X-Request-Id': 'once'};
      assert.equal((await command(two.replica, 'write', {headers})).status, 200);
      assert.equal(two.leader.service.writes, 1);
    } finally {
      broken.close();
    }
  });
}

test('a silent leader is given up when another one leads', async () => {
  const bothAsked = Promise.withResolvers<void>();
  let asked = 0;
  const silent = await listening(() => {
    asked++;
    if (asked === 2) bothAsked.resolve();
  });
  try {
    two.lead(undefined);
    two.replica.cluster.leader = {host: '127.0.0.1', port: silent.port};
    const plain = command(two.replica, 'write');
    const once = command(two.replica, 'write', {headers: {'X-Request-Id': 'once'}});
    await bothAsked.promise;
    two.lead(two.leader);
    assert.equal(exceptionOf(await plain), 'CommitOutcomeUnknownException');
    assert.equal((await once).status, 200);
    assert.equal(two.leader.service.writes, 1);
  } finally {
    silent.close();
  }
});

test('a client that goes away takes its request at the leader along', async () => {
  const gone = new AbortController();
  const asked = fetch(`http://127.0.0.1:${two.replica.port}/api/v1/command/db`, {
    method: 'POST',
    headers: {authorization: `Basic ${Buffer.from('root:root:pass:word').toString('base64')}`},
    body: JSON.stringify({language: 'sql', command: 'write'}),
    signal: gone.signal,
  });
  let ended = false;
  const {promise: begun, resolve} = Promise.withResolvers<void>();
  two.leader.service.beforeWrite = async () => {
    resolve();
    const {signal} = two.leader.service.requests.at(-1) ?? {};
    await new Promise<void>(end => {
      signal?.addEventListener('abort', () => end());
    });
    ended = true;
    throw new Refusal('query.terminated', 'the client is gone');
  };
  await begun;
  gone.abort();
  await assert.rejects(asked);
  await eventually('the leader drops the request', () => ended);
});

test('a leader that is deposed in front of the commit hands the write over', async () => {
  two.leader.service.beforeWrite = async () => {
    two.lead(two.replica);
    throw new Refusal('cluster.not-leader', 'not any more', {detail: {nothingStored: 1}});
  };
  assert.equal((await command(two.leader, 'write')).status, 200);
  assert.equal(two.replica.service.writes, 1);
  assert.equal(two.leader.service.writes, 0);
});

test('a leader that hands over comes to it while writes wait, for as long as they do', async () => {
  let refused = 0;
  two.leader.service.beforeWrite = async () => {
    refused += 1;
    // Nothing but the event loop brings the next leader.
    if (refused === 2) setImmediate(() => two.lead(two.replica));
    throw new Refusal('cluster.not-leader', 'handing over', {detail: {nothingStored: 1}});
  };
  assert.equal((await command(two.leader, 'write')).status, 200);
  assert.equal(two.replica.service.writes, 1);
  assert.ok(refused >= 2);

  two.lead(two.leader);
  two.leader.set(leaderWait, 100);
  const answer = await command(two.leader, 'write');
  assert.equal(answer.status, 409);
  assert.equal(two.replica.service.writes, 1);
});

test('what was stored in part is not handed over: the client is told', async () => {
  two.leader.service.beforeWrite = async () => {
    two.lead(two.replica);
    throw new Refusal('cluster.not-leader', 'after the first of two commits');
  };
  for (const asked of [two.replica, two.leader]) {
    two.lead(two.leader);
    const answer = await command(asked, 'write');
    assert.equal(answer.status, 409);
    assert.equal(exceptionOf(answer), 'ServerIsNotTheLeaderException');
    assert.equal(answer.headers.get('x-svc-leader'), null);
  }
  assert.equal(two.replica.service.writes, 0);
});

const keys = readFileSync(join(import.meta.dirname, '../../testing/fixtures/tls/localhost.pem'));

test('with HTTPS on, the leader is asked over it, and must be whom it says', async () => {
  const secured = {...settings, 'svc.ssl.enabled': true};
  const secure = await clusterOfTwo(secured, {authorities: () => [keys.toString('latin1')]});
  const strange = await clusterOfTwo(secured);
  try {
    for (const {leader, replica} of [secure, strange]) {
      const port = await leader.server.listenSecurely(
        '127.0.0.1',
        {from: 0, to: 0},
        {key: keys, cert: keys},
      );
      // The plain way is none.
      replica.cluster.leader = {host: 'localhost', port: 9};
      replica.cluster.setHttpsAddress({host: 'localhost', port});
    }
    assert.equal((await command(secure.replica, 'write')).status, 200);
    assert.equal((await command(secure.replica, 'write')).status, 200);
    assert.equal(secure.leader.service.writes, 2);
    strange.replica.set(leaderWait, 100);
    const untrusted = await command(strange.replica, 'write');
    assert.equal(exceptionOf(untrusted), 'ServerIsNotTheLeaderException');
    assert.equal(strange.leader.service.writes, 0);
  } finally {
    await Promise.all([secure.close(), strange.close()]);
  }
});

test('replaced authorities are believed from the next request on', async () => {
  const folder = join(import.meta.dirname, '../../testing/fixtures/tls/peers');
  let authorities = [readFileSync(join(folder, 'authority.pem'), 'latin1')];
  const secured = {...settings, 'svc.ssl.enabled': true};
  const renewed = await clusterOfTwo(secured, {authorities: () => authorities});
  const {leader, replica} = renewed;
  try {
    const ports = {from: 0, to: 0};
    const port = await leader.server.listenSecurely('127.0.0.1', ports, {key: keys, cert: keys});
    replica.cluster.leader = {host: 'localhost', port: 9};
    replica.cluster.setHttpsAddress({host: 'localhost', port});
    replica.set(leaderWait, 100);
    assert.equal(
      exceptionOf(await command(replica, 'write')),
      'ServerIsNotTheLeaderException',
      'the certificate is of nobody who is believed',
    );
    authorities = [keys.toString('latin1')];
    assert.equal((await command(replica, 'write')).status, 200);
  } finally {
    await renewed.close();
  }
});

test('without an address of HTTPS the leader is asked in clear, with one warning', async () => {
  const clear = await clusterOfTwo({...settings, 'svc.ssl.enabled': true});
  try {
    for (let count = 0; count < 2; count++) {
      assert.equal((await command(clear.replica, 'write')).status, 200);
    }
    const warnings = clear.replica.logged.filter(event => event === 'cluster.token-in-clear');
    assert.equal(warnings.length, 1);
  } finally {
    await clear.close();
  }
});

test('headers of members mean nothing without the token', async () => {
  const wrong = await command(two.leader, 'write', member('root', 'guess'));
  assert.equal(wrong.status, 401);
  const none = await command(two.leader, 'write', member('root', ''));
  assert.equal(none.status, 401);
  const unknown = await command(two.leader, 'write', member('nobody'));
  assert.equal(unknown.status, 401);
  assert.equal(two.leader.service.writes, 0);
  const posing = await command(two.leader, 'write', {
    as: 'anna:anna-pass',
    headers: {'X-Svc-Forwarded-User': 'root', 'X-Svc-Forwarded-To-Leader': 'true'},
  });
  assert.equal((posing.json as {readonly user: string}).user, 'anna');
  assert.ok(two.leader.logged.includes('cluster.untrusted'));
  const right = await command(two.leader, 'write', member('anna'));
  assert.equal((right.json as {readonly user: string}).user, 'anna');
});

test('a forged mark does not keep a replica from relaying, nor reach the leader', async () => {
  const answer = await command(two.replica, 'write', {
    headers: {'X-Svc-Forwarded-User': 'anna', 'X-Svc-Forwarded-To-Leader': 'true'},
  });
  assert.equal((answer.json as {readonly user: string}).user, 'root');
});

test('reads wait for the bookmark, and for what went through this server', async () => {
  const {service, cluster, logged} = two.replica;
  const read = (headers: Record<string, string>): Promise<HttpAnswer> =>
    two.replica.call('/query/db', {body: {language: 'sql', command: 'rows 1'}, headers});
  /** A read waits before it gets there. */
  const applies = async (index: number): Promise<void> => {
    await eventually('a read waits', () => cluster.waiting === 1);
    service.appliedIndex = index;
    cluster.changed();
  };
  let waiting = read({'X-Svc-Read-After': '50'});
  await applies(50);
  assert.equal((await waiting).headers.get('x-svc-commit-index'), '50');
  assert.ok(!logged.includes('read.behind'));

  two.leader.service.appliedIndex = 60;
  await command(two.replica, 'write');
  waiting = read({});
  await applies(60);
  assert.equal((await waiting).headers.get('x-svc-commit-index'), '60');

  await two.replica.call('/batch/db', {body: '', headers: {Accept: 'application/x-ndjson'}});
  waiting = read({});
  await applies(90);
  assert.equal((await waiting).headers.get('x-svc-commit-index'), '90');

  two.replica.set('svc.ha.quorumTimeout', 100);
  const late = await read({'X-Svc-Commit-Index': '99'});
  assert.equal(late.status, 200);
  assert.equal(late.headers.get('x-svc-commit-index'), '90');
  assert.ok(logged.includes('read.behind'));
  const eventual = await read({'X-Svc-Read-After': '99', 'X-Svc-Read-Consistency': 'eventual'});
  assert.equal(eventual.status, 200);
});

test('tools of agents at a replica read there, and write on the leader', async () => {
  const {cluster, service, agents, call} = two.replica;
  assert.equal(await agents.configure('{"enabled":true,"allowUpdate":true}'), undefined);
  const tool = (name: string, command: string, headers = {}): Promise<HttpAnswer> => {
    const given = {database: 'db', language: 'cypher', [name]: command};
    const params = {name: name === 'query' ? 'query' : 'execute_command', arguments: given};
    const body = {jsonrpc: '2.0', id: 1, method: 'tools/call', params};
    return call('/mcp', {body, headers});
  };
  const wrote = await tool('command', 'MATCH (w:Written) SET w.n = w.n + 1 RETURN w.n AS n');
  assert.match(wrote.text, /"isError":false|\\"n\\":1/);
  assert.equal(two.leader.service.requests.length, 1);
  assert.equal(service.requests.length, 0);
  const waiting = tool('query', 'RETURN 1 AS n', {'X-Svc-Read-After': '80'});
  await eventually('the read waits', () => cluster.waiting === 1);
  assert.equal(service.requests.length, 0);
  service.appliedIndex = 80;
  cluster.changed();
  assert.equal((await waiting).headers.get('x-svc-commit-index'), '80');
  assert.equal(service.requests.length, 1);
});

test('a linearizable read asks the quorum, on the leader too, and fails without it', async () => {
  for (const {call, set, cluster, service} of [two.leader, two.replica]) {
    const read = (): Promise<HttpAnswer> =>
      call('/query/db', {
        body: {language: 'sql', command: 'rows 1'},
        headers: {'X-Svc-Read-Consistency': 'linearizable'},
      });
    const alone = await read();
    assert.equal(alone.status, 503);
    assert.equal(exceptionOf(alone), 'QuorumNotReachedException');
    cluster.quorumIndex = 80;
    set('svc.ha.quorumTimeout', 100);
    assert.equal((await read()).status, 503);
    set('svc.ha.quorumTimeout', 30_000);
    service.appliedIndex = 80;
    assert.equal((await read()).status, 200);
  }
});
