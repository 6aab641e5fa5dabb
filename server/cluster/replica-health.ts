/**
 * How each follower does, as its leader sees it over time: `replicaStatus` of the status record.
 *
 * Fed with samples on `svc.ha.healthCheckInterval`. Silence is told at once; everything else only
 * after two samples in a row have said it, so that a burst of writes does not make a status
 * flicker. What is known ends with the leadership that saw it.
 *
 * Source: docs/cluster.md.
 */
import type {ClusterPeer, ClusterState, PeerProgress} from './cluster.ts';

export type ReplicaStatus = 'STALLED' | 'HEALTHY' | 'FALLING_BEHIND' | 'CATCHING_UP' | 'UNKNOWN';

export interface ReplicaHealthOptions {
  /** `svc.ha.replicationLagWarning`. */
  readonly lagWarning: number;
  /** `svc.ha.peerUnreachableThreshold`; 0 holds nobody unreachable. */
  readonly unreachableMs: number;
}

interface Watched {
  readonly since: number;
  readonly lag: number;
  readonly matchIndex: number;
  readonly commitIndex: number;
  readonly status: ReplicaStatus;
  /** What the last sample said. */
  readonly seen: ReplicaStatus;
}

export class ReplicaHealth {
  #watched: ReadonlyMap<string, Watched> = new Map();
  #term: number | undefined;

  /** Takes the state at `nowMs`, a monotonic time. */
  sample(state: ClusterState, nowMs: number, options: ReplicaHealthOptions): void {
    if (!state.isLeader || state.currentTerm !== this.#term) this.#watched = new Map();
    this.#term = state.isLeader ? state.currentTerm : undefined;
    if (!state.isLeader) return;
    const next = new Map<string, Watched>();
    for (const peer of followersOf(state)) {
      const before = this.#watched.get(peer.id);
      next.set(peer.id, watch(before, peer.progress, {state, nowMs, options}));
    }
    this.#watched = next;
  }

  /** `UNKNOWN` on a server that does not lead, and before a second sample. */
  status(peerId: string): ReplicaStatus {
    return this.#watched.get(peerId)?.status ?? 'UNKNOWN';
  }
}

/** How followers do; all are `UNKNOWN` where nobody samples. */
export function statusesOf(health: ReplicaHealth | undefined): (peerId: string) => ReplicaStatus {
  return peerId => health?.status(peerId) ?? 'UNKNOWN';
}

/** Members that this leader replicates to, with what it knows of them. */
export function followersOf(
  state: ClusterState,
): readonly (ClusterPeer & {readonly progress: PeerProgress})[] {
  return state.peers.flatMap(peer => {
    const {progress, id, inConfiguration} = peer;
    const follows = inConfiguration && id !== state.localPeerId && progress !== undefined;
    return follows ? [{...peer, progress}] : [];
  });
}

/** Entries that are committed and not on the follower yet. */
export function replicationLag(state: ClusterState, {matchIndex}: PeerProgress): number {
  return Math.max(0, state.commitIndex - matchIndex);
}

interface Moment {
  readonly state: ClusterState;
  readonly nowMs: number;
  readonly options: ReplicaHealthOptions;
}

function watch(before: Watched | undefined, progress: PeerProgress, moment: Moment): Watched {
  const {state, nowMs} = moment;
  const since = before?.since ?? nowMs;
  const seen = seenStatus(before, progress, moment);
  const isSure = seen === before?.seen || isSilent(progress, nowMs - since, moment.options);
  return {
    since,
    lag: replicationLag(state, progress),
    matchIndex: progress.matchIndex,
    commitIndex: state.commitIndex,
    status: isSure ? seen : (before?.status ?? 'UNKNOWN'),
    seen,
  };
}

function seenStatus(
  before: Watched | undefined,
  progress: PeerProgress,
  {state, nowMs, options}: Moment,
): ReplicaStatus {
  const watchedMs = before === undefined ? 0 : nowMs - before.since;
  if (isSilent(progress, watchedMs, options)) return 'STALLED';
  if (progress.lastContactMs === undefined) return 'UNKNOWN';
  const lag = replicationLag(state, progress);
  if (lag <= options.lagWarning && progress.matchIndex > 0) return 'HEALTHY';
  if (progress.isInstallingSnapshot) return 'CATCHING_UP';
  if (before === undefined) return 'UNKNOWN';
  if (progress.matchIndex > before.matchIndex) {
    return lag > before.lag ? 'FALLING_BEHIND' : 'CATCHING_UP';
  }
  const leaderMoved = state.commitIndex > before.commitIndex;
  const isLate = progress.laggingForMs >= options.unreachableMs;
  if (isLate && (leaderMoved || progress.matchIndex === 0)) return 'STALLED';
  return leaderMoved ? 'FALLING_BEHIND' : before.seen;
}

/** Nothing was heard of it for so long, or ever, that it counts as unreachable. */
function isSilent(
  {lastContactMs}: PeerProgress,
  watchedMs: number,
  {unreachableMs}: ReplicaHealthOptions,
): boolean {
  return unreachableMs > 0 && (lastContactMs ?? watchedMs) >= unreachableMs;
}
