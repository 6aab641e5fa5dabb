/**
 * What may happen to a cluster while clients work: processes that die or freeze, links that break,
 * one at a time, each healed before the next. The same seed gives the same choices.
 */
import type {SeededRandom} from '../property/seeded-random.ts';
import {type ClusterSystem, findLeader, type Member} from './cluster-system.ts';
import type {LinkFault} from './links.ts';

interface Scene {
  readonly system: ClusterSystem;
  readonly leader: Member;
  readonly random: SeededRandom;
}

/** Breaks something and answers how it is mended. */
type Fault = (scene: Scene) => Promise<() => Promise<void> | void>;

const silence: LinkFault = {kind: 'cut'};

const processFaults: Readonly<Record<string, Fault>> = {
  'leader killed': ({leader}) => killed([leader]),
  'follower killed': scene => killed([follower(scene)]),
  'all killed': ({system}) => killed(system.members),
  'leader frozen': ({leader}) => frozen(leader),
  'follower frozen': scene => frozen(follower(scene)),
};

const linkFaults: Readonly<Record<string, Fault>> = {
  'leader cut off': scene => parted(scene, [scene.leader], silence),
  'follower cut off': scene => parted(scene, [follower(scene)], silence),
  'leader refused': scene => parted(scene, [scene.leader], {kind: 'refused'}),
  'leader hears nobody': scene => oneWay(scene, 'to leader'),
  'nobody hears the leader': scene => oneWay(scene, 'from leader'),
  'two do not hear each other': scene => pairCut(scene),
  'slow links': scene => everywhere(scene, {kind: 'slow', millis: 30}),
  'lossy links': scene => everywhere(scene, {kind: 'lossy', percent: 5, millis: 200}),
};

const pauseMillis = {least: 800, most: 2_500} as const;
const faultMillis = {least: 300, most: 3_500} as const;

/** Names and counts of what happened. */
export type FaultCounts = ReadonlyMap<string, number>;

/** Breaks and mends until `deadline`; everything is whole when it resolves. */
export async function injectFaults(
  system: ClusterSystem,
  deadline: number,
  random: SeededRandom,
): Promise<FaultCounts> {
  const counts = new Map<string, number>();
  const kinds = Object.entries({
    ...processFaults,
    ...(system.links === undefined ? {} : linkFaults),
  });
  const rest = ({least, most}: {least: number; most: number}): Promise<void> => {
    const left = Math.max(0, deadline - performance.now());
    return new Promise(resolve =>
      setTimeout(resolve, Math.min(left, least + random.below(most - least))),
    );
  };
  for (;;) {
    await rest(pauseMillis);
    if (performance.now() >= deadline) return counts;
    const leader = (await findLeader(system)) ?? system.members[0];
    const [name, inject] = random.pick(kinds);
    if (leader === undefined) return counts;
    counts.set(name, (counts.get(name) ?? 0) + 1);
    const mend = await inject({system, leader, random});
    await rest(faultMillis);
    await mend();
  }
}

function follower({system, leader, random}: Scene): Member {
  const others = system.members.filter(member => member !== leader);
  return random.pick(others);
}

async function killed(members: readonly Member[]): Promise<() => void> {
  await Promise.all(members.map(({process}) => process.kill()));
  return () => {
    for (const {process} of members) process.start();
  };
}

async function frozen({process}: Member): Promise<() => void> {
  process.freeze();
  return () => process.thaw();
}

async function parted(
  {system}: Scene,
  alone: readonly Member[],
  fault: LinkFault,
): Promise<() => void> {
  const names = (members: readonly Member[]): string[] => members.map(({name}) => name);
  const others = system.members.filter(member => !alone.includes(member));
  system.links?.part([names(alone), names(others)], fault);
  return () => system.links?.heal();
}

async function oneWay(scene: Scene, way: 'to leader' | 'from leader'): Promise<() => void> {
  const {system, leader} = scene;
  for (const {name} of system.members) {
    if (name === leader.name) continue;
    const [from, to] = way === 'to leader' ? [name, leader.name] : [leader.name, name];
    system.links?.set(from, to, silence);
  }
  return () => system.links?.heal();
}

async function pairCut(scene: Scene): Promise<() => void> {
  const {system, leader} = scene;
  const other = follower(scene).name;
  system.links?.set(leader.name, other, silence);
  system.links?.set(other, leader.name, silence);
  return () => system.links?.heal();
}

async function everywhere({system}: Scene, fault: LinkFault): Promise<() => void> {
  for (const {name: from} of system.members) {
    for (const {name: to} of system.members) if (from !== to) system.links?.set(from, to, fault);
  }
  return () => system.links?.heal();
}
