/** What settings of a cluster do, seen on real clusters that were started with them. */
import assert from 'node:assert/strict';
import {existsSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {type ClusterSystem, type Member, untilLed} from '../cluster/cluster-system.ts';
import {calmElections, startSvcCluster, type SvcCluster} from '../cluster/svc-cluster.ts';
import {eventually} from '../time/eventually.ts';
import {freePort} from '../worlds/free-port.ts';
import {runSvc, type ServerProcess, startServer, temporaryRoot} from '../worlds/server-process.ts';
import {AskedServer} from './asked-server.ts';

const folder = temporaryRoot('settings-secret');
const secret = join(folder, 'token');
writeFileSync(secret, 'the secret of the members\n');
/** Both beyond what a member would draw by default, 2 to 5 s. */
const patience = {'svc.ha.electionTimeoutMin': 6_000, 'svc.ha.electionTimeoutMax': 6_500};
const narrow = {'svc.ha.groupCommitQueueSize': 4, 'svc.ha.logVerbose': 3};

const [strict, patient] = await Promise.all([
  startSvcCluster({
    size: 3,
    settings: {
      ...patience,
      ...narrow,
      'svc.ha.clusterName': 'effects',
      'svc.ha.clusterTokenPath': secret,
      'svc.ha.quorum': 'all',
      'svc.ha.quorumTimeout': 5_000,
      'svc.ha.appendElementLimit': 2,
      'svc.ha.groupCommitOfferTimeout': 0,
      'svc.ha.appendBufferSize': '1MB',
      'svc.ha.grpcMessageSizeMax': '2MB',
      'svc.ha.groupCommitMaxQueuedBytes': '2MB',
    },
  }),
  startSvcCluster({
    size: 2,
    settings: {
      ...calmElections,
      ...narrow,
      'svc.ha.groupCommitBatchSize': 1,
      'svc.ha.groupCommitOfferTimeout': 30_000,
      'svc.ha.quorumTimeout': 60_000,
    },
  }),
]);
after(async () => {
  await Promise.all([strict.dispose(), patient.dispose()]);
  rmSync(folder, {recursive: true});
});

/** Sends statements at once, so that their commits meet; answers the refusals. */
async function flood(cluster: SvcCluster): Promise<readonly unknown[]> {
  const client = cluster.clientOf(await untilLed(cluster));
  await client.createDatabase('music');
  await client.command('music', 'CREATE DOCUMENT TYPE Artist');
  const inserts = Array.from({length: 100}, (_, at) =>
    client.command('music', `INSERT INTO Artist SET n = ${at}`).then(
      () => undefined,
      (error: unknown) => error,
    ),
  );
  return (await Promise.all(inserts)).filter(error => error !== undefined);
}

/** Most entries of a message to another member. */
function entriesMax(cluster: ClusterSystem): number {
  const lines = cluster.members.flatMap(({name}) =>
    readFileSync(join(cluster.folder, `${name}.log`), 'utf8').split('\n'),
  );
  const counts = lines.flatMap(line => /"peer\.sent".*"entries":(\d+)/.exec(line)?.[1] ?? []);
  return Math.max(...counts.map(Number));
}

test('svc.ha.groupCommitQueueSize and OfferTimeout: a full queue refuses or waits', async () => {
  assert.match((await flood(strict)).join('\n'), /too many commits wait for a majority/);
  assert.deepEqual(await flood(patient), []);
});

test('svc.ha.appendElementLimit and groupCommitBatchSize bound what travels together', () => {
  assert.ok(entriesMax(strict) <= 2);
  // A commit, and perhaps what the leader itself has put into the log before.
  assert.ok(entriesMax(patient) <= 2);
});

test('svc.ha.appendBufferSize is the largest commit', async () => {
  const client = strict.clientOf(await untilLed(strict));
  const insert = (bytes: number): Promise<unknown> =>
    client.command('music', `INSERT INTO Artist SET text = '${'x'.repeat(bytes)}'`);
  await insert(900_000);
  await assert.rejects(insert(1_100_000), {status: 413});
});

test('svc.ha.clusterName and clusterTokenPath: who has them is a member, nobody else', async () => {
  const [first] = strict.members;
  const {clusterName} = await strict.clientOf(first as Member).cluster('GET', '');
  assert.equal(clusterName, 'effects');
  for (const [token, status] of [
    ['the secret of the members', 200],
    ['another one', 401],
  ] as const) {
    const answer = await fetch(`${first?.url}/api/v1/cluster/bootstrap-state`, {
      method: 'POST',
      headers: {'X-Svc-Cluster-Token': token},
    });
    assert.equal(answer.status, status);
  }
});

test('svc.ha.electionTimeoutMin and TimeoutMax: a silent leader is waited for', async () => {
  const leader = await untilLed(strict);
  const begin = performance.now();
  // Its quorum is every member: both others have heard the leader since the beginning.
  await strict.clientOf(leader).command('music', 'INSERT INTO Artist SET n = 1');
  leader.process.freeze();
  const asked = strict.members.find(member => member !== leader) as Member;
  const {host} = new URL(leader.url);
  try {
    await eventually('another one leads', async () => {
      const {leaderHttpAddress} = await strict.clientOf(asked).cluster('GET', '');
      return leaderHttpAddress !== null && leaderHttpAddress !== host;
    });
    assert.ok(performance.now() - begin > 5_500);
  } finally {
    leader.process.thaw();
    await untilLed(strict);
  }
});

test('svc.ha.quorum all: a commit without one of three members is refused', async () => {
  const leader = await untilLed(strict);
  await strict.members.find(member => member !== leader)?.process.kill();
  const client = strict.clientOf(leader);
  await assert.rejects(client.command('music', 'INSERT INTO Artist SET n = 1'), {
    status: 503,
    exception: 'CommitOutcomeUnknownException',
  });
});

test('svc.ha.groupCommitMaxQueuedBytes is what may wait for a majority', async () => {
  const client = strict.clientOf(await untilLed(strict));
  const text = 'x'.repeat(800_000);
  const inserts = Array.from({length: 4}, () =>
    client.command('music', `INSERT INTO Artist SET text = '${text}'`).then(
      () => 'done',
      ({exception}: {readonly exception?: string}) => exception,
    ),
  );
  const outcomes = await Promise.all(inserts);
  assert.ok(outcomes.includes('CommitOutcomeUnknownException'), outcomes.join());
  assert.ok(outcomes.includes('ReplicationQueueFullException'), outcomes.join());
});

/** A member of the list `of`, whose first entries these servers are, on ports of their own. */
async function members(
  count: number,
  of: number,
  settings: Readonly<Record<string, string | number | boolean>>,
): Promise<readonly ServerProcess[]> {
  const raft = await Promise.all(Array.from({length: of}, () => freePort()));
  const list = raft.map((port, at) => `svc_${at}@127.0.0.1:{raft:${port}}`).join();
  const starts = raft.slice(0, count).map(async (port, at) =>
    startServer({
      root: temporaryRoot('settings-forming'),
      port: await freePort(),
      settings: {
        'svc.server.name': `svc_${at}`,
        'svc.ha.serverList': list,
        'svc.ha.raftPort': port,
        ...settings,
      },
    }),
  );
  return await Promise.all(starts);
}

test('svc.ha.bootstrapTimeoutMs: most of a list form a cluster without the rest', async () => {
  const formed = await members(2, 3, {...calmElections, 'svc.ha.bootstrapTimeoutMs': 1_000});
  for (const server of formed) await server.dispose();
});

test('svc.ha.bootstrapFromLocalDatabase and raftPersistStorage: a beginning', async () => {
  const alone = await AskedServer.start();
  await alone.process.stop();
  const {root} = alone.process;
  const raft = await freePort();
  const start = async (settings: Readonly<Record<string, boolean>>): Promise<ServerProcess> =>
    startServer({
      root,
      port: await freePort(),
      settings: {
        'svc.ha.serverList': `svc_0@127.0.0.1:{raft:${raft}}`,
        'svc.ha.raftPort': raft,
        ...settings,
      },
    });
  const mark = join(root, 'raft-storage-svc_0/raft/of-an-earlier-start');
  const found = async (settings: Readonly<Record<string, boolean>>): Promise<readonly string[]> => {
    const server = await start(settings);
    const client = server.client();
    try {
      return await client.databases();
    } finally {
      client.close();
      await server.stop();
    }
  };
  try {
    assert.deepEqual(await found({}), ['db']);
    writeFileSync(mark, '');
    assert.deepEqual(await found({'svc.ha.raftPersistStorage': false}), ['db']);
    assert.ok(!existsSync(mark));
    const empty = {
      'svc.ha.raftPersistStorage': false,
      'svc.ha.bootstrapFromLocalDatabase': false,
    };
    assert.deepEqual(await found(empty), []);
    assert.match(readdirSync(join(root, 'databases')).join(), /set-aside-\d+-db/);
  } finally {
    await alone.dispose();
  }
});

test('svc.ha.clientElectionRetryCount, svc.ha.clientElectionRetryDelayMs: tries', async () => {
  let asked = 0;
  const electing = createServer((request, response) => {
    asked += 1;
    request.resume();
    response.writeHead(503, {'content-type': 'application/json'});
    response.end('{"error":"Cannot execute command","exception":"ServerIsNotTheLeaderException"}');
  });
  await new Promise<void>(resolve => electing.listen(0, '127.0.0.1', resolve));
  const {port} = electing.address() as AddressInfo;
  const environment = {
    SVC_URL: `http://127.0.0.1:${port}`,
    SVC_PASSWORD: 'any-password',
    SVC_HA_CLIENTELECTIONRETRYCOUNT: '4',
    SVC_HA_CLIENTELECTIONRETRYDELAYMS: '1',
  };
  const {code} = await runSvc(['database', 'create', 'music'], environment);
  electing.close();
  assert.notEqual(code, 0);
  assert.equal(asked, 5);
});
