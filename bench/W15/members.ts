/**
 * W15 with other members: what five cost beside three (processor time of all members for each
 * write), and what one follower that gets a hundredth of the time costs the clients of the others,
 * in their rate and in the leader's memory, and whether it catches up.
 */
import {type Member, untilLed} from '#server/testing/cluster/cluster-system.ts';
import type {SvcCluster} from '#server/testing/cluster/svc-cluster.ts';
import {type ClusterOutcome, startSvcBench, SvcPuts} from '../peers/clusters.ts';
import {memoryOf, warmUp} from '../processes.ts';
import type {Report} from '../report.ts';
import type {BenchOptions} from '../bench-options.ts';

const clients = 64;
/** The slow follower runs for this part of each period only. */
const awakeMillis = 3;
const periodMillis = 300;
const catchUpMillisMax = 60_000;
const durability = 'majority, fsync';

export async function replicatedMembers(report: Report, options: BenchOptions): Promise<void> {
  const three = await startSvcBench(3);
  const five = await startSvcBench(5).catch(async (error: unknown) => {
    await three.dispose();
    throw error;
  });
  try {
    const [small, large] = [new SvcPuts(three), new SvcPuts(five)];
    for (const side of [small, large]) {
      await warmUp(() => side.put(clients, options.seconds), {secondsMin: 8, secondsMax: 24});
    }
    await compareSizes(report, options, small, large);
    await slowFollower(report, options, three, small);
  } finally {
    await three.dispose();
    await five.dispose();
  }
}

async function compareSizes(
  report: Report,
  {rounds, seconds}: BenchOptions,
  small: SvcPuts,
  large: SvcPuts,
): Promise<void> {
  const found: [ClusterOutcome[], ClusterOutcome[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    found[0].push(await small.put(clients, seconds));
    found[1].push(await large.put(clients, seconds));
  }
  const [three, five] = found;
  const add = (
    point: string,
    unit: string,
    of: (outcome: ClusterOutcome) => number,
    gate: {at: 'least' | 'most'; bound: number},
  ): void =>
    report.add({
      class: 'W15',
      point: `five members, ${clients} clients, ${point}`,
      unit,
      ours: five.map(of),
      peer: 'own three',
      theirs: three.map(of),
      durability,
      gate,
    });
  add('processor time a write', 'us', one => one.cpuMicrosPerOp, {at: 'most', bound: 1.8});
  add('rate', 'ops/s', one => one.perSecond, {at: 'least', bound: 0.7});
}

async function slowFollower(
  report: Report,
  {rounds, seconds}: BenchOptions,
  cluster: SvcCluster,
  puts: SvcPuts,
): Promise<void> {
  const leader = await untilLed(cluster);
  const slow = cluster.members.find(member => member !== leader);
  if (slow === undefined) return;
  const [whole, slowed]: [number[], number[]] = [[], []];
  let peak = 0;
  for (let round = 0; round < rounds; round += 1) {
    whole.push((await puts.put(clients, seconds)).perSecond);
    const drag = new Drag(slow);
    slowed.push((await puts.put(clients, seconds)).perSecond);
    peak = Math.max(peak, memoryOf(leader.process.pid).resident);
    await drag.end();
  }
  const caughtUpAfter = await untilCaughtUp(cluster, puts.acknowledged, slow);
  report.add({
    class: 'W15',
    point: `one follower at ${awakeMillis} of ${periodMillis} ms, ${clients} clients, rate`,
    unit: 'ops/s',
    ours: slowed,
    peer: 'own three, whole',
    theirs: whole,
    durability,
    gate: {at: 'least', bound: 0.95},
    notes: {
      leaderMegabytesMost: Math.round(peak / 2 ** 20),
      caughtUpAfterMillis: Math.round(caughtUpAfter),
    },
  });
}

/** Lets a member run for a small part of the time. */
class Drag {
  readonly #member: Member;
  readonly #running: Promise<void>;
  #isOver = false;

  constructor(member: Member) {
    this.#member = member;
    this.#running = this.#run();
  }

  end(): Promise<void> {
    this.#isOver = true;
    return this.#running;
  }

  async #run(): Promise<void> {
    const {process} = this.#member;
    while (!this.#isOver) {
      process.thaw();
      await new Promise(resolve => setTimeout(resolve, awakeMillis));
      process.freeze();
      await new Promise(resolve => setTimeout(resolve, periodMillis - awakeMillis));
    }
    process.thaw();
  }
}

/** Milliseconds until the follower shows as many records as were acknowledged. */
async function untilCaughtUp(
  cluster: SvcCluster,
  acknowledged: number,
  member: Member,
): Promise<number> {
  const client = cluster.client(member);
  const startedAt = performance.now();
  try {
    for (;;) {
      const {result} = await client.query('bench', 'SELECT count(*) AS c FROM Ins');
      const took = performance.now() - startedAt;
      if (Number(result[0]?.['c']) === acknowledged) return took;
      if (took > catchUpMillisMax) {
        throw new Error(`${member.name} shows ${String(result[0]?.['c'])} of ${acknowledged}`);
      }
      await new Promise(resolve => setTimeout(resolve, 20));
    }
  } finally {
    client.close();
  }
}
