/**
 * The ledger client: writers work against a real server while it is killed with `kill -9`, again
 * and again, and after each start every one of their writes is accounted for.
 *
 * Each writer has keys of its own and inserts, updates and deletes records by single statements,
 * by transactions and by the bulk route, into a type with a unique index and one without (there
 * a write that is replayed twice would show as two records). `make crash CYCLES=200 SEED=1`.
 * The same seed gives the same choices; what the kernel and the timing make of them is theirs.
 */
import {auditLedger, createLedger} from './audit.ts';
import {reportBackupCrashes} from './backup-crash.ts';
import {type Finding, Ledger} from './ledger.ts';
import {Writer} from './writer.ts';
import {SeededRandom} from '../property/seeded-random.ts';
import {freePort} from '../worlds/free-port.ts';
import {type ServerProcess, startServer, temporaryRoot} from '../worlds/server-process.ts';

const writers = 8;
const killAfterMillis = {least: 40, most: 450} as const;
const reopenMillisMax = 2_000;

/** How a run is shaped. */
export interface CrashOptions {
  readonly cycles: number;
  readonly seed: number;
  /** Called with a line of progress after each cycle. */
  readonly onCycle?: (line: string) => void;
}

/** What a run found. */
export interface CrashReport {
  readonly cycles: number;
  readonly acknowledged: number;
  readonly unknown: number;
  readonly refused: number;
  readonly lost: number;
  readonly doubled: number;
  /** The time from the start of the process to ready, of the slowest start after a kill. */
  readonly slowestReopenMillis: number;
  readonly findings: readonly Finding[];
  /** Answers that neither acknowledge nor refuse: server errors nobody expects. */
  readonly surprises: readonly string[];
  /** Kept for a look when something was found, else removed. */
  readonly root: string;
}

/** Runs the cycles; throws only when the server does not come up or its data cannot be read. */
export async function runCrashes(options: CrashOptions): Promise<CrashReport> {
  const root = temporaryRoot('crash');
  const port = await freePort();
  const seeded = new SeededRandom(options.seed);
  const random = (below: number): number => seeded.below(below);
  const ledger = new Ledger();
  const crew = Array.from({length: writers}, (_, index) => new Writer(index, ledger, random));
  const findings: Finding[] = [];
  let slowestReopenMillis = 0;
  let server = await startServer({root, port});
  try {
    await server.asRoot(createLedger);
    for (let cycle = 1; cycle <= options.cycles && findings.length === 0; cycle += 1) {
      await workUntilKilled(server, crew, random);
      server = await startServer({root, port});
      slowestReopenMillis = Math.max(slowestReopenMillis, server.readyMillis);
      findings.push(...(await server.asRoot(client => auditLedger(client, ledger))));
      options.onCycle?.(
        `cycle ${cycle} of ${options.cycles}: acknowledged ${ledger.acknowledged}, ` +
          `unknown ${ledger.unknown}, reopened in ${Math.round(server.readyMillis)} ms`,
      );
    }
  } finally {
    await server.kill();
  }
  const surprises = crew.flatMap(writer => writer.surprises);
  if (findings.length === 0 && surprises.length === 0) await server.dispose();
  const kinds = (...wanted: Finding['kind'][]): number =>
    findings.filter(({kind}) => wanted.includes(kind)).length;
  return {
    cycles: options.cycles,
    acknowledged: ledger.acknowledged,
    unknown: ledger.unknown,
    refused: ledger.refused,
    lost: kinds('lost', 'torn'),
    doubled: kinds('doubled', 'resurrected'),
    slowestReopenMillis: Math.round(slowestReopenMillis),
    findings,
    surprises,
    root,
  };
}

/** Lets every writer work, kills the server at a moment that `random` chooses, and waits. */
async function workUntilKilled(
  server: ServerProcess,
  crew: readonly Writer[],
  random: (below: number) => number,
): Promise<void> {
  const client = server.client();
  const span = killAfterMillis.most - killAfterMillis.least;
  const moment = killAfterMillis.least + random(span);
  const running = Promise.allSettled(crew.map(writer => writer.work(client, () => false)));
  await new Promise(resolve => setTimeout(resolve, moment));
  await server.kill();
  const broken = (await running).find(outcome => outcome.status === 'rejected');
  client.close();
  if (broken !== undefined) throw broken.reason;
}

/** What `make crash` does. */
async function reportCrashes(cycles: number, seed: number): Promise<void> {
  const report = await runCrashes({
    cycles,
    seed,
    onCycle: line => process.stdout.write(`${line}\n`),
  });
  for (const {kind, key, says} of report.findings.slice(0, 50)) {
    process.stdout.write(`${kind} ${key}: ${says}\n`);
  }
  for (const surprise of new Set(report.surprises)) process.stdout.write(`surprise: ${surprise}\n`);
  const wrong = report.findings.length + report.surprises.length;
  if (wrong > 0) process.stdout.write(`the files are kept in ${report.root}\n`);
  process.stdout.write(
    `cycles ${report.cycles} acknowledged ${report.acknowledged} lost ${report.lost} ` +
      `doubled ${report.doubled} slowest reopen ${report.slowestReopenMillis} ms\n`,
  );
  if (wrong > 0 || report.slowestReopenMillis > reopenMillisMax) process.exitCode = 1;
}

if (import.meta.main) {
  // Make hands on empty variables for those nobody gave.
  const cycles = Number(process.env['CYCLES'] || 20);
  const seed = Number(process.env['SEED'] || Date.now() % 1_000_000);
  process.stdout.write(`seed ${seed}\n`);
  if (process.env['PROFILE'] === 'backup') await reportBackupCrashes(cycles, seed);
  else await reportCrashes(cycles, seed);
}
