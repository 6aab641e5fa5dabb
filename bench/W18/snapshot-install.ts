/**
 * W18: a member that lost its disk takes everything from another one, beside `cp` and fsync of the
 * same files on the same file system; what that leaves to writers; and what is sent again when the
 * member is killed half-way.
 *
 * The figure is from the first request to the last rename, as the member's log tells it: it has
 * the making of the checkpoint, the check of what was received and the swap of directories in it.
 * All members share one disk and the processors here, as `cp` has both for itself.
 */
import {randomBytes} from 'node:crypto';
import {closeSync, fsyncSync, openSync, readdirSync, rmSync, statSync} from 'node:fs';
import {join} from 'node:path';
import {type Member, untilLed} from '#server/testing/cluster/cluster-system.ts';
import type {SvcCluster} from '#server/testing/cluster/svc-cluster.ts';
import {cpuMicrosOfMembers, database, startSvcBench, SvcPuts} from '../peers/clusters.ts';
import {runProgram} from '../processes.ts';
import type {Report} from '../report.ts';
import type {BenchOptions} from '../bench-options.ts';

const rowBytes = 60_000;
const rowsAtOnce = 32;
const fillers = 3;
const writers = 16;
const installMillisMax = 300_000;
const pollMillis = 5;
const settings = {
  // The log forgets soon what is in the databases: who was away needs a snapshot.
  'svc.ha.logSegmentSize': 16 << 20,
  'svc.ha.logPurgeGap': 0,
  'svc.ha.healthCheckInterval': 1_000,
};
const durability = 'all files synced';

/** What a member's log says of one install. */
interface Install {
  readonly seconds: number;
  readonly fetchSeconds: number;
  readonly bytes: number;
  readonly bytesReceived: number;
}

export async function snapshotInstall(report: Report, options: BenchOptions): Promise<void> {
  const cluster = await startSvcBench(3, settings);
  try {
    await fill(cluster, options.megabytes);
    const member = await followerOf(cluster);
    await speed(report, options, cluster, member);
    await besideWriters(report, options, cluster, member);
    await interrupted(report, options, cluster, member);
  } finally {
    await cluster.dispose();
  }
}

async function followerOf(cluster: SvcCluster): Promise<Member> {
  const leader = await untilLed(cluster);
  const member = cluster.members.find(one => one !== leader);
  if (member === undefined) throw new Error('a cluster of one');
  return member;
}

/** Rows of text that does not compress by much. */
async function fill(cluster: SvcCluster, megabytes: number): Promise<void> {
  const client = cluster.client(await untilLed(cluster));
  await client.command(database, 'CREATE DOCUMENT TYPE Load');
  let left = Math.ceil((megabytes * 1e6) / (rowBytes * rowsAtOnce));
  const work = async (): Promise<void> => {
    while (left-- > 0) {
      const rows = Array.from({length: rowsAtOnce}, () => `{"v": "${randomText()}"}`);
      await client.command(database, `INSERT INTO Load CONTENT [${rows.join(', ')}]`);
    }
  };
  await Promise.all(Array.from({length: fillers}, work));
  client.close();
}

function randomText(): string {
  return randomBytes((rowBytes / 4) * 3).toString('base64');
}

async function speed(
  report: Report,
  {rounds}: BenchOptions,
  cluster: SvcCluster,
  member: Member,
): Promise<void> {
  const [ours, theirs, cpu]: [number[], number[], number[]] = [[], [], []];
  const installs: Install[] = [];
  const copies = async (): Promise<void> => {
    theirs.push(await copyRate(cluster, await untilLed(cluster)));
  };
  for (let round = 0; round < rounds; round += 1) {
    await loseDisk(cluster, member);
    // Whoever comes first writes into memory that the machine has to find, which takes a virtual
    // one several times as long.
    if (round % 2 === 1) await copies();
    // Of the others: this member does not run. Its start is counted with the install.
    const before = cpuMicrosOfMembers(cluster);
    const install = await installed(member, () => member.process.start());
    const used = cpuMicrosOfMembers(cluster) - before;
    installs.push(install);
    ours.push(install.bytes / 1e6 / install.seconds);
    cpu.push(used / (install.bytes / 1e6));
    // While it runs it puts its files in order.
    await member.process.kill();
    if (round % 2 === 0) await copies();
  }
  member.process.start();
  await untilLed(cluster);
  report.add({
    class: 'W18',
    point: `install of ${Math.round((installs[0]?.bytes ?? 0) / 1e6)} MB`,
    unit: 'MB/s',
    ours,
    peer: 'cp + fsync',
    theirs,
    durability,
    cpuMicrosPerOpOurs: cpu,
    gate: {at: 'least', bound: 0.7},
    notes: {
      fetchSeconds: installs.map(({fetchSeconds}) => fetchSeconds),
      seconds: installs.map(({seconds}) => seconds),
    },
  });
}

async function loseDisk(cluster: SvcCluster, member: Member): Promise<void> {
  await member.process.kill();
  const root = join(cluster.folder, member.name);
  for (const name of readdirSync(root)) rmSync(join(root, name), {recursive: true});
}

/** `cp` of the member's databases to beside it, every file and directory synced; MB/s. */
async function copyRate(cluster: SvcCluster, member: Member): Promise<number> {
  const source = join(cluster.folder, member.name, 'databases', database);
  const target = join(cluster.folder, 'copy');
  rmSync(target, {recursive: true, force: true});
  const startedAt = performance.now();
  await runProgram(['cp', '-r', source, target]);
  for (const name of ['.', ...readdirSync(target)]) sync(join(target, name));
  const seconds = (performance.now() - startedAt) / 1_000;
  const bytes = bytesIn(target);
  rmSync(target, {recursive: true});
  return bytes / 1e6 / seconds;
}

function sync(path: string): void {
  const file = openSync(path, 'r');
  fsyncSync(file);
  closeSync(file);
}

/** Sums the bytes of all files below a directory that may come and go meanwhile. */
function bytesIn(directory: string): number {
  try {
    return readdirSync(directory, {recursive: true, withFileTypes: true})
      .filter(entry => entry.isFile())
      .reduce((sum, {parentPath, name}) => sum + statSync(join(parentPath, name)).size, 0);
  } catch {
    return 0;
  }
}

async function besideWriters(
  report: Report,
  {rounds, seconds}: BenchOptions,
  cluster: SvcCluster,
  member: Member,
): Promise<void> {
  const puts = new SvcPuts(cluster);
  const [alone, beside]: [number[], number[]] = [[], []];
  const installs: Install[] = [];
  await puts.put(writers, seconds);
  for (let round = 0; round < rounds; round += 1) {
    alone.push((await puts.put(writers, seconds)).perSecond);
    await loseDisk(cluster, member);
    const since = Date.now();
    member.process.start();
    await untilEvent(member, since, 'snapshot.fetching');
    const [install, outcome] = await Promise.all([
      installed(member, () => undefined, since),
      puts.put(writers, seconds),
    ]);
    installs.push(install);
    beside.push(outcome.perSecond);
    await untilLed(cluster);
  }
  report.add({
    class: 'W18',
    point: `${writers} writers beside an install`,
    unit: 'ops/s',
    ours: beside,
    peer: 'own, without',
    theirs: alone,
    durability: 'majority, fsync',
    gate: {at: 'least', bound: 0.8},
    notes: {installSeconds: installs.map(one => one.seconds), measuredSeconds: seconds},
  });
}

/** Killed when half is there: how much more than the other half comes afterwards. */
async function interrupted(
  report: Report,
  {rounds}: BenchOptions,
  cluster: SvcCluster,
  member: Member,
): Promise<void> {
  const resent: number[] = [];
  const databases = join(cluster.folder, member.name, 'databases');
  const whole = bytesIn(join(databases, database));
  for (let round = 0; round < rounds; round += 1) {
    await loseDisk(cluster, member);
    member.process.start();
    const staged = await untilHalf(member, databases, whole);
    const {bytes, bytesReceived} = await installed(member, () => member.process.start());
    await untilLed(cluster);
    resent.push((100 * Math.max(0, bytesReceived - (bytes - staged))) / bytes);
  }
  report.add({
    class: 'W18',
    point: 'sent again after a kill half-way',
    unit: '%',
    ours: resent,
    peer: '',
    theirs: [],
    durability,
    gate: {at: 'most', bound: 5},
  });
}

/** Kills the member when half of its snapshot is there; how many bytes that were. */
async function untilHalf(member: Member, databases: string, whole: number): Promise<number> {
  const deadline = performance.now() + installMillisMax;
  while (bytesIn(databases) < whole / 2) {
    if (performance.now() > deadline) throw new Error(`no half of it:\n${member.process.log}`);
    await new Promise(resolve => setTimeout(resolve, pollMillis));
  }
  await member.process.kill();
  return bytesIn(databases);
}

interface LogLine {
  readonly time: string;
  readonly event: string;
  readonly bytes?: number;
  readonly bytesReceived?: number;
}

async function installed(
  member: Member,
  begin: () => void,
  since: number = Date.now(),
): Promise<Install> {
  begin();
  const end = await untilEvent(member, since, 'snapshot.installed');
  const begun = await untilEvent(member, since, 'snapshot.fetching');
  const fetched = await untilEvent(member, since, 'snapshot.fetched');
  return {
    seconds: (Date.parse(end.time) - Date.parse(begun.time)) / 1_000,
    fetchSeconds: (Date.parse(fetched.time) - Date.parse(begun.time)) / 1_000,
    bytes: fetched.bytes ?? Number.NaN,
    bytesReceived: fetched.bytesReceived ?? Number.NaN,
  };
}

/** The first such line of the member's log after a moment. */
async function untilEvent(member: Member, since: number, event: string): Promise<LogLine> {
  const deadline = performance.now() + installMillisMax;
  for (;;) {
    for (const text of member.process.log.split('\n')) {
      if (!text.includes(`"${event}"`) || !text.endsWith('}')) continue;
      const line = JSON.parse(text) as LogLine;
      if (Date.parse(line.time) >= since) return line;
    }
    if (performance.now() > deadline) throw new Error(`no ${event}:\n${member.process.log}`);
    await new Promise(resolve => setTimeout(resolve, pollMillis));
  }
}
