/**
 * The cluster in figures, by the names under which they are scraped (`svc_ha_*`).
 *
 * What only a leader knows is -1 elsewhere, so that a panel shows a gap and not a zero.
 * Source: docs/cluster.md.
 */
import {byLabel, type Figures} from '#server/monitoring/figures.ts';
import type {ClusterState} from './cluster.ts';
import {localLag} from './readiness.ts';
import {followersOf, replicationLag} from './replica-health.ts';

export interface ClusterFigures {
  readonly svc_ha_leader: number;
  readonly svc_ha_term: number;
  readonly svc_ha_elections_total: number;
  readonly svc_ha_commit_index: number;
  readonly svc_ha_applied_index: number;
  readonly svc_ha_local_lag: number;
  readonly svc_ha_uncommitted_bytes: number;
  readonly svc_ha_followers_tracked: number;
  readonly svc_ha_follower_max_last_contact_ms: number;
  readonly svc_ha_follower_max_replication_lag: number;
  /** Milliseconds since the last contact, keyed by peer; empty on a follower. */
  readonly svc_ha_follower_last_contact_ms: Readonly<Record<string, number>>;
  readonly svc_ha_follower_replication_lag: Readonly<Record<string, number>>;
  readonly svc_ha_follower_lagging_for_ms: Readonly<Record<string, number>>;
}

export function clusterFigures(state: ClusterState): ClusterFigures {
  const followers = state.isLeader ? followersOf(state) : [];
  const byPeer = (
    figure: (follower: (typeof followers)[number]) => number,
  ): Readonly<Record<string, number>> =>
    Object.fromEntries(followers.map(follower => [follower.id, figure(follower)]));
  const contacts = byPeer(({progress}) => Math.round(progress.lastContactMs ?? -1));
  const lags = byPeer(({progress}) => replicationLag(state, progress));
  return {
    svc_ha_leader: state.isLeader ? 1 : 0,
    svc_ha_term: state.currentTerm,
    svc_ha_elections_total: state.electionCount,
    svc_ha_commit_index: state.commitIndex,
    svc_ha_applied_index: state.appliedIndex,
    svc_ha_local_lag: localLag(state),
    svc_ha_uncommitted_bytes: state.uncommittedBytes,
    svc_ha_followers_tracked: state.isLeader ? followers.length : -1,
    svc_ha_follower_max_last_contact_ms: Math.max(-1, ...Object.values(contacts)),
    svc_ha_follower_max_replication_lag: Math.max(-1, ...Object.values(lags)),
    svc_ha_follower_last_contact_ms: contacts,
    svc_ha_follower_replication_lag: lags,
    svc_ha_follower_lagging_for_ms: byPeer(({progress}) => Math.round(progress.laggingForMs)),
  };
}

/** The same as metric families. */
export function clusterFamilies(figures: ClusterFigures): Figures {
  return {
    ...figures,
    svc_ha_follower_last_contact_ms: byLabel(figures.svc_ha_follower_last_contact_ms),
    svc_ha_follower_replication_lag: byLabel(figures.svc_ha_follower_replication_lag),
    svc_ha_follower_lagging_for_ms: byLabel(figures.svc_ha_follower_lagging_for_ms),
  };
}
