/**
 * `make simulate PROFILE=storage SEED=1 [HOURS=2]`: runs worlds from a seed on and prints their
 * traces; a failing one is shrunk and printed as the options that repeat it.
 *
 * Without HOURS it runs ten worlds, so that the same seed twice can be compared by eye. HOURS are
 * those of the clock on the wall, for the profile `raft` those that its groups live through.
 */
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
}

const profiles: Readonly<Record<string, Profile>> = {
  storage: profileOf(
    'real',
    storageWorlds,
    reportStorage,
    (seed): WorldOptions => ({
      seed,
      lives: 6,
      clients: 5,
      operationsPerClient: 50,
      endings: ['power-loss', 'kill', 'clean-stop'],
      syncFailurePercent: 15,
      diskFullPercent: 10,
    }),
  ),
  raft: profileOf('simulated', raftWorlds, report => report, raftWorldOf),
};
const worldsDefault = 10;

interface Totals {
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
  const totals: Totals = {operations: 0, simulatedMs: 0, kinds: new Map(), faults: new Map()};
  for (let seed = firstSeed; ; seed++) {
    try {
      const report = await profile.run(seed);
      add(totals, report);
      if (hours === 0) print(`seed ${seed} trace ${report.traceHash}`);
    } catch (error) {
      await profile.explain(seed, error);
      return 1;
    }
    const realMs = performance.now() - startedAt;
    const livedMs = profile.hours === 'real' ? realMs : totals.simulatedMs;
    const worlds = seed - firstSeed + 1;
    if (hours === 0 ? worlds < worldsDefault : livedMs < hours * 3_600_000) continue;
    summarise(totals, worlds, realMs);
    return 0;
  }
}

function profileOf<Options, Result>(
  hours: Profile['hours'],
  worlds: Shrinkable<Options, Result>,
  reportOf: (result: Result) => Report,
  optionsOf: (seed: number) => Options,
): Profile {
  return {
    hours,
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
  totals.operations += report.operations;
  totals.simulatedMs += report.simulatedMs;
  for (const [kind, count] of report.operationsByKind) bump(totals.kinds, kind, count);
  for (const [fault, count] of report.faults) bump(totals.faults, fault, count);
}

function bump(counts: Map<string, number>, name: string, by: number): void {
  counts.set(name, (counts.get(name) ?? 0) + by);
}

function summarise(totals: Totals, worlds: number, realMs: number): void {
  const list = (counts: ReadonlyMap<string, number>) =>
    [...counts]
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, count]) => `${name} ${count}`)
      .join(', ');
  print(`${worlds} worlds, ${totals.operations} operations: ${list(totals.kinds)}`);
  print(`faults: ${list(totals.faults)}`);
  const simulated = (totals.simulatedMs / 1000).toFixed(1);
  const ratio = (totals.simulatedMs / realMs).toFixed(1);
  print(`${simulated} s simulated in ${(realMs / 1000).toFixed(1)} s (${ratio}x)`);
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

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

const {PROFILE: profileName = 'storage', SEED: seed = '1', HOURS: hours = '0'} = process.env;
process.exitCode = await main(profileName, Number(seed), Number(hours) || 0);
