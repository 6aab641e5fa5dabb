/**
 * What a follower does for its own copies: it takes those from the leader that it cannot use, or
 * that are hopelessly behind, and tells how that goes.
 *
 * Samples and a time go in, steps come out; whoever asks carries them out, one at a time. What
 * fails is tried again after a pause that doubles, some times, then a person has to look: a disk
 * that damages what it is given would else be written for ever.
 *
 * Source: docs/cluster.md.
 */
import {retryDelayMs} from '#server/base/retry-delay.ts';
import type {ClusterState} from './cluster.ts';
import {localLag, localPeer} from './readiness.ts';

/** A database of this server that cannot be used. */
export interface UnusableDatabase {
  readonly name: string;
  /** It is not there at all; else what is there is damaged, or was put in place by half. */
  readonly isMissing: boolean;
}

export interface SelfCareOptions {
  /** `svc.ha.divergedFollowerRecovery`. */
  readonly replacesDamaged: boolean;
  /** `svc.ha.autoAcquireDatabases`. */
  readonly takesMissing: boolean;
  /** `svc.ha.divergedFollowerMaxReformats`. */
  readonly attemptsMax: number;
  /** `svc.ha.staleFollowerLagThreshold`; 0 never. */
  readonly staleLag: number;
  /** `svc.ha.staleFollowerRecoveryDurationMs`. */
  readonly staleMs: number;
  /** `svc.ha.resyncProgressLogging`. */
  readonly tells: boolean;
  /** `svc.ha.resyncProgressInterval`. */
  readonly tellMs: number;
  /** `svc.ha.resyncCatchupLagThreshold`. */
  readonly caughtUpLag: number;
}

export type CareStep =
  | {readonly kind: 'take'; readonly database: string; readonly attempt: number}
  | {readonly kind: 'give-up'; readonly database: string; readonly attempts: number}
  /** A leader whose copy cannot serve the writes lets another one lead, and takes it then. */
  | {readonly kind: 'hand-over'; readonly database: string}
  /** Too far behind for too long: every database is taken anew. */
  | {readonly kind: 'take-all'; readonly lag: number}
  | {readonly kind: 'progress'; readonly appliedIndex: number; readonly lag: number}
  | {readonly kind: 'caught-up'; readonly appliedIndex: number};

interface Attempts {
  readonly count: number;
  readonly nextAt: number;
  readonly isGivenUp: boolean;
}

const takeDelays = {firstMs: 10_000, mostMs: 600_000} as const;
const handOverPauseMs = 60_000;

export class ReplicaRepairPolicy {
  #attempts: ReadonlyMap<string, Attempts> = new Map();
  /** Not before is the leadership offered again. */
  #handOverAt = Number.NEGATIVE_INFINITY;
  /** The moment since which it is behind, and how far it was then. */
  #stale: {readonly since: number; readonly lag: number} | undefined;
  /** When the resync that is under way was told of last. */
  #toldAt: number | undefined;

  /** Databases of which no more copies are taken. */
  get givenUp(): readonly string[] {
    return [...this.#attempts].flatMap(([name, {isGivenUp}]) => (isGivenUp ? [name] : []));
  }

  /** @param isTaking - A step that was given is still being carried out. */
  look(
    state: ClusterState,
    unusable: readonly UnusableDatabase[],
    {now, isTaking, options}: {now: number; isTaking: boolean; options: SelfCareOptions},
  ): readonly CareStep[] {
    const told = this.#tell(state, now, options);
    if (isTaking || state.isInstallingSnapshot) return told;
    const {replacesDamaged, takesMissing} = options;
    const wanted = unusable.filter(({isMissing}) => (isMissing ? takesMissing : replacesDamaged));
    if (state.isLeader) return [...told, ...this.#handOver(wanted, now)];
    if (!mayTake(state)) return told;
    const taken = this.#takeUnusable(wanted, now, options);
    return [...told, ...(taken ?? this.#takeStale(state, now, options))];
  }

  #handOver([first]: readonly UnusableDatabase[], now: number): readonly CareStep[] {
    if (first === undefined || now < this.#handOverAt) return [];
    this.#handOverAt = now + handOverPauseMs;
    return [{kind: 'hand-over', database: first.name}];
  }

  /** Undefined when all databases can be used. */
  #takeUnusable(
    wanted: readonly UnusableDatabase[],
    now: number,
    {attemptsMax}: SelfCareOptions,
  ): readonly CareStep[] | undefined {
    const next = new Map<string, Attempts>();
    const steps: CareStep[] = [];
    for (const {name: database} of wanted) {
      const before = this.#attempts.get(database) ?? noAttempts;
      const isDue = !before.isGivenUp && steps.length === 0 && now >= before.nextAt;
      next.set(database, isDue ? attempted(before, now, attemptsMax) : before);
      if (!isDue) continue;
      const {count} = before;
      if (count >= attemptsMax) steps.push({kind: 'give-up', database, attempts: count});
      else steps.push({kind: 'take', database, attempt: count + 1});
    }
    this.#attempts = next;
    return wanted.length === 0 ? undefined : steps;
  }

  /** A follower that comes nearer is left alone: the log is cheaper than a snapshot. */
  #takeStale(
    state: ClusterState,
    now: number,
    {staleLag, staleMs}: SelfCareOptions,
  ): readonly CareStep[] {
    const lag = localLag(state);
    if (staleLag === 0 || lag <= staleLag) {
      this.#stale = undefined;
      return [];
    }
    if (this.#stale === undefined || lag < this.#stale.lag) this.#stale = {since: now, lag};
    if (now - this.#stale.since < staleMs) return [];
    this.#stale = undefined;
    return [{kind: 'take-all', lag}];
  }

  #tell(state: ClusterState, now: number, options: SelfCareOptions): readonly CareStep[] {
    const {tells, tellMs, caughtUpLag} = options;
    const {appliedIndex} = state;
    const lag = localLag(state);
    const isBehind = state.isInstallingSnapshot || lag > caughtUpLag;
    if (this.#toldAt === undefined && !state.isInstallingSnapshot) return [];
    if (!isBehind) {
      this.#toldAt = undefined;
      return tells ? [{kind: 'caught-up', appliedIndex}] : [];
    }
    if (this.#toldAt !== undefined && now - this.#toldAt < tellMs) return [];
    this.#toldAt = now;
    return tells ? [{kind: 'progress', appliedIndex, lag}] : [];
  }
}

const noAttempts: Attempts = {count: 0, nextAt: Number.NEGATIVE_INFINITY, isGivenUp: false};

function attempted({count}: Attempts, now: number, attemptsMax: number): Attempts {
  const nextAt = now + retryDelayMs(takeDelays, count);
  return {count: count + 1, nextAt, isGivenUp: count >= attemptsMax};
}

/** A member whose leader is known. */
function mayTake(state: ClusterState): boolean {
  const {raftState, leaderId} = state;
  const isMember = localPeer(state)?.inConfiguration === true;
  return raftState === 'RUNNING' && leaderId !== undefined && isMember;
}
