/**
 * Handing the leadership over (thesis 3.10): the leader takes no more proposals, brings the target
 * up to its own end and commit, and tells it to begin an election at once. If nothing comes of it
 * within an election timeout, the leader goes on.
 *
 * A voter of higher priority is handed the leadership once it is near.
 */
import type {RefusalReason} from './effect.ts';
import {memberOf} from './membership.ts';
import type {NodeId} from './message.ts';
import {sendCommit} from './sending.ts';
import type {Leadership, Raft} from './state.ts';

/** How many election timeouts pass between two offers to a voter of higher priority. */
const yieldPauseTimeouts = 10;

/** Begins to hand over; without `to`, to the fittest voter. */
export function beginTransfer(raft: Raft, to: NodeId | undefined): void {
  const {role} = raft;
  const refuse = (reason: RefusalReason) =>
    raft.outbox.add({kind: 'refused', input: 'transfer', reason});
  if (role.kind !== 'leader') return refuse('not-leader');
  if (role.transfer !== undefined) return refuse('transferring');
  const target = fitTargets(raft, role).find(id => to === undefined || id === to);
  if (target === undefined) return refuse('target-unfit');
  const deadline = raft.now + raft.options.electionTimeoutMinMs;
  role.transfer = {to: target, deadline, asked: false};
}

/**
 * Tells the target to begin, once it holds the whole log and knows that all of it is committed:
 * then it has applied everything when it is elected, and who waits for a commit of this leader has
 * its answer. With `quorum=all` it is not waited for that: a member that answers nobody is a reason
 * to move the leadership.
 */
export function askTarget(raft: Raft, leadership: Leadership): void {
  const {commit, log, options} = raft;
  const {transfer, peers} = leadership;
  if (transfer === undefined || transfer.asked) return;
  const progress = peers.get(transfer.to);
  if (progress === undefined || progress.match < log.lastIndex) return;
  if (options.quorum === 'majority' && commit < log.lastIndex) return;
  if (progress.commitSent < commit) sendCommit(raft, leadership, transfer.to, progress, false);
  transfer.asked = true;
  raft.outbox.send(transfer.to, {kind: 'timeout-now', term: raft.term}, 'term');
}

/** Gives up a transfer that takes too long; offers leadership where priority says so. */
export function checkTransfer(raft: Raft, leadership: Leadership): void {
  const {transfer} = leadership;
  if (transfer !== undefined) {
    if (raft.now < transfer.deadline) return;
    leadership.transfer = undefined;
    raft.outbox.add({kind: 'transfer-failed', to: transfer.to});
    return;
  }
  if (raft.now < leadership.yieldDue) return;
  const mine = priorityOf(raft, raft.options.id);
  const [best] = fitTargets(raft, leadership);
  if (best === undefined || priorityOf(raft, best) <= mine) return;
  leadership.yieldDue = raft.now + raft.options.electionTimeoutMaxMs * yieldPauseTimeouts;
  beginTransfer(raft, best);
}

/** Voters that answer and are near, the fittest first: by priority, then by how near. */
export function fitTargets(raft: Raft, leadership: Leadership): readonly NodeId[] {
  const {options, log, now} = raft;
  const match = (id: NodeId) => leadership.peers.get(id)?.match ?? 0;
  return raft.voters
    .filter(id => {
      const progress = leadership.peers.get(id);
      if (progress === undefined || progress.mode !== 'replicate') return false;
      const heard = now - progress.heardAt < options.electionTimeoutMinMs;
      return heard && log.lastIndex - progress.match <= options.transferLagMax;
    })
    .sort(
      (left, right) =>
        priorityOf(raft, right) - priorityOf(raft, left) || match(right) - match(left),
    );
}

function priorityOf(raft: Raft, id: NodeId): number {
  return memberOf(raft.memberships.current, id)?.priority ?? 0;
}
