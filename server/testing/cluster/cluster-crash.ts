/**
 * `make cluster-crash CYCLES=100 SEED=1`: the ledger's writers work at all members of a cluster
 * while members are killed with `kill -9`, the leader most often, sometimes all; after each time
 * every write is accounted for, and all members must hold the same. Beside them transfer clients of
 * a bank move money, and no member may show another sum at any time.
 *
 * Exit code 1 when a write is lost or doubled, members differ, or a member answers what nobody
 * expects; the files are kept then. SIZE=5 starts five members.
 */
import type {Client} from '#server/client/client.ts';
import {auditLedger, createLedger} from '../crash/audit.ts';
import {type Finding, Ledger} from '../crash/ledger.ts';
import {ledgerDatabase, Writer} from '../crash/writer.ts';
import {SeededRandom} from '../property/seeded-random.ts';
import {openAccounts, TransferClient} from './transfers-workload.ts';
import {findLeader, type Member, untilLed} from './cluster-system.ts';
import {startSvcCluster, type SvcCluster} from './svc-cluster.ts';

export interface ClusterCrashOptions {
  readonly size: number;
  readonly cycles: number;
  readonly seed: number;
  readonly onCycle?: (line: string) => void;
}

export interface ClusterCrashReport {
  readonly cycles: number;
  readonly kills: number;
  readonly acknowledged: number;
  readonly unknown: number;
  readonly refused: number;
  /** Transfers of the bank, and looks at all its accounts. */
  readonly transfers: number;
  readonly looks: number;
  readonly findings: readonly Finding[];
  readonly surprises: readonly string[];
  /** Kept for a look when something was found, else removed. */
  readonly folder: string;
}

const writers = 8;
const transferClients = 4;
const answerMillisMax = 15_000;
/** Times from the start of work to the kill, to the start of who was killed, to the end. */
const beforeKillMillis = {least: 30, most: 300} as const;
const deadMillis = {least: 50, most: 800} as const;
const afterStartMillis = {least: 0, most: 300} as const;

/** Runs the cycles; throws only when the cluster does not come up or cannot be read. */
export async function runClusterCrashes(options: ClusterCrashOptions): Promise<ClusterCrashReport> {
  const random = new SeededRandom(options.seed);
  const cluster = await startSvcCluster({
    size: options.size,
    settings: {'svc.ha.readConsistency': 'linearizable'},
  });
  const ledger = new Ledger();
  const crew = Array.from(
    {length: writers},
    (_, index) => new Writer(index, ledger, below => random.below(below)),
  );
  const clients: TransferClient[] = [];
  const findings: Finding[] = [];
  let kills = 0;
  let cycle = 0;
  try {
    await createLedger(cluster.clientOf(await untilLed(cluster)));
    const openedAt = await openAccounts(cluster.clientOf(await untilLed(cluster)));
    while (clients.length < transferClients) {
      clients.push(new TransferClient(below => random.below(below), openedAt));
    }
    for (cycle = 1; cycle <= options.cycles && findings.length === 0; cycle += 1) {
      kills += await workThroughKills(cluster, [...crew, ...clients], random);
      findings.push(...clients.flatMap(client => client.findings.splice(0)));
      const leader = await untilLed(cluster);
      // The leader first: what it holds settles what was unknown, and the others must hold it too.
      for (const member of [leader, ...cluster.members.filter(one => one !== leader)]) {
        findings.push(...(await auditLedger(cluster.clientOf(member), ledger)));
      }
      findings.push(...(await differences(cluster.clientOf(leader))));
      options.onCycle?.(
        `cycle ${cycle} of ${options.cycles}: kills ${kills}, acknowledged ` +
          `${ledger.acknowledged}, unknown ${ledger.unknown}, refused ${ledger.refused}; ` +
          `transfers ${sumOf(clients, 'transfers')}, looks ${sumOf(clients, 'looks')}`,
      );
    }
  } finally {
    const isClean = findings.length === 0 && cycle > options.cycles;
    await cluster.dispose(!isClean);
  }
  return {
    cycles: cycle - 1,
    kills,
    acknowledged: ledger.acknowledged,
    unknown: ledger.unknown,
    refused: ledger.refused,
    transfers: sumOf(clients, 'transfers'),
    looks: sumOf(clients, 'looks'),
    findings,
    surprises: [...crew, ...clients].flatMap(({surprises}) => surprises),
    folder: cluster.folder,
  };
}

function sumOf(clients: readonly TransferClient[], what: 'transfers' | 'looks'): number {
  return clients.reduce((sum, client) => sum + client[what], 0);
}

/** Everybody works, moving on where a member goes away; answers how many were killed. */
async function workThroughKills(
  cluster: SvcCluster,
  crew: readonly (Writer | TransferClient)[],
  random: SeededRandom,
): Promise<number> {
  const clients = cluster.members.map(member => cluster.client(member, answerMillisMax));
  let isOver = false;
  const working = crew.map(async worker => {
    while (!isOver) await worker.work(random.pick(clients), () => isOver);
  });
  const wait = ({least, most}: {least: number; most: number}): Promise<void> =>
    new Promise(resolve => setTimeout(resolve, least + random.below(most - least)));
  let killed = 0;
  try {
    await wait(beforeKillMillis);
    const victims = await chooseVictims(cluster, random);
    await Promise.all(victims.map(({process}) => process.kill()));
    await wait(deadMillis);
    for (const {process} of victims) process.start();
    await wait(afterStartMillis);
    killed = victims.length;
  } finally {
    isOver = true;
    await Promise.allSettled(working);
    for (const client of clients) client.close();
  }
  await Promise.all(working);
  return killed;
}

/** The leader half of the time; at times all members together. */
async function chooseVictims(
  cluster: SvcCluster,
  random: SeededRandom,
): Promise<readonly Member[]> {
  if (random.once(10)) return cluster.members;
  const leader = await findLeader(cluster);
  if (leader !== undefined && random.once(2)) return [leader];
  return [random.pick(cluster.members)];
}

/** What the members hold, down to the last byte of its meaning, compared by themselves. */
async function differences(client: Client): Promise<Finding[]> {
  const path = `/api/v1/cluster/verify/${ledgerDatabase}`;
  const answer = await client.send({method: 'POST', path, again: true});
  if (answer.status === 200 && answer.text.includes('"ALL_CONSISTENT"')) return [];
  const says = `not the same: status ${answer.status} ${answer.text.slice(0, 500)}`;
  return [{kind: 'torn', key: 'members', says}];
}

if (import.meta.main) {
  const environment = process.env;
  const cycles = Number(environment['CYCLES'] || 20);
  const seed = Number(environment['SEED'] || Date.now() % 1_000_000);
  process.stdout.write(`seed ${seed}\n`);
  const report = await runClusterCrashes({
    size: Number(environment['SIZE'] || 3),
    cycles,
    seed,
    onCycle: line => process.stdout.write(`${line}\n`),
  });
  for (const {kind, key, says} of report.findings.slice(0, 50)) {
    process.stdout.write(`${kind} ${key}: ${says}\n`);
  }
  for (const surprise of new Set(report.surprises)) process.stdout.write(`surprise: ${surprise}\n`);
  const kinds = (...wanted: Finding['kind'][]): number =>
    report.findings.filter(({kind}) => wanted.includes(kind)).length;
  const isWrong = report.findings.length + report.surprises.length > 0;
  if (isWrong) process.stdout.write(`the files are kept in ${report.folder}\n`);
  process.stdout.write(
    `cycles ${report.cycles} kills ${report.kills} acknowledged ${report.acknowledged} ` +
      `lost ${kinds('lost', 'torn')} doubled ${kinds('doubled', 'resurrected')}\n`,
  );
  if (isWrong) process.exitCode = 1;
}
