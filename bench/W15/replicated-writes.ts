/**
 * W15: durable writes of one record each on three members, with 1, 64 and 256 clients, against
 * etcd: over its JSON gateway by the very client that drives ours (the gates), and over gRPC by
 * etcd's own client, which spares it the gateway (beside it, without a gate).
 *
 * Clients work at the leader, where both are fastest; a point with clients at all members shows
 * what forwarding costs. At the end each side must store exactly what it acknowledged.
 */
import assert from 'node:assert/strict';
import {
  type ClusterOutcome,
  EtcdGatewayPuts,
  EtcdGrpcPuts,
  type Puts,
  startEtcdBench,
  startSvcBench,
  SvcPuts,
} from '../peers/clusters.ts';
import {warmUp} from '../processes.ts';
import type {Gate, Report} from '../report.ts';
import type {BenchOptions} from '../bench-options.ts';

interface Point {
  readonly clients: number;
  readonly where: 'leader' | 'all';
  readonly rateGate?: Gate;
  readonly p50Gate?: Gate;
  readonly p99Gate?: Gate;
}

const points: readonly Point[] = [
  {clients: 1, where: 'leader', p50Gate: {at: 'most', bound: 0.8}},
  ...[64, 256].map(
    (clients): Point => ({
      clients,
      where: 'leader',
      rateGate: {at: 'least', bound: 2},
      p99Gate: {at: 'most', bound: 0.5},
    }),
  ),
  {clients: 64, where: 'all'},
];

export async function replicatedWrites(report: Report, options: BenchOptions): Promise<void> {
  const disposals: (() => Promise<void>)[] = [];
  try {
    report.say('W15: one record a commit on three members, durable on a majority; not pinned');
    const svc = await startSvcBench(3);
    disposals.push(() => svc.dispose());
    const etcd = await startEtcdBench(3);
    disposals.push(() => etcd.dispose());
    const ours = new SvcPuts(svc);
    const peers = [new EtcdGatewayPuts(etcd), new EtcdGrpcPuts(etcd)];
    await warmUp(() => ours.put(64, options.seconds), {secondsMin: 10, secondsMax: 30});
    for (const point of points) await measurePoint(report, options, {point, ours, peers});
    await assertBooks(report, ours, ours.acknowledged);
    const [gateway, grpc] = peers;
    assert(gateway !== undefined && grpc !== undefined);
    await assertBooks(report, gateway, gateway.acknowledged + grpc.acknowledged);
  } finally {
    for (const dispose of disposals.reverse()) await dispose();
  }
}

async function assertBooks(report: Report, side: Puts, acknowledged: number): Promise<void> {
  const stored = await side.count();
  assert.equal(stored, acknowledged, `${side.label} stores another number of keys`);
  report.say(`${side.cluster.label}: acknowledged ${acknowledged}, stored ${stored}`);
}

async function measurePoint(
  report: Report,
  {rounds, seconds}: BenchOptions,
  sides: {point: Point; ours: Puts; peers: readonly Puts[]},
): Promise<void> {
  const {point, ours, peers} = sides;
  const {clients, where} = point;
  // One client takes another way than many do, and few calls make it hot.
  await warmUp(() => ours.put(clients, seconds, where), {secondsMin: 8, secondsMax: 20});
  for (const peer of peers) {
    await warmUp(() => peer.put(clients, seconds, where), {secondsMin: 2, secondsMax: 6});
  }
  const ourRounds: ClusterOutcome[] = [];
  const peerRounds = peers.map((): ClusterOutcome[] => []);
  for (let round = 0; round < rounds; round += 1) {
    ourRounds.push(await ours.put(clients, seconds, where));
    for (const [index, peer] of peers.entries()) {
      peerRounds[index]?.push(await peer.put(clients, seconds, where));
    }
  }
  for (const [index, peer] of peers.entries()) {
    const theirs = peerRounds[index] ?? [];
    // The gates are against the peer by the same client.
    const gated = index === 0;
    const add = (
      what: string,
      unit: string,
      of: (outcome: ClusterOutcome) => number,
      gate: Gate | undefined,
    ): void =>
      report.add({
        class: 'W15',
        point: `${clients} ${clients === 1 ? 'client' : 'clients'} at ${where}, ${what}`,
        unit,
        ours: ourRounds.map(of),
        peer: peer.label,
        theirs: theirs.map(of),
        durability: 'majority, fsync both',
        cpuMicrosPerOpOurs: ourRounds.map(outcome => outcome.cpuMicrosPerOp),
        cpuMicrosPerOpTheirs: theirs.map(outcome => outcome.cpuMicrosPerOp),
        ...(gate === undefined || !gated ? {} : {gate}),
        notes: {
          operationsOurs: ourRounds.reduce((sum, {operations}) => sum + operations, 0),
          operationsTheirs: theirs.reduce((sum, {operations}) => sum + operations, 0),
        },
      });
    add('rate', 'ops/s', ({perSecond}) => perSecond, point.rateGate);
    add('p50', 'ms', ({p50Millis}) => p50Millis, point.p50Gate);
    add('p99', 'ms', ({p99Millis}) => p99Millis, point.p99Gate);
  }
}
