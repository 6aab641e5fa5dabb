/**
 * W17: reads of one record at a follower in the three modes, beside eventual reads there and
 * etcd's linearizable ones; and how long a client that has just written waits until a follower
 * shows its own write.
 *
 * One box cannot show that followers add capacity; the processor time of a read can be compared.
 */
import type {SvcCluster} from '#server/testing/cluster/svc-cluster.ts';
import {type ClusterSystem, type Member, untilLed} from '#server/testing/cluster/cluster-system.ts';
import {type ReadMode, readModes} from '#server/testing/cluster/history.ts';
import type {Outcome} from '../driver.ts';
import {
  addressesOf,
  cpuMicrosOfMembers,
  database,
  rootAuthorization,
  startEtcdBench,
  startSvcBench,
} from '../peers/clusters.ts';
import {etcdCall, etcdClient} from '#server/testing/cluster/etcd-cluster.ts';
import {drive, warmUp} from '../processes.ts';
import {type Gate, quantileOf, type Report} from '../report.ts';
import type {BenchOptions} from '../bench-options.ts';

type Read = Outcome & {readonly cpuMicrosPerOp: number};

const records = 1_000;
const clients = 32;
const waits = 500;
const durability = 'reads';

export async function followerReads(report: Report, options: BenchOptions): Promise<void> {
  const svc = await startSvcBench(3);
  const etcd = await startEtcdBench(3).catch(async (error: unknown) => {
    await svc.dispose();
    throw error;
  });
  try {
    await fill(svc, etcd);
    await warmUp(() => readSvc(svc, 'eventual', options), {secondsMin: 6, secondsMax: 20});
    await warmUp(() => readSvc(svc, 'linearizable', options), {secondsMin: 4, secondsMax: 12});
    await warmUp(() => readEtcd(etcd, options), {secondsMin: 2, secondsMax: 6});
    await rates(report, options, svc, etcd);
    await ownWrites(report, options, svc);
  } finally {
    await svc.dispose();
    await etcd.dispose();
  }
}

async function fill(svc: SvcCluster, etcd: ClusterSystem): Promise<void> {
  const client = svc.client(await untilLed(svc));
  const rows = Array.from({length: records}, (_, k) => `{"k": ${k}, "v": "${'x'.repeat(100)}"}`);
  await client.command(database, `INSERT INTO Ins CONTENT [${rows.join(', ')}]`);
  client.close();
  const other = etcdClient(await untilLed(etcd), 10_000);
  const value = Buffer.alloc(100, 'x').toString('base64');
  await etcdCall(other, 'kv/put', {key: 'AAAA', value});
  other.close();
}

async function follower(system: ClusterSystem): Promise<Member> {
  const leader = await untilLed(system);
  const found = system.members.find(member => member !== leader);
  if (found === undefined) throw new Error('a cluster of one');
  return found;
}

async function charged(system: ClusterSystem, work: () => Promise<Outcome>): Promise<Read> {
  const before = cpuMicrosOfMembers(system);
  const outcome = await work();
  const cpu = cpuMicrosOfMembers(system) - before;
  return {...outcome, cpuMicrosPerOp: cpu / Math.max(1, outcome.operations)};
}

async function readSvc(svc: SvcCluster, mode: ReadMode, {seconds}: BenchOptions): Promise<Read> {
  const member = await follower(svc);
  return charged(svc, () =>
    drive({
      ...addressesOf([member]),
      authorization: rootAuthorization,
      headers: `X-Svc-Read-Consistency: ${mode}\r\n`,
      path: `/api/v1/query/${database}`,
      before: '{"language":"sql","command":"SELECT v FROM Ins WHERE k = :k","params":{"k":',
      after: '}}',
      numbers: {kind: 'random', count: records, seed: 1},
      clients,
      millis: seconds * 1_000,
    }),
  );
}

async function readEtcd(etcd: ClusterSystem, {seconds}: BenchOptions): Promise<Read> {
  const member = await follower(etcd);
  return charged(etcd, () =>
    drive({
      ...addressesOf([member]),
      authorization: 'none',
      path: '/v3/kv/range',
      // The number is no part of the key: a limit that is never reached.
      before: '{"key":"AAAA","limit":',
      after: '}',
      numbers: {kind: 'sequence', start: 10, stride: 0},
      clients,
      millis: seconds * 1_000,
    }),
  );
}

async function rates(
  report: Report,
  options: BenchOptions,
  svc: SvcCluster,
  etcd: ClusterSystem,
): Promise<void> {
  const found = new Map<ReadMode | 'etcd', Read[]>();
  for (let round = 0; round < options.rounds; round += 1) {
    for (const mode of readModes) {
      found.set(mode, [...(found.get(mode) ?? []), await readSvc(svc, mode, options)]);
    }
    found.set('etcd', [...(found.get('etcd') ?? []), await readEtcd(etcd, options)]);
  }
  const add = (mode: ReadMode, peer: ReadMode | 'etcd', gate: Gate | undefined): void => {
    const [ours, theirs] = [found.get(mode) ?? [], found.get(peer) ?? []];
    report.add({
      class: 'W17',
      point: `${mode} reads at a follower, ${clients} clients`,
      unit: 'ops/s',
      ours: ours.map(({perSecond}) => perSecond),
      peer: peer === 'etcd' ? 'etcd linearizable (JSON gateway)' : `own ${peer}`,
      theirs: theirs.map(({perSecond}) => perSecond),
      durability,
      cpuMicrosPerOpOurs: ours.map(one => one.cpuMicrosPerOp),
      cpuMicrosPerOpTheirs: theirs.map(one => one.cpuMicrosPerOp),
      ...(gate === undefined ? {} : {gate}),
      notes: {p99MillisOurs: ours.map(({p99Millis}) => Number(p99Millis.toFixed(2)))},
    });
  };
  add('read_your_writes', 'eventual', undefined);
  add('linearizable', 'eventual', {at: 'least', bound: 0.6});
  add('linearizable', 'etcd', undefined);
}

/** A write at the leader, then a read of it at a follower, behind the write's bookmark. */
async function ownWrites(report: Report, options: BenchOptions, svc: SvcCluster): Promise<void> {
  const leader = svc.client(await untilLed(svc));
  const other = svc.client(await follower(svc));
  const headers = {'Content-Type': 'application/json'};
  const insert = 'INSERT INTO Ins SET k = :k';
  const p99s: number[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    const times: number[] = [];
    for (let index = 0; index < waits; index += 1) {
      const k = 1_000_000 + round * waits + index;
      const command = JSON.stringify({language: 'sql', command: insert, params: {k}});
      const path = `/api/v1/command/${database}`;
      const written = await leader.send({
        method: 'POST',
        path,
        headers,
        body: command,
        again: false,
      });
      const bookmark = String(written.headers['x-svc-commit-index'] ?? '');
      const query = {language: 'sql', command: 'SELECT k FROM Ins WHERE k = :k', params: {k}};
      const startedAt = performance.now();
      const answer = await other.send({
        method: 'POST',
        path: `/api/v1/query/${database}`,
        headers: {...headers, 'X-Svc-Read-After': bookmark},
        body: JSON.stringify(query),
        again: false,
      });
      times.push(performance.now() - startedAt);
      if (!answer.text.includes(`"k":${k}`)) throw new Error(`not my write: ${answer.text}`);
    }
    p99s.push(quantileOf(times, 0.99));
  }
  leader.close();
  other.close();
  report.add({
    class: 'W17',
    point: 'own write read at a follower, p99',
    unit: 'ms',
    ours: p99s,
    peer: '',
    theirs: [],
    durability: 'majority, fsync',
    gate: {at: 'most', bound: 5},
    notes: {reads: options.rounds * waits},
  });
}
