/**
 * `make simulate PROFILE=storage SEED=1 [HOURS=2]`: runs worlds from a seed on and prints their
 * traces; a failing one is shrunk and printed as the options that repeat it.
 *
 * The profile `storage` first takes every crash point of some histories and prints how many those
 * are, and goes on until there were 10,000 crashes and recoveries. Without HOURS the other runs ten
 * worlds. HOURS are those of the clock on the wall, for the profiles `raft` and `cluster` those
 * that their groups live through. The first ten traces are printed, so that one seed can be
 * compared with itself.
 */
import {clusterWorldOf, clusterWorlds} from './cluster/cluster-world.ts';
import {eachCrashPoint, storageHistories} from './crash-points.ts';
import {raftWorldOf, raftWorlds} from './raft/raft-world.ts';
import {failureOf, type Shrinkable, shrink} from './shrink.ts';
import {storageWorlds, type WorldOptions, type WorldReport} from './world.ts';

interface Report {
  readonly traceHash: string;
  readonly simulatedMs: number;
  readonly operations: number;
  readonly operationsByKind: ReadonlyMap<string, number>;
  readonly faults: ReadonlyMap<string, number>;
}

interface Profile {
  /** Runs the world of a seed, or shrinks one that fails. */
  readonly run: (seed: number) => Promise<Report>;
  readonly explain: (seed: number, error: unknown) => Promise<void>;
  readonly hours: 'real' | 'simulated';
  /** What a run does at least, without hours. */
  readonly least: {readonly worlds: number} | {readonly crashes: number};
  /** What goes before the worlds; throws when something does not hold. */
  readonly prelude?: (seed: number, totals: Totals) => Promise<void>;
}

const profiles: Readonly<Record<string, Profile>> = {
  storage: profileOf(
    {hours: 'real', least: {crashes: 10_000}, prelude: takeCrashPoints},
    storageWorlds,
    reportStorage,
    (seed): WorldOptions => ({
      seed,
      lives: 12,
      clients: 4,
      operationsPerClient: 25,
      endings: ['power-loss', 'kill', 'clean-stop'],
      syncFailurePercent: 15,
      diskFullPercent: 10,
      clockJumpPercent: 20,
      ...(seed % 3 === 0 ? {raisedInLife: 1 + (seed % 12)} : {foldedClients: seed % 3}),
    }),
  ),
  raft: profileOf(
    {hours: 'simulated', least: {worlds: 10}},
    raftWorlds,
    report => report,
    raftWorldOf,
  ),
  cluster: profileOf(
    {hours: 'simulated', least: {worlds: 10}},
    clusterWorlds,
    report => report,
    clusterWorldOf,
  ),
};
const tracesPrinted = 10;
/** The time between two lines on how far a run is. */
const progressMs = 30_000;
/** Two of the fates that what was pending may have at each crash point. */
const fates = [11, 12];
/** The ends of lives that were none of the server's own requested. */
const crashNames: ReadonlySet<string> = new Set(['crash in an operation', 'power-loss', 'kill']);

interface Totals {
  worlds: number;
  crashes: number;
  operations: number;
  simulatedMs: number;
  readonly kinds: Map<string, number>;
  readonly faults: Map<string, number>;
}

async function main(profileName: string, firstSeed: number, hours: number): Promise<number> {
  const profile = profiles[profileName];
  if (profile === undefined) {
    print(`there is no profile '${profileName}': use one of ${Object.keys(profiles).join(', ')}`);
    return 2;
  }
  const startedAt = performance.now();
  const totals: Totals = {
    worlds: 0,
    crashes: 0,
    operations: 0,
    simulatedMs: 0,
    kinds: new Map(),
    faults: new Map(),
  };
  await profile.prelude?.(firstSeed, totals);
  let toldAt = startedAt;
  const isEnough = (): boolean => {
    if (hours === 0) return hasDone(profile.least, totals);
    const realMs = performance.now() - startedAt;
    return (profile.hours === 'real' ? realMs : totals.simulatedMs) >= hours * 3_600_000;
  };
  for (let seed = firstSeed; !isEnough(); seed++) {
    try {
      const report = await profile.run(seed);
      add(totals, report);
      if (seed - firstSeed < tracesPrinted) print(`seed ${seed} trace ${report.traceHash}`);
      const now = performance.now();
      if (now - toldAt < progressMs) continue;
      toldAt = now;
      tellProgress(totals, now - startedAt);
    } catch (error) {
      await profile.explain(seed, error);
      return 1;
    }
  }
  summarise(totals, performance.now() - startedAt);
  return 0;
}

function hasDone(least: Profile['least'], totals: Totals): boolean {
  return 'worlds' in least ? totals.worlds >= least.worlds : totals.crashes >= least.crashes;
}

async function takeCrashPoints(seed: number, totals: Totals): Promise<void> {
  for (const [name, history] of Object.entries(storageHistories)) {
    let crashPoints = 0;
    for await (const report of eachCrashPoint({...history, seed}, fates)) {
      // The first one is the whole history.
      if (crashPoints === 0) crashPoints = report.operations;
      add(totals, reportStorage(report));
    }
    print(`${name}: ${crashPoints} crash points, ${fates.length} fates each, all hold`);
  }
}

function profileOf<Options, Result>(
  shape: Pick<Profile, 'hours' | 'least' | 'prelude'>,
  worlds: Shrinkable<Options, Result>,
  reportOf: (result: Result) => Report,
  optionsOf: (seed: number) => Options,
): Profile {
  return {
    ...shape,
    run: async seed => reportOf(await worlds.run(optionsOf(seed))),
    explain: (seed, error) => explain(worlds, seed, optionsOf(seed), error),
  };
}

function reportStorage(report: WorldReport): Report {
  const outcomes = Object.entries(report.outcomes).map(
    ([outcome, count]) => [`commit ${outcome}`, count] as const,
  );
  return {...report, operationsByKind: new Map([...report.operationsByKind, ...outcomes])};
}

function add(totals: Totals, report: Report): void {
  totals.worlds++;
  totals.operations += report.operations;
  totals.simulatedMs += report.simulatedMs;
  for (const [kind, count] of report.operationsByKind) bump(totals.kinds, kind, count);
  for (const [fault, count] of report.faults) {
    bump(totals.faults, fault, count);
    if (crashNames.has(fault)) totals.crashes += count;
  }
}

function bump(counts: Map<string, number>, name: string, by: number): void {
  counts.set(name, (counts.get(name) ?? 0) + by);
}

function summarise(totals: Totals, realMs: number): void {
  const list = (counts: ReadonlyMap<string, number>) =>
    [...counts]
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, count]) => `${name} ${count}`)
      .join(', ');
  print(`${totals.worlds} worlds, ${totals.operations} operations: ${list(totals.kinds)}`);
  print(`faults: ${list(totals.faults)}`);
  const simulated = (totals.simulatedMs / 1000).toFixed(1);
  const ratio = (totals.simulatedMs / realMs).toFixed(1);
  print(`${simulated} s simulated in ${(realMs / 1000).toFixed(1)} s (${ratio}x)`);
  if (totals.crashes > 0) print(`${totals.crashes} crashes and recoveries, nothing violated`);
}

async function explain<Options>(
  worlds: Shrinkable<Options>,
  seed: number,
  options: Options,
  error: unknown,
): Promise<void> {
  print(`seed ${seed} FAILS: ${error instanceof Error ? error.stack : String(error)}`);
  const failure = await failureOf(worlds, options);
  if (failure === undefined) {
    print('it does not fail a second time: something outside the seed decides');
    return;
  }
  const shrunk = await shrink(worlds, options, failure);
  print(`shrunk over ${shrunk.worldsTried} worlds to ${JSON.stringify(shrunk.options)}`);
  print(`which fails with: ${shrunk.failure.message}`);
}

/** Writes progress to the error stream, so that it does not mix with the result. */
function tellProgress({worlds, simulatedMs}: Totals, realMs: number): void {
  const hours = (simulatedMs / 3_600_000).toFixed(1);
  const minutes = (realMs / 60_000).toFixed(1);
  process.stderr.write(`${worlds} worlds hold, ${hours} h simulated in ${minutes} min\n`);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

const {PROFILE: profileName = 'storage', SEED: seed = '1', HOURS: hours = '0'} = process.env;
process.exitCode = await main(profileName, Number(seed), Number(hours) || 0);
