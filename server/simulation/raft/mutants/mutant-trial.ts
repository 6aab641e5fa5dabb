/**
 * Tries one mutant: the tests of the core, and simulated worlds, each in a process of its own
 * with the mutant in place of the source. A process that does not end in time has noticed it.
 */
import {spawn} from 'node:child_process';
import {globSync} from 'node:fs';
import {join} from 'node:path';

export interface TrialOptions {
  readonly mutant: number;
  /** Simulated worlds until a mutant counts as unnoticed. */
  readonly worlds: number;
}

export interface Trial {
  readonly byTests: boolean;
  readonly byWorlds: boolean;
}

const here = import.meta.dirname;
const core = join(here, '../../../raft');
const trialMsMax = 90_000;

export async function tryMutant(options: TrialOptions): Promise<Trial> {
  return {byTests: await failsTests(options), byWorlds: await failsWorlds(options)};
}

/** Whether a test of the core notices it. */
export function failsTests(options: TrialOptions): Promise<boolean> {
  const tests = globSync(join(core, '*.test.ts'));
  return fails(options, ['--test', '--test-isolation=none', ...tests]);
}

/** Whether one of the simulated worlds notices it. */
export function failsWorlds(options: TrialOptions): Promise<boolean> {
  return fails(options, [join(here, 'testing-mutant-worlds.ts')]);
}

function fails({mutant, worlds}: TrialOptions, args: readonly string[]): Promise<boolean> {
  const loader = join(here, 'testing-mutant-loader.ts');
  const {NODE_TEST_CONTEXT: _, ...inherited} = process.env;
  const child = spawn(process.execPath, ['--conditions=source', '--import', loader, ...args], {
    stdio: 'ignore',
    timeout: trialMsMax,
    killSignal: 'SIGKILL',
    env: {...inherited, MUTANT: String(mutant), WORLDS: String(worlds)},
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', status => resolve(status !== 0));
  });
}
