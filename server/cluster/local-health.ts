/**
 * What goes wrong with this member itself over time, and what it gave up mending: three fields of
 * the status, each with its alert.
 *
 * Fed with samples on `svc.ha.healthCheckInterval`. Something counts as standing still after
 * `svc.ha.stalledReplicaResyncDurationMs` without a move. Source: docs/cluster.md.
 */
import type {ClusterState} from './cluster.ts';

export interface LocalHealth {
  /** It knows no leader although it reaches most voters: they have gone on without it. */
  readonly isStuckAtStaleTerm: boolean;
  /** It follows, and applies nothing of what is committed. */
  readonly isStalledBehindLeader: boolean;
  /** Databases that it cannot use and takes no more copies of: a person has to look. */
  readonly givenUp: readonly string[];
}

export const noTroubles: LocalHealth = {
  isStuckAtStaleTerm: false,
  isStalledBehindLeader: false,
  givenUp: [],
};

/** Sees what stands still. */
export class StallDetector {
  /** The moment since which no leader is known, and the term. */
  #leaderless: {readonly since: number; readonly term: number} | undefined;
  /** The moment since which it is behind at this entry. */
  #behind: {readonly since: number; readonly index: number} | undefined;
  #troubles: Omit<LocalHealth, 'givenUp'> = noTroubles;

  /** Takes the state at `now`, a monotonic time; `stalledMs` 0: nothing counts as stalled. */
  sample(state: ClusterState, now: number, stalledMs: number): void {
    const {raftState, leaderId, currentTerm: term, appliedIndex: index, isLeader} = state;
    const isRunning = raftState === 'RUNNING' && stalledMs > 0;
    const isLeaderless = isRunning && leaderId === undefined && reachesMajority(state);
    if (!isLeaderless) this.#leaderless = undefined;
    // Terms that grow are elections that go on.
    else if (this.#leaderless?.term !== term) this.#leaderless = {since: now, term};
    const isBehind = isRunning && !isLeader && index < (state.leaderCommitIndex ?? 0);
    if (!isBehind || state.isInstallingSnapshot) this.#behind = undefined;
    else if (this.#behind?.index !== index) this.#behind = {since: now, index};
    const lasts = (trouble: {readonly since: number} | undefined): boolean =>
      trouble !== undefined && now - trouble.since >= stalledMs;
    this.#troubles = {
      isStuckAtStaleTerm: lasts(this.#leaderless),
      isStalledBehindLeader: lasts(this.#behind),
    };
  }

  /** The result of the last sample. */
  get troubles(): Omit<LocalHealth, 'givenUp'> {
    return this.#troubles;
  }
}

function reachesMajority({peers, localPeerId}: ClusterState): boolean {
  const voters = peers.filter(({isVoter}) => isVoter);
  const reached = voters.filter(({id, obstacle}) => id === localPeerId || obstacle === undefined);
  return voters.length > 1 && reached.length > voters.length / 2;
}
