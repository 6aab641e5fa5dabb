/**
 * A cluster of real processes as a test or a benchmark drives it, whichever system it is: ours, or
 * etcd, against which driver, checkers and figures are proven before they judge us.
 */
import type {Links} from './links.ts';
import type {MemberProcess} from './member-process.ts';

/** One member and where its clients go. */
export interface Member {
  readonly process: MemberProcess;
  readonly name: string;
  readonly host: string;
  readonly httpPort: number;
  readonly url: string;
}

export interface ClusterSystem {
  readonly label: string;
  readonly members: readonly Member[];
  /** Undefined where the network between the members cannot be broken. */
  readonly links: Links | undefined;
  readonly folder: string;
  /** Asks one member which of the members leads; undefined when it knows none, or is silent. */
  leaderAsSeenBy(member: Member): Promise<Member | undefined>;
  /** Kills what runs and removes the folder, unless it is to be looked at. */
  readonly dispose: (keepFolder?: boolean) => Promise<void>;
}

const pollMillis = 50;

/** The leader that somebody who is awake claims to be; undefined while nobody does. */
export async function findLeader(system: ClusterSystem): Promise<Member | undefined> {
  const awake = system.members.filter(({process}) => process.isAwake);
  const seen = await Promise.all(awake.map(async one => [one, await system.leaderAsSeenBy(one)]));
  return seen.find(([member, leader]) => member === leader)?.[0];
}

/**
 * Waits until a member leads and all that are awake agree on it.
 *
 * @throws {Error} with the ends of the logs after `millisMax`.
 */
export async function untilLed(system: ClusterSystem, millisMax = 120_000): Promise<Member> {
  const deadline = performance.now() + millisMax;
  for (;;) {
    const awake = system.members.filter(({process}) => process.isAwake);
    const seen = await Promise.all(awake.map(member => system.leaderAsSeenBy(member)));
    const [leader] = seen;
    if (leader?.process.isAwake === true && seen.every(one => one === leader)) return leader;
    const gone = system.members.find(({process}) => process.starts > 0 && process.ended === 1);
    if (gone !== undefined) throw new Error(`${gone.name} ended by itself:\n${gone.process.log}`);
    if (performance.now() > deadline) {
      const logs = system.members.map(({name, process}) => `${name}:\n${process.log}`);
      throw new Error(`no leader after ${millisMax} ms:\n${logs.join('\n')}`);
    }
    await new Promise(resolve => setTimeout(resolve, pollMillis));
  }
}
