/**
 * Which followers a leader asks to begin anew: those that answer and take nothing, for too long.
 *
 * One that does not answer cannot be asked (replication/links/channel-resets.ts does what can be
 * done about it). Each is asked once in the while after which it counts as stalled.
 *
 * Source: docs/cluster.md; `svc.ha.stalledReplicaResyncDurationMs`.
 */
import type {ClusterState} from './cluster.ts';
import {followersOf, replicationLag} from './replica-health.ts';

export interface StalledReplicaOptions {
  /** 0 never asks. */
  readonly stalledMs: number;
  /** `svc.ha.peerUnreachableThreshold`; 0 holds nobody unreachable. */
  readonly unreachableMs: number;
}

export interface StalledReplica {
  readonly id: string;
  readonly lag: number;
  readonly stalledForMs: number;
}

export class StalledReplicas {
  readonly #askedAt = new Map<string, number>();

  /** Followers to ask now, at the monotonic time `now`. */
  look(
    state: ClusterState,
    now: number,
    {stalledMs, unreachableMs}: StalledReplicaOptions,
  ): readonly StalledReplica[] {
    if (!state.isLeader || stalledMs === 0) return [];
    return followersOf(state).flatMap(({id, progress}) => {
      const {lastContactMs, laggingForMs, isInstallingSnapshot} = progress;
      const isReached =
        lastContactMs !== undefined && (unreachableMs === 0 || lastContactMs < unreachableMs);
      const lag = replicationLag(state, progress);
      const isStalled = lag > 0 && !isInstallingSnapshot && laggingForMs >= stalledMs;
      const askedAt = this.#askedAt.get(id) ?? Number.NEGATIVE_INFINITY;
      if (!isReached || !isStalled || now - askedAt < stalledMs) return [];
      this.#askedAt.set(id, now);
      return [{id, lag, stalledForMs: Math.round(laggingForMs)}];
    });
  }
}
