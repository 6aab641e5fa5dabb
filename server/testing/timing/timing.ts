/**
 * `make timing`: whether the time of an answer tells what it must not, by the test of dudect
 * (Reparaz, Balasch, Verbauwhede 2017): two classes of inputs in random order, and Welch's t of
 * their times, as measured and cropped at several quantiles; |t| of 4.5 and more is a leak.
 *
 * The classes: a wrong password for a name that somebody has, and for one that nobody has; an API
 * token that begins as one that is good, and one that begins as none. What is timed is the check
 * itself, in this process, with as few rounds of the hash as may be: a difference does not grow
 * with them, and they would hide it. `SAMPLES=200000`.
 */
import {resolveSettings} from '#server/base/setting-values.ts';
import {Refusal} from '#server/base/errors.ts';
import {createClock, createRandom, createTimers} from '#server/platform/real/clock.ts';
import type {SecurityDocument} from '#server/security/documents.ts';
import {Security} from '#server/security/security.ts';
import {SeededRandom} from '../property/seeded-random.ts';

const tMax = 4.5;
/** Shares of the fastest samples that are looked at on their own: noise is slow. */
const crops = [1, 0.99, 0.95, 0.9, 0.75, 0.5] as const;
const users = 64;
const rounds = 1_000;

type Kind = 'existing' | 'missing';

/** Times of both kinds in nanoseconds, in the order in which they were measured. */
export interface Samples {
  readonly existing: number[];
  readonly missing: number[];
}

/** Welch's t of two lists. */
export function welch(one: readonly number[], other: readonly number[]): number {
  const [first, second] = [momentsOf(one), momentsOf(other)];
  const error = Math.sqrt(first.variance / one.length + second.variance / other.length);
  return error === 0 ? 0 : (first.mean - second.mean) / error;
}

/** The greatest |t| over all crops; times above the crop of both kinds together are left out. */
export function worstT({existing, missing}: Samples): number {
  const all = [...existing, ...missing].toSorted((a, b) => a - b);
  return Math.max(
    ...crops.map(share => {
      const bound = all[Math.ceil(share * all.length) - 1] ?? Number.POSITIVE_INFINITY;
      const kept = (times: readonly number[]): number[] => times.filter(time => time <= bound);
      return Math.abs(welch(kept(existing), kept(missing)));
    }),
  );
}

function momentsOf(values: readonly number[]): {mean: number; variance: number} {
  let mean = 0;
  let squares = 0;
  for (const [at, value] of values.entries()) {
    const step = value - mean;
    mean += step / (at + 1);
    squares += step * (value - mean);
  }
  return {mean, variance: values.length > 1 ? squares / (values.length - 1) : 0};
}

/** Something that is guessed at. */
interface Guessed {
  /** A guess of a kind, in the same form for both. */
  readonly guess: (kind: Kind, random: SeededRandom) => string;
  readonly check: (guess: string, source: string) => unknown;
}

export const guessed = ['passwords', 'API tokens'] as const;

/** Times checks of wrong guesses, the two kinds in random order. */
export async function sampleChecks(
  what: (typeof guessed)[number],
  count: number,
  seed = 1,
): Promise<Samples> {
  const random = new SeededRandom(seed);
  const {guess: guessOf, check} = await guessedAt[what](await securityOfMany());
  const samples: Samples = {existing: [], missing: []};
  const attempt = async (kind: Kind, at: number): Promise<number> => {
    const guess = asRead(guessOf(kind, random));
    // An address of its own: nobody is locked out, and no list of attempts grows in one class.
    const source = `10.${(at >> 16) & 255}.${(at >> 8) & 255}.${at & 255}`;
    const from = process.hrtime.bigint();
    try {
      await check(guess, source);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
    return Number(process.hrtime.bigint() - from);
  };
  const warm = Math.min(2_000, count);
  for (let at = 0; at < count + warm; at += 1) {
    const kind: Kind = random.below(2) === 0 ? 'existing' : 'missing';
    const time = await attempt(kind, at);
    if (at >= warm) samples[kind].push(time);
  }
  return samples;
}

const guessedAt: Readonly<
  Record<(typeof guessed)[number], (security: Security) => Guessed | Promise<Guessed>>
> = {
  passwords: security => ({
    guess: (kind, random) => {
      const prefix = kind === 'existing' ? 'user' : 'none';
      return `${prefix}-${String(random.below(users)).padStart(4, '0')}`;
    },
    check: (name, source) => security.authenticate(name, `wrong-${source}`, source),
  }),
  'API tokens': async security => {
    const good: string[] = [];
    for (let at = 0; at < users; at += 1) {
      const request = {name: `token-${at}`, database: '*', expiresAt: 0, permissions: {}};
      good.push((await security.apiTokens.create(request)).value);
    }
    return {
      guess: nearOrNot(good),
      check: (value, source) => security.principalOfApiToken(value, source),
    };
  },
};

const digitsMax = 0x1_0000;

/** Guesses that begin as one that is good, and such that begin as none; both end by chance. */
function nearOrNot(good: readonly string[]): Guessed['guess'] {
  const chance = new SeededRandom(7);
  const secret = /[0-9a-f](?=[0-9a-f-]{0,63}$)/g;
  const like = (digit: (kept: string) => string): readonly string[] =>
    good.map(value => asRead(value.replaceAll(secret, kept => digit(kept))));
  const starts = {
    existing: like(kept => kept),
    missing: like(() => chance.below(16).toString(16)),
  };
  return (kind, random) => {
    const start = starts[kind][random.below(good.length)] ?? '';
    return `${start.slice(0, -4)}${random.below(digitsMax).toString(16).padStart(4, '0')}`;
  };
}

/** The text as it comes from a socket: in one piece, and seen by nobody before. */
function asRead(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}

async function securityOfMany(): Promise<Security> {
  const files = new Map<SecurityDocument, Uint8Array>();
  const values = {'svc.server.saltIterations': rounds, 'svc.security.failureDelay': 0};
  const {settings} = resolveSettings([{name: 'timing', values}]);
  const clock = createClock();
  // Lock-outs end at once: a minute goes by between two attempts.
  let attempts = 0;
  const security = new Security({
    store: {
      read: name => files.get(name),
      write: async (name, bytes) => void files.set(name, bytes),
    },
    clock: {now: () => clock.now(), monotonic: () => ++attempts * 60_000},
    random: createRandom(),
    timers: createTimers(),
    settings: () => settings,
    endSessionsOf: () => undefined,
  });
  await security.ensureRoot('password-of-root');
  for (let user = 0; user < users; user += 1) {
    const name = `user-${String(user).padStart(4, '0')}`;
    await security.createUser({name, password: `password-${user}`, databases: {}});
  }
  return security;
}

if (import.meta.main) {
  const count = Number(process.env['SAMPLES'] || 200_000);
  for (const what of guessed) {
    const samples = await sampleChecks(what, count);
    const t = worstT(samples);
    const {existing, missing} = samples;
    process.stdout.write(
      `wrong ${what}: ${existing.length} near one that is good, ${missing.length} near none: ` +
        `|t| = ${t.toFixed(2)}, at most ${tMax}\n`,
    );
    if (t >= tMax) process.exitCode = 1;
  }
}
