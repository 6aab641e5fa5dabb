/**
 * `make simulate PROFILE=storage SEED=1 [HOURS=2]`: runs worlds from a seed on and prints their
 * traces; a failing one is shrunk and printed as the options that repeat it.
 *
 * Without HOURS it runs ten worlds, so that the same seed twice can be compared by eye.
 */
import {failureOf, shrink} from './shrink.ts';
import {World, type WorldOptions, type WorldReport} from './world.ts';

const profiles: Readonly<Record<string, Omit<WorldOptions, 'seed'>>> = {
  storage: {
    lives: 6,
    clients: 5,
    operationsPerClient: 50,
    endings: ['power-loss', 'kill', 'clean-stop'],
    syncFailurePercent: 15,
    diskFullPercent: 10,
  },
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
  const until = startedAt + hours * 3_600_000;
  const totals: Totals = {operations: 0, simulatedMs: 0, kinds: new Map(), faults: new Map()};
  for (let seed = firstSeed; ; seed++) {
    const options = {...profile, seed};
    const world = new World(options);
    try {
      const report = await world.run();
      add(totals, report);
      if (hours === 0) print(`seed ${seed} trace ${report.traceHash}`);
    } catch (error) {
      await explain(options, error);
      return 1;
    }
    const enough = hours === 0 ? seed - firstSeed + 1 >= worldsDefault : performance.now() >= until;
    if (!enough) continue;
    summarise(totals, seed - firstSeed + 1, performance.now() - startedAt);
    return 0;
  }
}

function add(totals: Totals, report: WorldReport): void {
  totals.operations += report.operations;
  totals.simulatedMs += report.simulatedMs;
  for (const [kind, count] of report.operationsByKind) bump(totals.kinds, kind, count);
  for (const [fault, count] of report.faults) bump(totals.faults, fault, count);
  for (const [outcome, count] of Object.entries(report.outcomes)) {
    bump(totals.kinds, `commit ${outcome}`, count);
  }
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

async function explain(options: WorldOptions, error: unknown): Promise<void> {
  print(`seed ${options.seed} FAILS: ${error instanceof Error ? error.stack : String(error)}`);
  const failure = await failureOf(options);
  if (failure === undefined) {
    print('it does not fail a second time: something outside the seed decides');
    return;
  }
  const shrunk = await shrink(options, failure);
  print(`shrunk over ${shrunk.worldsTried} worlds to ${JSON.stringify(shrunk.options)}`);
  print(`which fails with: ${shrunk.failure.message}`);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

const [profileName = 'storage', seed = '1', hours = '0'] = process.argv.slice(2);
process.exitCode = await main(profileName, Number(seed), Number(hours) || 0);
