/**
 * W16: how long nobody's write is accepted when the leader goes: killed (`kill -9`), silent
 * (`SIGSTOP`, with equal timers on both sides), or asked to hand over, beside etcd in one run.
 *
 * From the moment of the signal, writes race at every survivor, each given up after 400 ms and
 * sent anew; the first that is accepted ends the measurement. Then the member comes back and the
 * cluster is whole again before the next.
 */
import type {Client} from '#server/client/client.ts';
import {type ClusterSystem, type Member, untilLed} from '#server/testing/cluster/cluster-system.ts';
import {etcdCall, etcdClient} from '#server/testing/cluster/etcd-cluster.ts';
import type {SvcCluster} from '#server/testing/cluster/svc-cluster.ts';
import {
  database,
  EtcdGatewayPuts,
  startEtcdBench,
  startSvcBench,
  SvcPuts,
} from '../peers/clusters.ts';
import type {Gate, Report} from '../report.ts';
import type {BenchOptions} from '../bench-options.ts';

/** A cluster and how it is written to and asked to hand over. */
export interface Side {
  readonly label: string;
  readonly cluster: ClusterSystem;
  connect(member: Member, timeoutMillis: number): Client;
  /** Writes a fresh key; throws when it was not accepted. */
  write(client: Client, key: number): Promise<void>;
  handOver(leader: Member): Promise<void>;
}

const probeMillisMax = 400;
const probePauseMillis = 2;
const settleMillis = 300;
const gapMillisMax = 60_000;
/** The election timeout after silence, for both: etcd's default. */
const electionMillis = 1_000;
const writers = 16;
let lastKey = 0;

export async function failover(report: Report, options: BenchOptions): Promise<void> {
  const disposals: (() => Promise<void>)[] = [];
  try {
    const etcd = await startEtcdBench(3);
    disposals.push(() => etcd.dispose());
    const theirs = etcdSide(etcd);
    const svc = await startSvcBench(3);
    disposals.push(() => svc.dispose());
    const ours = svcSide(svc);
    await warm(ours, theirs, options);
    await killed(report, options, ours, theirs);
    await handedOver(report, options, ours, theirs);
    await svc.dispose();
    const tuned = await startSvcBench(3, {
      'svc.ha.electionTimeoutMin': electionMillis,
      'svc.ha.electionTimeoutMax': 2 * electionMillis,
    });
    disposals.push(() => tuned.dispose());
    await silenced(report, options, svcSide(tuned), theirs);
  } finally {
    for (const dispose of disposals.reverse()) await dispose();
  }
}

export function svcSide(cluster: SvcCluster): Side {
  return {
    label: 'svc',
    cluster,
    connect: (member, timeoutMillis) => cluster.client(member, timeoutMillis),
    write: async (client, k) => {
      const params = {k, v: 'x'.repeat(100)};
      await client.command(database, 'INSERT INTO Ins SET k = :k, v = :v', {params});
    },
    handOver: async leader => {
      const client = cluster.client(leader);
      const path = '/api/v1/cluster/stepdown';
      const answer = await client.send({method: 'POST', path, body: '{}', again: false});
      client.close();
      if (answer.status !== 200) throw new Error(`no step-down: ${answer.text}`);
    },
  };
}

function etcdSide(cluster: ClusterSystem): Side {
  const value = Buffer.alloc(100, 'x').toString('base64');
  return {
    label: 'etcd',
    cluster,
    connect: etcdClient,
    write: async (client, k) => {
      await etcdCall(client, 'kv/put', {key: Buffer.from(`k${k}`).toString('base64'), value});
    },
    handOver: async leader => {
      const other = cluster.members.find(member => member !== leader);
      if (other === undefined) return;
      const [from, to] = [etcdClient(leader, 5_000), etcdClient(other, 5_000)];
      const status = await etcdCall(to, 'maintenance/status', {});
      const targetID = (status['header'] as {member_id: string}).member_id;
      await etcdCall(from, 'maintenance/transfer-leadership', {targetID});
      from.close();
      to.close();
    },
  };
}

async function warm(ours: Side, theirs: Side, {seconds}: BenchOptions): Promise<void> {
  await new SvcPuts(ours.cluster as SvcCluster).put(16, 5 * seconds, 'all');
  await new EtcdGatewayPuts(theirs.cluster).put(16, seconds, 'all');
}

async function killed(report: Report, options: BenchOptions, ours: Side, theirs: Side) {
  const [mine, peers] = await alternately(options.rounds, ours, theirs, killedGap);
  add(report, 'leader killed', mine, peers, {at: 'most', bound: 0.15});
  report.add({
    class: 'W16',
    point: 'leader killed, longest',
    unit: 'ms',
    ours: [Math.max(...mine)],
    peer: 'etcd',
    theirs: [],
    durability: 'majority, fsync both',
    gate: {at: 'most', bound: 500},
    notes: {kills: mine.length, theirsLongest: Math.max(...peers)},
  });
}

async function silenced(report: Report, options: BenchOptions, ours: Side, theirs: Side) {
  const freeze = async ({process}: Member): Promise<void> => process.freeze();
  const mend = async ({process}: Member): Promise<void> => process.thaw();
  const rounds = Math.max(1, Math.ceil(options.rounds / 3));
  const [mine, peers] = await alternately(rounds, ours, theirs, side => gap(side, freeze, mend));
  add(report, 'leader silent, equal timers', mine, peers, {at: 'most', bound: 1});
}

async function handedOver(report: Report, options: BenchOptions, ours: Side, theirs: Side) {
  const [mine, peers] = await alternately(options.rounds, ours, theirs, handOverGap);
  add(report, 'planned step-down, longest gap of 16 writers', mine, peers, undefined);
  report.add({
    class: 'W16',
    point: 'planned step-down, longest of all',
    unit: 'ms',
    ours: [Math.max(...mine)],
    peer: 'etcd',
    theirs: [],
    durability: 'majority, fsync both',
    gate: {at: 'most', bound: 50},
    notes: {times: mine.length, theirsLongest: Math.max(...peers)},
  });
}

function add(
  report: Report,
  point: string,
  ours: readonly number[],
  theirs: readonly number[],
  gate: Gate | undefined,
): void {
  report.add({
    class: 'W16',
    point,
    unit: 'ms',
    ours,
    peer: 'etcd',
    theirs,
    durability: 'majority, fsync both',
    ...(gate === undefined ? {} : {gate}),
    notes: {allOurs: ours.map(Math.round), allTheirs: theirs.map(Math.round)},
  });
}

async function alternately(
  rounds: number,
  ours: Side,
  theirs: Side,
  measure: (side: Side) => Promise<number>,
): Promise<[number[], number[]]> {
  const found: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    found[0].push(await measure(ours));
    found[1].push(await measure(theirs));
  }
  return found;
}

/** Milliseconds from the leader's kill to the first accepted write; it is started again then. */
export function killedGap(side: Side): Promise<number> {
  const kill = async (leader: Member): Promise<void> => leader.process.kill();
  return gap(side, kill, async ({process}) => process.start());
}

/** Milliseconds from the leader's end to the first accepted write at a survivor. */
async function gap(
  side: Side,
  end: (leader: Member) => Promise<void>,
  mend: (leader: Member) => Promise<void>,
): Promise<number> {
  const leader = await untilLed(side.cluster);
  await pause(settleMillis);
  const survivors = side.cluster.members.filter(member => member !== leader);
  const clients = survivors.map(member => side.connect(member, probeMillisMax));
  // The connections stand before the clock starts.
  for (const client of clients) await untilWritten(side, client);
  const ending = end(leader);
  const startedAt = performance.now();
  let isOver = false;
  const probes = clients.map(async client => {
    while (!isOver && performance.now() - startedAt < gapMillisMax) {
      try {
        await side.write(client, (lastKey += 1));
        return performance.now() - startedAt;
      } catch {
        await pause(probePauseMillis);
      }
    }
    return Number.NaN;
  });
  const millis = await Promise.any(probes);
  isOver = true;
  await ending;
  await mend(leader);
  await Promise.allSettled(probes);
  for (const client of clients) client.close();
  if (Number.isNaN(millis)) throw new Error(`${side.label}: no write in ${gapMillisMax} ms`);
  return millis;
}

/** Tries until a write is accepted. */
async function untilWritten(side: Side, client: Client): Promise<void> {
  for (const deadline = performance.now() + gapMillisMax; ; ) {
    try {
      return await side.write(client, (lastKey += 1));
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await pause(probePauseMillis);
    }
  }
}

/** The longest time without an acknowledged write while the leader hands over under load. */
export async function handOverGap(side: Side): Promise<number> {
  const leader = await untilLed(side.cluster);
  const {members} = side.cluster;
  const clients = Array.from({length: writers}, (_, index) =>
    side.connect(members[index % members.length] ?? leader, 10_000),
  );
  const answered: number[] = [];
  let isOver = false;
  const working = clients.map(async client => {
    while (!isOver) {
      try {
        await side.write(client, (lastKey += 1));
        answered.push(performance.now());
      } catch {
        await pause(probePauseMillis);
      }
    }
  });
  await pause(settleMillis);
  const from = performance.now();
  await side.handOver(leader);
  await untilLed(side.cluster);
  await pause(settleMillis);
  isOver = true;
  await Promise.all(working);
  for (const client of clients) client.close();
  const times = answered.filter(time => time >= from - settleMillis);
  return times.reduce((longest, time, at) => Math.max(longest, time - (times[at - 1] ?? time)), 0);
}

function pause(millis: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, millis));
}
