/**
 * An order: ten servers, what each believes of the list and of its own name, and when each is
 * started, told to end, and started again. Made from a seed; every kind of mistake that an
 * operator can make with a list or a name occurs among a few hundred of them.
 */
import type {RawSetting} from '#server/base/setting-values.ts';
import {createSeededRandom, type SeededRandom} from '../seeded-random.ts';

/** What is wrong with a server's settings; `none` of most. */
export const mistakes = [
  'none',
  'unnamed',
  'name of another',
  'list without one',
  'list with one more',
  'list of itself alone',
  'damaged list',
  'other cluster',
  'other token',
] as const;

export type Mistake = (typeof mistakes)[number];

export interface PlannedServer {
  readonly address: string;
  readonly mistake: Mistake;
  /** The word `groupOfMost`, or another for who was told to be of another cluster. */
  readonly group: string;
  /** Whether it is let in by itself: the others' list names it, or its address is allowed. */
  readonly isAllowed: boolean;
  readonly settings: Readonly<Record<string, RawSetting>>;
  /** When it starts, ends, starts again, in turn; simulated milliseconds. */
  readonly moments: readonly number[];
}

export interface OrderPlan {
  readonly seed: number;
  readonly naming: Naming;
  readonly starts: Starts;
  /** How many servers the list names. */
  readonly founders: number;
  readonly servers: readonly PlannedServer[];
}

export const serversMax = 10;
export const groupOfMost = 'of most';
const suffix = '.db';
const raftPort = 2_434;
const namings = ['by ordinal', 'by name', 'by host', 'pods'] as const;
const startings = ['at once', 'in order', 'in reverse', 'scattered'] as const;

type Naming = (typeof namings)[number];
type Starts = (typeof startings)[number];

/** Where a name leads to; that of the headless service to every machine. */
export function addressesOf(host: string): readonly string[] {
  if (host === 'db') return Array.from({length: serversMax}, (_, at) => machine(at));
  const [, at] = /^db-(\d+)\.db$/.exec(host) ?? [];
  if (at !== undefined) return [machine(Number(at))];
  return /^10\.0\.0\.\d+$/.test(host) ? [host] : [];
}

export function orderPlan(seed: number): OrderPlan {
  const random = createSeededRandom(seed);
  const naming = random.pick(namings);
  const starts = random.pick(startings);
  const founders = random.pick([1, 2, 3, 5, serversMax, serversMax]);
  const allowsAddresses = random.chance(50);
  const mishaps = random.below(4);
  const wrong = new Map<number, Mistake>();
  while (wrong.size < mishaps) wrong.set(random.below(serversMax), random.pick(mistakes));
  const servers = Array.from({length: serversMax}, (_, at): PlannedServer => {
    const mistake = wrong.get(at) ?? 'none';
    return {
      address: machine(at),
      mistake,
      group: groupOf(at, {founders, naming, mistake}),
      isAllowed: at < founders || naming === 'pods' || allowsAddresses,
      settings: settingsOf(at, {random, naming, founders, mistake, allowsAddresses}),
      moments: momentsOf(at, starts, random),
    };
  });
  return {seed, naming, starts, founders, servers};
}

interface Circumstances {
  readonly random: SeededRandom;
  readonly naming: Naming;
  readonly founders: number;
  readonly mistake: Mistake;
  /** Every address may come as far as the token. */
  readonly allowsAddresses: boolean;
}

function settingsOf(at: number, given: Circumstances): Record<string, RawSetting> {
  const {naming, mistake, random, founders, allowsAddresses} = given;
  const numbers = Array.from({length: founders}, (_, number) => number);
  const listed = listOf(at, numbers, given);
  // By place in the list its order is the meaning; else every server may have one of its own.
  const entries = naming === 'by ordinal' ? listed : shuffled(listed, random);
  const list = entries.map(number => entry(number, naming)).join(',');
  return {
    'svc.server.name': nameOf(at, given),
    'svc.ha.enabled': true,
    'svc.ha.serverList': mistake === 'damaged list' ? `${list},db-0:{raft` : list,
    'svc.ha.clusterName': mistake === 'other cluster' ? 'elsewhere' : 'here',
    'svc.ha.clusterToken': mistake === 'other token' ? 'another-token' : 'the-token-of-all',
    'svc.ha.peerAllowlist.enabled': !allowsAddresses,
    'svc.ha.bootstrapTimeoutMs': 6_000,
    'svc.ha.electionTimeoutMin': 1_000,
    'svc.ha.electionTimeoutMax': 2_000,
    ...(naming === 'pods' ? {'svc.ha.k8s': true, 'svc.ha.k8sSuffix': suffix} : {}),
  };
}

function listOf(
  at: number,
  listed: readonly number[],
  {mistake, naming}: Pick<Circumstances, 'mistake' | 'naming'>,
): number[] {
  const numbers = naming === 'pods' ? listed : withOwn(at, listed, naming);
  const {length} = numbers;
  switch (mistake) {
    case 'list without one':
      // Without another one, where there is another.
      return numbers.filter(number => length < 2 || number !== (at + 1) % length);
    case 'list with one more':
      return [...numbers, length];
    case 'list of itself alone':
      return [at];
    default:
      return [...numbers];
  }
}

/** A server that the others' list does not name stands in its own. */
function withOwn(at: number, listed: readonly number[], naming: Naming): readonly number[] {
  if (listed.includes(at)) return listed;
  if (naming !== 'by ordinal') return [...listed, at];
  return Array.from({length: at + 1}, (_, number) => number);
}

function groupOf(
  at: number,
  given: Pick<Circumstances, 'founders' | 'naming' | 'mistake'>,
): string {
  const {mistake, founders} = given;
  if (mistake === 'other cluster' || mistake === 'other token') return mistake;
  const listed = Array.from({length: founders}, (_, number) => number);
  const [first, ...others] = listOf(at, listed, given);
  // Who is told of itself alone begins alone.
  const isAlone = first === at && others.length === 0;
  return isAlone && (founders > 1 || at > 0) ? `alone ${at}` : groupOfMost;
}

function nameOf(at: number, {naming, mistake, founders}: Circumstances): string {
  if (mistake === 'unnamed') return 'stranger';
  const number = mistake === 'name of another' ? (at + 1) % founders : at;
  return naming === 'by host' ? hostOf(number, naming) : `db-${number}`;
}

function entry(number: number, naming: Naming): string {
  const host = naming === 'pods' ? `db-${number}` : hostOf(number, naming);
  const address = `${host}:{raft:${raftPort}}`;
  return naming === 'by name' ? `db-${number}@${address}` : address;
}

function hostOf(number: number, naming: Naming): string {
  return naming === 'by host' ? `db-${number}${suffix}` : machine(number);
}

function machine(at: number): string {
  return `10.0.0.${at + 1}`;
}

function momentsOf(at: number, starts: Starts, random: SeededRandom): number[] {
  const first = {
    'at once': 0,
    'in order': at * 700,
    'in reverse': (serversMax - at) * 700,
    scattered: random.below(15_000),
  }[starts];
  const moments = [first + random.below(50)];
  // A signal at any moment: of the forming, of the joining, of the serving.
  if (random.chance(40)) {
    const ended = first + random.below(20_000);
    moments.push(ended);
    if (random.chance(60)) moments.push(ended + 5_001 + random.below(4_000));
  }
  return moments;
}

function shuffled<Item>(items: readonly Item[], random: SeededRandom): Item[] {
  const left = [...items];
  const taken: Item[] = [];
  while (left.length > 0) taken.push(...left.splice(random.below(left.length), 1));
  return taken;
}
