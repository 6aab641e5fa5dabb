/**
 * Linearizable reads without writing (thesis 6.4), and without trusting any clock.
 *
 * The leader notes its commit index, asks a majority whether it leads still, and only then tells
 * the index: whatever was acknowledged before the read began stands at or below it. Reads that
 * come while a question is under way share the next one. A leader that has committed nothing of
 * its own yet does not know what is committed, so reads wait for that.
 *
 * Leader and follower are a majority of three voters: who asks answers for itself, and is told at
 * once. When it asked it had voted in no later term than the leader's, and the leader has not until
 * now, so nobody led one when the read began, however long the question was on its way.
 */
import type {LogIndex, NodeId} from './message.ts';
import {knownLeader} from './role.ts';
import {broadcast} from './sending.ts';
import type {Leadership, PendingRead, Raft} from './state.ts';

/** A read of this node: asked of the leader wherever it is. */
export function read(raft: Raft, id: string): void {
  const {role, options, term} = raft;
  if (role.kind === 'leader') return readAsLeader(raft, role, {id, from: options.id});
  const leader = knownLeader(raft);
  if (leader === undefined) raft.outbox.add({kind: 'read-failed', id});
  else raft.outbox.send(leader, {kind: 'read', term, id}, 'term');
}

/** A read that another node passes on. */
export function answerRead(raft: Raft, request: PendingRead): void {
  const {role} = raft;
  if (role.kind !== 'leader') return tell(raft, request, undefined);
  const knowsCommit = raft.commit >= role.firstIndex;
  if (knowsCommit && isMajorityWith(raft, request.from)) tell(raft, request, raft.commit);
  else readAsLeader(raft, role, request);
}

/** The leader's answer to a read that was passed on. */
export function readAnswered(raft: Raft, id: string, index: LogIndex | undefined): void {
  if (index === undefined) raft.outbox.add({kind: 'read-failed', id});
  else raft.outbox.add({kind: 'read-ready', id, index});
}

/** Begins to ask for everything that waits, unless a question is under way. */
export function openReadRound(raft: Raft, leadership: Leadership): void {
  if (leadership.readRound !== undefined || leadership.waitingReads.length === 0) return;
  if (raft.commit < leadership.firstIndex) return;
  const reads = leadership.waitingReads;
  leadership.waitingReads = [];
  broadcast(raft, leadership);
  leadership.readRound = {round: leadership.round, index: raft.commit, reads};
  confirmReads(raft, leadership);
}

/** Answers the reads whose round a majority has answered. */
export function confirmReads(raft: Raft, leadership: Leadership): void {
  const open = leadership.readRound;
  if (open === undefined || confirmedRound(raft, leadership) < open.round) return;
  leadership.readRound = undefined;
  for (const request of open.reads) tell(raft, request, open.index);
  openReadRound(raft, leadership);
}

function readAsLeader(raft: Raft, leadership: Leadership, request: PendingRead): void {
  leadership.waitingReads.push(request);
  openReadRound(raft, leadership);
}

function isMajorityWith(raft: Raft, other: NodeId): boolean {
  const isOne = (voter: NodeId) => voter === raft.options.id || voter === other;
  return raft.majorityReaches(voter => (isOne(voter) ? 1 : 0)) === 1;
}

function confirmedRound(raft: Raft, leadership: Leadership): number {
  const answered = (voter: NodeId) =>
    voter === raft.options.id
      ? leadership.round
      : (leadership.peers.get(voter)?.answeredRound ?? 0);
  return raft.majorityReaches(answered);
}

function tell(raft: Raft, {id, from}: PendingRead, index: LogIndex | undefined): void {
  if (from === raft.options.id) readAnswered(raft, id, index);
  else raft.outbox.send(from, {kind: 'read-reply', term: raft.term, id, index}, 'term');
}
