/**
 * The leader's side of the log (paper 5.3, 5.4.2): proposals and answers come in, and what enough
 * voters hold is committed.
 *
 * Only an entry of the leader's own term is committed by counting; what stands before it is
 * committed with it (figure 8). The leader counts itself when its own disk has the entry, like
 * everybody else.
 */
import {assert} from '#server/base/assert.ts';
import type {AppendReply, LogIndex, NodeId} from './message.ts';
import type {Progress} from './progress.ts';
import {majorityOf, reachedBy} from './quorum.ts';
import {confirmReads, openReadRound} from './reads.ts';
import {afterCommit, noteCaughtUp} from './reconfiguration.ts';
import {appendAsLeader, sendEntries} from './sending.ts';
import type {Leadership, Raft} from './state.ts';

/** Takes data into the log, or refuses it as a whole. */
export function propose(raft: Raft, data: readonly Uint8Array[]): void {
  const {role, log, options} = raft;
  const refuse = (reason: 'not-leader' | 'transferring' | 'queue-full') =>
    raft.outbox.add({kind: 'refused', input: 'propose', reason});
  assert(data.length > 0, 'a proposal holds something');
  if (role.kind !== 'leader') return refuse('not-leader');
  if (role.transfer !== undefined) return refuse('transferring');
  const uncommitted = log.bytesBetween(raft.commit, log.lastIndex);
  if (uncommitted > options.uncommittedBytesMax) return refuse('queue-full');
  const {term} = raft;
  raft.outbox.add({kind: 'accepted', first: log.lastIndex + 1, term});
  appendAsLeader(
    raft,
    role,
    data.map(bytes => ({kind: 'data', term, data: bytes})),
  );
}

/** A peer answered an append or an offer. */
export function answered(
  raft: Raft,
  leadership: Leadership,
  from: NodeId,
  reply: AppendReply,
): void {
  const progress = leadership.peers.get(from);
  if (progress === undefined) return;
  progress.heardAt = raft.now;
  progress.answeredRound = Math.max(progress.answeredRound, reply.round);
  if (reply.accepted) accepted(raft, leadership, from, progress, reply.match);
  else refused(raft, progress, reply);
  // What follows may end the leadership, so each asks whether it still lasts.
  if (raft.role !== leadership) return;
  sendEntries(raft, leadership, from, progress);
  confirmReads(raft, leadership);
}

/**
 * Commits what enough voters hold durably. May end the leadership: a leader that removed itself
 * leaves when the others have agreed.
 */
export function advanceCommit(raft: Raft, leadership: Leadership): void {
  const {voters, options, log} = raft;
  const needed = options.quorum === 'all' ? voters.length : majorityOf(voters.length);
  const held = voters.map(voter =>
    voter === options.id ? log.persistedIndex : (leadership.peers.get(voter)?.match ?? 0),
  );
  const index = reachedBy(needed, held);
  if (index <= raft.commit || log.termAt(index) !== raft.term) return;
  raft.commit = index;
  if (leadership.waitingReads.length > 0) openReadRound(raft, leadership);
  afterCommit(raft, leadership);
}

function accepted(
  raft: Raft,
  leadership: Leadership,
  from: NodeId,
  progress: Progress,
  match: LogIndex,
): void {
  assert(match <= raft.log.lastIndex, 'nobody holds more of this log than its leader');
  const news = progress.accepted(match);
  const servable = progress.next > raft.log.base.index;
  if (progress.mode === 'probe' || (progress.mode === 'snapshot' && servable)) {
    progress.replicate();
  }
  if (news) advanceCommit(raft, leadership);
  if (raft.role !== leadership) return;
  noteCaughtUp(raft, leadership, from, progress);
}

function refused(
  raft: Raft,
  progress: Progress,
  reply: Extract<AppendReply, {readonly accepted: false}>,
): void {
  if (progress.mode === 'snapshot') return;
  // Where the logs agreed once they agree for ever: an old answer, or one that was overtaken.
  if (reply.refused <= progress.match) return;
  if (progress.mode === 'replicate') {
    progress.probe(progress.match + 1);
    return;
  }
  if (reply.refused !== progress.next - 1) return;
  progress.probe(raft.log.lastAtMost(reply.hint.index, reply.hint.term) + 1);
}
