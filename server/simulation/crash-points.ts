/**
 * Crash points, one after another: a history is lived once without a crash, and then again and
 * again with the power going at each of its operations in turn.
 */
import {storageWorlds, type WorldOptions, type WorldReport} from './world.ts';

export type History = Omit<WorldOptions, 'crashAt' | 'crashSeed'>;

const short = {
  lives: 1,
  clients: 3,
  operationsPerClient: 30,
  endings: ['power-loss'],
  syncFailurePercent: 0,
  diskFullPercent: 0,
  segmentBytes: 4 << 10,
} as const;

/** Histories under load, started again and again, migrating, with large values, a full disk. */
export const storageHistories: Readonly<Record<string, Omit<History, 'seed'>>> = {
  'under load': short,
  'three lives': {...short, lives: 3, clients: 2, operationsPerClient: 20},
  migration: {...short, lives: 2, clients: 2, operationsPerClient: 25, raisedInLife: 1},
  'compressed values': {...short, clients: 1, foldedClients: 2, operationsPerClient: 15},
  'full disk': {...short, clients: 2, diskFullPercent: 100},
};

/**
 * The worlds of every crash point, the one without a crash first. A crash leaves of what was
 * pending what chance says: one world for each of `fates`.
 *
 * @throws Error naming crash point and fate of the first world that does not hold.
 */
export async function* eachCrashPoint(
  history: History,
  fates: readonly number[],
): AsyncGenerator<WorldReport> {
  const whole = await storageWorlds.run({...history, crashAt: Number.POSITIVE_INFINITY});
  yield whole;
  for (let crashAt = 1; crashAt <= whole.operations; crashAt++) {
    for (const crashSeed of fates) {
      try {
        yield await storageWorlds.run({...history, crashAt, crashSeed});
      } catch (cause) {
        const options = JSON.stringify({...history, crashAt, crashSeed});
        throw new Error(`crash point ${crashAt} with fate ${crashSeed} of ${options}`, {cause});
      }
    }
  }
}
