/**
 * The follower's side of the log (paper 5.3; checkpoints: section 7).
 *
 * An append is taken when what stands before it is there; what contradicts it is cut off, and
 * nothing else is: an old append must not cut off what a newer one brought. What is committed is
 * never cut off. The answer waits for the disk.
 */
import {assert} from '#server/base/assert.ts';
import {type Checkpoint, MembershipHistory} from './membership.ts';
import type {Append, AppendReply, Entry, LogIndex, LogPosition, NodeId} from './message.ts';
import {heardLeader} from './role.ts';
import type {Raft} from './state.ts';

/** Takes the entries of the leader of this term, or says where the logs may agree. */
export function acceptAppend(raft: Raft, from: NodeId, append: Append): void {
  const {log, term} = raft;
  const {previous, entries, round} = append;
  heardLeader(raft);
  const reply = (message: AppendReply) => raft.outbox.send(from, message, 'log');
  if (previous.index < raft.commit) {
    // Of old: what is committed here agrees with every leader.
    reply({kind: 'append-reply', term, round, accepted: true, match: raft.commit});
    return;
  }
  if (!log.holds(previous)) {
    const index = log.lastAtMost(previous.index, previous.term);
    const hint = {index, term: log.termAt(index) ?? 0};
    const refused = previous.index;
    reply({kind: 'append-reply', term, round, accepted: false, refused, hint});
    return;
  }
  const match = previous.index + entries.length;
  takeEntries(raft, previous.index, entries);
  raft.commit = Math.max(raft.commit, Math.min(append.commit, match));
  reply({kind: 'append-reply', term, round, accepted: true, match});
}

/** The leader cannot send what is missing here: fetch a checkpoint, one at a time. */
export function acceptOffer(raft: Raft, from: NodeId, round: number, atLeast: LogPosition): void {
  heardLeader(raft);
  const {term, commit} = raft;
  if (commit < atLeast.index && !raft.installing) {
    raft.installing = true;
    raft.outbox.add({kind: 'install', from, atLeast});
  }
  const reply: AppendReply = {kind: 'append-reply', term, round, accepted: true, match: commit};
  raft.outbox.send(from, reply, 'log');
}

/** A checkpoint is in place and durable: the log goes on behind it. */
export function installed(raft: Raft, checkpoint: Checkpoint): void {
  const {log, memberships} = raft;
  const {last, membership} = checkpoint;
  raft.installing = false;
  if (last.index <= raft.commit) return;
  if (log.holds(last)) {
    // What follows was taken and answered: it stays.
    log.compact(last.index);
    memberships.compact(last.index);
  } else {
    log.restart(last);
    raft.memberships = new MembershipHistory(last.index, membership);
    raft.outbox.restart(checkpoint);
    raft.outbox.membershipChanged = true;
  }
  raft.commit = last.index;
  raft.applyOrdered = Math.max(raft.applyOrdered, last.index);
}

function takeEntries(raft: Raft, previous: LogIndex, entries: readonly Entry[]): void {
  const {log} = raft;
  const known = entries.findIndex((entry, i) => log.termAt(previous + 1 + i) !== entry.term);
  if (known < 0) return;
  const keepThrough = previous + known;
  assert(keepThrough >= raft.commit, 'what is committed is never cut off');
  const news = entries.slice(known);
  if (keepThrough < log.lastIndex) {
    log.truncate(keepThrough);
    raft.memberships.truncate(keepThrough);
    raft.outbox.membershipChanged = true;
  }
  raft.outbox.write(keepThrough, news);
  for (const entry of news) raft.appendEntry(entry);
}
