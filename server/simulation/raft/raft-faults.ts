/**
 * What goes wrong in a world of nodes, be they cores or whole servers: the kinds of faults, a plan
 * of them drawn from the seed alone, so that a shrinker can leave single ones out, and what each
 * does until it is undone.
 */
import type {Input} from '#server/raft/input.ts';
import type {Membership} from '#server/raft/membership.ts';
import type {NodeId} from '#server/raft/message.ts';
import {createSeededRandom, type SeededRandom} from '../seeded-random.ts';
import {fairWeather, type SimulatedNetwork, type Weather} from './simulated-network.ts';

/** Everything that a plan can hold; `run.ts` counts each by the role of who it hits. */
export const faultKinds = [
  'power-loss',
  'kill',
  'pause',
  'isolate',
  'split',
  'bridge',
  'deaf',
  'mute',
  'flap',
  'loss',
  'repeat',
  'disorder',
  'delay',
  'clock',
  'slow-disk',
  'false-alarm',
  'transfer',
  'add',
  'remove',
] as const;

export type FaultKind = (typeof faultKinds)[number];

export interface PlannedFault<Kind extends string = FaultKind> {
  readonly kind: Kind;
  readonly atMs: number;
  readonly lastsMs: number;
  /** Chance of its own, so that leaving out another fault changes nothing here. */
  readonly seed: number;
}

/** A node, as faults see it. */
export interface FaultVictim {
  readonly id: NodeId;
  readonly role: string;
  readonly isDown: boolean;
  paused: boolean;
  diskDelayMs: number;
  /** The members of the group, as the group knows them. */
  readonly members: Membership;
  start(): void;
  crash(ending: 'power-loss' | 'kill'): void;
  resume(): void;
  setClock(rate: number, leapMs: number): void;
  /** It is told that the process of a peer has ended. */
  hearLost(peer: NodeId): void;
  /** It is asked as the leader. */
  administer(requested: Extract<Input, {readonly kind: 'transfer' | 'change'}>): void;
}

/** What faults can reach. */
export interface FaultTarget<Victim extends FaultVictim = FaultVictim> {
  readonly nodes: ReadonlyMap<NodeId, Victim>;
  readonly network: Pick<SimulatedNetwork<never>, 'weather' | 'reaches' | 'cut' | 'mend'>;
  /** Repeats `work` until the fault ends. */
  repeat(everyMs: number, untilMs: number, work: () => void): void;
}

export interface PlanOptions<Kind extends string> {
  readonly seed: number;
  readonly seconds: number;
  readonly faultsPerSecond: number;
  readonly kinds: readonly Kind[];
  /** Places in the plan that are left out. */
  readonly without: readonly number[];
}

/** The faults of a world in the order of time. */
export function planFaults<Kind extends string>(
  options: PlanOptions<Kind>,
): readonly PlannedFault<Kind>[] {
  const {seed, seconds, faultsPerSecond, kinds, without} = options;
  const random = createSeededRandom(seed ^ 0x5eed);
  const planned: PlannedFault<Kind>[] = [];
  const count = kinds.length === 0 ? 0 : Math.round(seconds * faultsPerSecond);
  for (let place = 0; place < count; place++) {
    planned.push({
      kind: random.pick(kinds),
      atMs: random.below(seconds * 1000),
      lastsMs: random.chance(60) ? 50 + random.below(1500) : random.below(6000),
      seed: random.u32(),
    });
  }
  return planned
    .filter((_, place) => !without.includes(place))
    .sort((left, right) => left.atMs - right.atMs);
}

/** Whom a fault hits: half of them the leader if there is one, some of them who campaigns. */
export function victimOf<Victim extends FaultVictim>(
  fault: PlannedFault<string>,
  target: FaultTarget<Victim>,
): Victim {
  const random = createSeededRandom(fault.seed);
  const nodes = [...target.nodes.values()];
  const campaigns = nodes.filter(node => node.role.endsWith('candidate'));
  if (random.chance(30) && campaigns.length > 0) return random.pick(campaigns);
  const leaders = nodes.filter(node => node.role === 'leader' && !node.paused);
  return random.chance(50) && leaders.length > 0 ? random.pick(leaders) : random.pick(nodes);
}

/** Begins a fault; the returned function ends it. */
export function beginFault(
  fault: PlannedFault,
  victim: FaultVictim,
  target: FaultTarget,
): () => void {
  const random = createSeededRandom(fault.seed ^ 0xface);
  switch (fault.kind) {
    case 'power-loss':
    case 'kill':
      return stop(victim, target, fault.kind);
    case 'pause':
      victim.paused = true;
      return () => victim.resume();
    case 'isolate':
      return cutGroups([victim], others(victim, target), target.network);
    case 'split':
    case 'bridge':
      return split(fault.kind === 'bridge' ? victim : undefined, random, target);
    case 'deaf':
      return cutAll(others(victim, target), [victim], target.network);
    case 'mute':
      return cutAll([victim], others(victim, target), target.network);
    case 'flap':
      return flap(fault, victim, random, target);
    case 'loss':
      return weather(target.network, {lossPercent: 5 + random.below(50)});
    case 'repeat':
      return weather(target.network, {repeatPercent: 10 + random.below(60)});
    case 'disorder':
      return weather(target.network, {disorder: true, delayMs: 20 + random.below(300)});
    case 'delay':
      return weather(target.network, {delayMs: 50 + random.below(600)});
    case 'clock':
      victim.setClock(0.3 + random.below(200) / 100, random.below(2000));
      return () => victim.setClock(1, 0);
    case 'slow-disk':
      victim.diskDelayMs = 20 + random.below(400);
      return () => {
        victim.diskDelayMs = 2;
      };
    case 'false-alarm':
      for (const other of others(victim, target)) other.hearLost(victim.id);
      return () => {};
    default:
      administer(fault.kind, victim, random, target);
      return () => {};
  }
}

function stop(victim: FaultVictim, target: FaultTarget, ending: 'power-loss' | 'kill'): () => void {
  victim.crash(ending);
  if (ending === 'kill') {
    for (const other of others(victim, target)) {
      if (target.network.reaches(victim.id, other.id)) other.hearLost(victim.id);
    }
  }
  return () => {
    if (victim.isDown) victim.start();
  };
}

/** Transfers and changes are asked of whoever leads; the victim is who it is about. */
function administer(
  kind: 'transfer' | 'add' | 'remove',
  victim: FaultVictim,
  random: SeededRandom,
  {nodes}: FaultTarget,
): void {
  for (const node of nodes.values()) {
    if (node.role !== 'leader' || node.paused) continue;
    const to = random.chance(50) ? victim.id : undefined;
    if (kind === 'transfer') node.administer({kind, to});
    else if (kind === 'remove') node.administer({kind: 'change', change: {kind, id: victim.id}});
    else {
      const {members} = node;
      const absent = [...nodes.keys()].find(id => members.every(member => member.id !== id));
      const priority = random.below(3) === 0 ? 1 : 0;
      const id = absent ?? victim.id;
      const change =
        absent === undefined ? ({kind: 'prioritize', id, priority} as const) : {kind, id, priority};
      node.administer({kind: 'change', change});
    }
  }
}

function others(victim: FaultVictim, {nodes}: FaultTarget): readonly FaultVictim[] {
  return [...nodes.values()].filter(node => node !== victim);
}

function split(
  bridge: FaultVictim | undefined,
  random: SeededRandom,
  target: FaultTarget,
): () => void {
  const left: FaultVictim[] = [];
  const right: FaultVictim[] = [];
  for (const node of target.nodes.values()) {
    if (node !== bridge) (random.chance(50) ? left : right).push(node);
  }
  return cutGroups(left, right, target.network);
}

function flap(
  fault: PlannedFault,
  victim: FaultVictim,
  random: SeededRandom,
  target: FaultTarget,
): () => void {
  let mend: (() => void) | undefined;
  target.repeat(50 + random.below(400), fault.atMs + fault.lastsMs, () => {
    if (mend === undefined) mend = cutGroups([victim], others(victim, target), target.network);
    else {
      mend();
      mend = undefined;
    }
  });
  return () => {
    mend?.();
    mend = undefined;
  };
}

function cutGroups(
  left: readonly FaultVictim[],
  right: readonly FaultVictim[],
  network: FaultTarget['network'],
): () => void {
  const there = cutAll(left, right, network);
  const back = cutAll(right, left, network);
  return () => {
    there();
    back();
  };
}

function cutAll(
  from: readonly FaultVictim[],
  to: readonly FaultVictim[],
  network: FaultTarget['network'],
): () => void {
  for (const sender of from) for (const receiver of to) network.cut(sender.id, receiver.id);
  return () => {
    for (const sender of from) for (const receiver of to) network.mend(sender.id, receiver.id);
  };
}

function weather(network: FaultTarget['network'], changed: Partial<Weather>): () => void {
  network.weather = {...network.weather, ...changed};
  return () => {
    network.weather = fairWeather;
  };
}
