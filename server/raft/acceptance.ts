/**
 * The follower's side of the log (paper 5.3; checkpoints: section 7).
 *
 * An append is taken when what stands before it is there; what contradicts it is cut off, and
 * nothing else is: an old append must not cut off what a newer one brought. What is committed is
 * never cut off. The answer to entries waits for the disk; that to a heartbeat says what is durable
 * already, so that a slow disk looks like no silence.
 */
import {assert} from '#server/base/assert.ts';
import {type Checkpoint, MembershipHistory} from './membership.ts';
import type {Append, AppendReply, Entry, LogIndex, NodeId, SnapshotOffer} from './message.ts';
import {heardLeader} from './role.ts';
import type {Raft} from './state.ts';

/** Takes the entries of the leader of this term, or says where the logs may agree. */
export function acceptAppend(raft: Raft, from: NodeId, append: Append): void {
  const {log, term} = raft;
  const {previous, entries, round} = append;
  heardLeader(raft);
  // Of old: what is committed here agrees with every leader.
  if (previous.index < raft.commit) return agree(raft, from, append, raft.commit);
  if (!log.holds(previous)) {
    const index = log.lastAtMost(previous.index, previous.term);
    const hint = {index, term: log.termAt(index) ?? 0};
    const refused = previous.index;
    const reply: AppendReply = {kind: 'append-reply', term, round, accepted: false, refused, hint};
    raft.outbox.send(from, reply, 'term');
    return;
  }
  const match = previous.index + entries.length;
  takeEntries(raft, previous.index, entries);
  raft.commit = Math.max(raft.commit, Math.min(append.commit, match));
  agree(raft, from, append, match);
}

/** The leader cannot send what is missing here: fetch a checkpoint, one at a time. */
export function acceptOffer(raft: Raft, from: NodeId, offer: SnapshotOffer): void {
  heardLeader(raft);
  const {commit} = raft;
  const {atLeast} = offer;
  if (commit < atLeast.index && !raft.installing) {
    raft.installing = true;
    raft.outbox.add({kind: 'install', from, atLeast});
  }
  agree(raft, from, offer, commit);
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

/** Says that the log agrees with the leader's up to `match`. */
function agree(raft: Raft, from: NodeId, asked: Append | SnapshotOffer, match: LogIndex): void {
  const {term, log} = raft;
  const durable = Math.min(match, log.persistedIndex);
  const waits = durable < match && asked.kind === 'append' && asked.entries.length > 0;
  const held = waits ? match : durable;
  const {round} = asked;
  const reply: AppendReply = {kind: 'append-reply', term, round, accepted: true, match: held};
  raft.outbox.send(from, reply, waits ? 'log' : 'term');
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
