/**
 * The ways from role to role, but for winning an election (election.ts).
 *
 * A node's term only rises, and it forgets its vote only when its term rises.
 */
import {assert} from '#server/base/assert.ts';
import type {NodeId, Term} from './message.ts';
import type {Leadership, Raft} from './state.ts';

/**
 * Follows in `term`, which is the node's own or a higher one; `leader` when it is known. Reads
 * that wait here fail, a transfer under way is over.
 */
export function follow(raft: Raft, term: Term, leader: NodeId | undefined): void {
  assert(term >= raft.term, 'a term never falls');
  const {role} = raft;
  if (term > raft.term) {
    raft.term = term;
    raft.vote = undefined;
    raft.outbox.hardStateChanged();
  } else if (role.kind === 'follower' && role.leader === leader) {
    return;
  }
  if (role.kind === 'leader') endLeadership(raft, role);
  raft.role = {kind: 'follower', leader};
  if (leader !== undefined) raft.leaderLost = undefined;
  raft.restartElectionTimer();
  announceRole(raft);
}

/** A valid message of the leader of this term came. */
export function heardLeader(raft: Raft): void {
  raft.leaderHeardAt = raft.now;
  raft.restartElectionTimer();
}

/** Tells the driver who this node is now. */
export function announceRole(raft: Raft): void {
  const {role, term} = raft;
  raft.outbox.add({kind: 'role', role: role.kind, term, leader: knownLeader(raft)});
}

/** The leader of this term, as far as this node knows. */
export function knownLeader(raft: Raft): NodeId | undefined {
  const {role} = raft;
  if (role.kind === 'leader') return raft.options.id;
  return role.kind === 'follower' ? role.leader : undefined;
}

function endLeadership(raft: Raft, leadership: Leadership): void {
  const asked = leadership.readRound?.reads ?? [];
  for (const {id, from} of [...asked, ...leadership.waitingReads]) {
    if (from === raft.options.id) raft.outbox.add({kind: 'read-failed', id});
  }
}
