/**
 * Changes of the membership by the leader (thesis 4, and its correction of 2015).
 *
 * A change is in force once it is in the log. The next one waits until it is committed, and the
 * first one until the leader has committed an entry of its own: without that, two leaders that do
 * not know of each other's change could both find a majority.
 */
import type {RefusalReason} from './effect.ts';
import {changedMembership, memberOf, type MembershipChange, votersOf} from './membership.ts';
import type {NodeId} from './message.ts';
import {Progress} from './progress.ts';
import {majorityOf} from './quorum.ts';
import {follow} from './role.ts';
import {appendAsLeader} from './sending.ts';
import type {Leadership, Raft} from './state.ts';
import {fitTargets} from './transfer.ts';

/** Puts a change in force, or refuses it. */
export function change(raft: Raft, wanted: MembershipChange): void {
  const refused = tryChange(raft, wanted);
  if (refused !== undefined) {
    raft.outbox.add({kind: 'refused', input: 'change', reason: refused});
  }
}

/** Counts the rounds of a joining server's way to the leader's end (thesis 4.2.1). */
export function noteCaughtUp(
  raft: Raft,
  leadership: Leadership,
  id: NodeId,
  progress: Progress,
): void {
  const {catchUp} = progress;
  if (memberOf(raft.memberships.current, id)?.role !== 'joining') return;
  if (progress.match < catchUp.target) return;
  const quick = raft.now - catchUp.since < raft.options.electionTimeoutMinMs;
  progress.caughtUp = quick;
  progress.catchUp = {target: raft.log.lastIndex, since: raft.now};
  if (quick) promoteJoined(raft, leadership);
}

/** Makes a joining server that is near a voter, as soon as a change is possible. */
export function promoteJoined(raft: Raft, leadership: Leadership): void {
  const near = raft.memberships.current.find(
    ({id, role}) =>
      role === 'joining' &&
      leadership.peers.get(id)?.caughtUp === true &&
      answers(raft, leadership, id),
  );
  if (near !== undefined) tryChange(raft, {kind: 'promote', id: near.id});
}

/** What the commit of a change brings: the next one, or the end of a leader that left. */
export function afterCommit(raft: Raft, leadership: Leadership): void {
  const {id} = raft.options;
  const {current, since} = raft.memberships;
  if (since > raft.commit) return;
  if (memberOf(current, id) === undefined) {
    const [successor] = fitTargets(raft, leadership);
    const {term} = raft;
    if (successor !== undefined) {
      raft.outbox.send(successor, {kind: 'timeout-now', term}, 'term');
    }
    follow(raft, raft.term, undefined);
    return;
  }
  promoteJoined(raft, leadership);
}

/** Stops sending to who was removed, once it was told or says nothing any more. */
export function forgetRemoved(raft: Raft, leadership: Leadership): void {
  const {current, since} = raft.memberships;
  for (const [id, progress] of leadership.peers) {
    if (memberOf(current, id) !== undefined || raft.commit < since) continue;
    if (progress.commitSent >= since || !answers(raft, leadership, id)) {
      leadership.peers.delete(id);
    }
  }
}

function tryChange(raft: Raft, wanted: MembershipChange): RefusalReason | undefined {
  const {role, memberships, log} = raft;
  if (role.kind !== 'leader') return 'not-leader';
  if (role.transfer !== undefined) return 'transferring';
  const ready = raft.commit >= role.firstIndex && raft.commit >= memberships.since;
  if (!ready) return 'change-pending';
  const membership = changedMembership(memberships.current, wanted);
  if (typeof membership === 'string') return membership;
  const voters = votersOf(membership);
  const answering = voters.filter(id => answers(raft, role, id)).length;
  if (wanted.kind === 'remove' && answering < majorityOf(voters.length)) return 'quorum-at-risk';
  if (wanted.kind === 'add') role.peers.set(wanted.id, new Progress(log.lastIndex, raft.now));
  // A removed peer is sent the log until it knows of its removal (forgetRemoved).
  appendAsLeader(raft, role, [{kind: 'membership', term: raft.term, membership}]);
  return undefined;
}

function answers(raft: Raft, leadership: Leadership, id: NodeId): boolean {
  if (id === raft.options.id) return true;
  const heardAt = leadership.peers.get(id)?.heardAt ?? Number.NEGATIVE_INFINITY;
  return raft.now - heardAt < raft.options.electionTimeoutMinMs;
}
