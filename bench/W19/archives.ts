/**
 * W19: a backup at level 1 on two threads and the way back, beside the reference system, which does
 * both by the same commands, and beside `pg_basebackup` and `pg_restore`, in the same run.
 *
 * A rate is the size of the records over the time, so that a system that stores them in less is
 * paid for it. Everything runs on all processors; the archives of all are read from memory.
 */
import {rmSync, statSync} from 'node:fs';
import {join} from 'node:path';
import {type PostgreSql, startPostgreSql} from '../peers/postgresql.ts';
import {startReference} from '../peers/reference.ts';
import {startSvc} from '../peers/svc.ts';
import type {Target} from '../peers/target.ts';
import {cpuMicrosOf, memoryOf} from '../processes.ts';
import {median, type Report} from '../report.ts';
import {database, Items} from './items.ts';
import type {BenchOptions} from '../bench-options.ts';

const roundsMax = 3;
const threads = 2;
const copy = 'copy';

/** Seconds of one round, and processor time of the server for it, also in seconds. */
interface Round {
  readonly backup: number;
  readonly restore: number;
  readonly cpuOfBackup: number;
  readonly cpuOfRestore: number;
}

interface Peer {
  readonly label: string;
  readonly backupLabel: string;
  readonly restoreLabel: string;
  readonly round: () => Promise<Round>;
  readonly rounds: Round[];
}

export async function archives(report: Report, options: BenchOptions): Promise<void> {
  const {megabytes} = options;
  report.say(`W19: ${megabytes} MB of records, level 1, ${threads} threads`);
  const items = new Items(megabytes);
  const ours = await startSvc({pin: false});
  const reference = await startReference(false);
  const postgresql = await startPostgreSql(false);
  try {
    for (const target of [ours, ...(reference === undefined ? [] : [reference])]) {
      await items.fill(target);
      report.say(`${target.label} is filled`);
    }
    if (reference === undefined) report.say('the reference system is not here: it is left out');
    await items.fillPostgreSql(postgresql);
    const peers: Peer[] = [
      serverPeer(ours, items),
      ...(reference === undefined ? [] : [serverPeer(reference, items)]),
      postgresqlPeer(postgresql),
    ];
    // The first round compiles, and takes memory for files from the system.
    for (let round = 0; round <= Math.min(roundsMax, options.rounds); round += 1) {
      const order = round % 2 === 0 ? peers : peers.toReversed();
      for (const peer of order) {
        const measured = await peer.round();
        report.say(`${round} ${peer.label} ${JSON.stringify(measured)}`);
        if (round > 0) peer.rounds.push(measured);
      }
    }
    tell(report, megabytes, peers, memoryOf(ours.pid).peak);
  } finally {
    await ours.dispose();
    await reference?.dispose();
    await postgresql.stop();
  }
}

function tell(
  report: Report,
  megabytes: number,
  [ours, ...others]: readonly Peer[],
  peak: number,
): void {
  const of = (peer: Peer | undefined, what: keyof Round): number[] =>
    (peer?.rounds ?? []).map(round => round[what]);
  const rates = (peer: Peer | undefined, what: keyof Round): number[] =>
    of(peer, what).map(seconds => megabytes / seconds);
  const cpu = (peer: Peer | undefined, what: keyof Round): number[] =>
    of(peer, what).map(seconds => (seconds * 1e6) / megabytes);
  for (const other of others) {
    for (const [what, spent, peer] of [
      ['backup', 'cpuOfBackup', other.backupLabel],
      ['restore', 'cpuOfRestore', other.restoreLabel],
    ] as const) {
      report.add({
        class: 'W19',
        point: `${what} of ${megabytes} MB`,
        unit: 'MB/s',
        ours: rates(ours, what),
        peer,
        theirs: rates(other, what),
        durability: 'synced by us and by PostgreSQL',
        cpuMicrosPerOpOurs: cpu(ours, spent),
        cpuMicrosPerOpTheirs: cpu(other, spent),
        notes: {peakMegabytes: Math.round(peak / 1e6)},
      });
    }
  }
  // The bound is on a pair: both of one peer, whichever is the easier one to keep up with.
  const pairs = others.map(other => ({
    peer: other.label,
    ratio: Math.min(
      median(ratios(of(other, 'backup'), of(ours, 'backup'))),
      median(ratios(of(other, 'restore'), of(ours, 'restore'))),
    ),
  }));
  report.add({
    class: 'W19',
    point: 'the lesser of backup and restore, against either peer',
    unit: 'x',
    ours: [Math.max(...pairs.map(({ratio}) => ratio))],
    peer: '',
    theirs: [],
    durability: 'synced by us and by PostgreSQL',
    gate: {at: 'least', bound: 1},
    notes: {aim: 1.5, pairs},
  });
}

function ratios(theirs: readonly number[], ours: readonly number[]): number[] {
  return theirs.map((seconds, round) => seconds / (ours[round] ?? Number.NaN));
}

/** Ours and the reference system's, by statement and server command. */
function serverPeer(target: Target, items: Items): Peer {
  const {client, label} = target;
  let isChecked = false;
  return {
    label,
    backupLabel: label,
    restoreLabel: label,
    rounds: [],
    async round() {
      const how = `compressionLevel = 1, compressionThreads = ${threads}`;
      const statement = `BACKUP DATABASE WITH ${how}`;
      const made = await timed(target.pid, () => client.command(database, statement));
      const file = String(made.value.result[0]?.['backupFile']);
      const command = `restore backup ${database} ${file} as ${copy}`;
      const brought = await timed(target.pid, () => client.serverCommand(command));
      if (!isChecked) await items.check(target, copy);
      isChecked = true;
      await client.dropDatabase(copy);
      await client.serverCommand(`delete backup ${database} ${file}`);
      return {
        backup: made.seconds,
        cpuOfBackup: made.cpuSeconds,
        restore: brought.seconds,
        cpuOfRestore: brought.cpuSeconds,
      };
    },
  };
}

/** @param pid - Whose processor time counts. */
async function timed<T>(pid: number, work: () => Promise<T>) {
  const cpuBefore = cpuMicrosOf(pid);
  const startedAt = performance.now();
  const value = await work();
  const seconds = (performance.now() - startedAt) / 1_000;
  return {value, seconds, cpuSeconds: (cpuMicrosOf(pid) - cpuBefore) / 1e6};
}

/** Its tools do a part of the work in processes of their own: no processor time is told. */
function postgresqlPeer({tool, folder, sql, label}: PostgreSql): Peer {
  const archive = join(folder, 'base');
  const dump = join(folder, 'dump');
  return {
    label,
    backupLabel: 'pg_basebackup',
    restoreLabel: 'pg_restore',
    rounds: [],
    async round() {
      const startedAt = performance.now();
      const compress = ['-Ft', '--compress=server-gzip:1', '--checkpoint=fast'];
      await tool('pg_basebackup', ['-D', archive, ...compress]);
      const backup = (performance.now() - startedAt) / 1_000;
      rmSync(archive, {recursive: true});
      const untold = {cpuOfBackup: Number.NaN, cpuOfRestore: Number.NaN};
      return {backup, restore: await restored(), ...untold};
    },
  };

  /** Two jobs, as deflating has two threads; data first, the key afterwards, as the tool does. */
  async function restored(): Promise<number> {
    if (!isFile(dump)) await tool('pg_dump', ['-Fc', '-Z1', '-f', dump, '-t', 'item', 'postgres']);
    await sql(`CREATE DATABASE ${copy}`);
    const startedAt = performance.now();
    await tool('pg_restore', ['-j', String(threads), '-d', copy, dump]);
    const seconds = (performance.now() - startedAt) / 1_000;
    await sql(`DROP DATABASE ${copy}`);
    return seconds;
  }
}

function isFile(path: string): boolean {
  return statSync(path, {throwIfNoEntry: false})?.isFile() === true;
}
