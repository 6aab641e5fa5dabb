/**
 * How entries leave the leader (paper 5.3): as many appends as the window of each peer allows, one
 * at a time while it is not known where the logs agree, and the offer of a checkpoint to a peer
 * whose entries are gone.
 */
import {assert} from '#server/base/assert.ts';
import type {Entry, LogIndex, NodeId} from './message.ts';
import type {Progress} from './progress.ts';
import type {Leadership, Raft} from './state.ts';

/** Puts entries of this term at the end of the log and sends them on their way. */
export function appendAsLeader(
  raft: Raft,
  leadership: Leadership,
  entries: readonly Entry[],
): void {
  raft.outbox.write(raft.log.lastIndex, entries);
  for (const entry of entries) raft.appendEntry(entry);
  for (const [id, progress] of leadership.peers) sendEntries(raft, leadership, id, progress);
}

/** Says to everybody that the leader lives; finds out about losses; carries the next round. */
export function heartbeat(raft: Raft, leadership: Leadership): void {
  leadership.heartbeatDue = raft.now + raft.options.heartbeatMs;
  broadcast(raft, leadership);
}

/** One append, or offer of a checkpoint, to every peer under a new round. */
export function broadcast(raft: Raft, leadership: Leadership): void {
  leadership.round++;
  for (const [id, progress] of leadership.peers) {
    progress.resume();
    const sent = sendEntries(raft, leadership, id, progress);
    if (progress.mode === 'snapshot') offerSnapshot(raft, leadership, id);
    else if (!sent) sendAppend(raft, leadership, id, progress, progress.next - 1);
  }
}

/**
 * Tells the peers what is committed, where no append of this step did. Also those that have entries
 * on their way to the disk: there they are applied as soon as they are durable, not a round later.
 * Where entries flow the next ones bring the word along, so it need not go by itself.
 */
export function tellCommit(raft: Raft, leadership: Leadership): void {
  for (const [id, progress] of leadership.peers) {
    if (progress.commitSent < raft.commit && progress.mayTell) {
      sendCommit(raft, leadership, id, progress, true);
    }
  }
}

/**
 * Tells one peer what is committed, whether it has taken the last word or not.
 *
 * @param mayWait - Nobody relies on its being told at once.
 */
export function sendCommit(
  raft: Raft,
  leadership: Leadership,
  id: NodeId,
  progress: Progress,
  mayWait: boolean,
): void {
  // The log begins behind what it has: it is offered a snapshot when it is sent entries next.
  if (progress.next <= raft.log.base.index) return;
  sendAppend(raft, leadership, id, progress, progress.next - 1, mayWait);
  progress.told();
}

/** Sends what the window allows; false when nothing was sent. */
export function sendEntries(
  raft: Raft,
  leadership: Leadership,
  id: NodeId,
  progress: Progress,
): boolean {
  const {log, options} = raft;
  let sent = false;
  if (progress.mode !== 'snapshot' && progress.next <= log.base.index) progress.awaitSnapshot();
  while (progress.next <= log.lastIndex && progress.maySend(options.window)) {
    const through = appendEnd(raft, progress.next);
    const bytes = log.bytesBetween(progress.next - 1, through);
    sendAppend(raft, leadership, id, progress, through);
    progress.sent(through, bytes);
    sent = true;
  }
  return sent;
}

/** The last entry of an append that begins at `first`: as much as fits, at least one. */
function appendEnd(raft: Raft, first: LogIndex): LogIndex {
  const {log, options} = raft;
  const lastMax = Math.min(log.lastIndex, first + options.appendEntriesMax - 1);
  let through = first;
  while (through < lastMax && log.bytesBetween(first - 1, through + 1) <= options.appendBytesMax) {
    through++;
  }
  return through;
}

/** Sends the entries from `progress.next` to `through`; none when that is before it. */
function sendAppend(
  raft: Raft,
  leadership: Leadership,
  id: NodeId,
  progress: Progress,
  through: LogIndex,
  mayWait = false,
): void {
  const {term, log, commit} = raft;
  const index = progress.next - 1;
  const previousTerm = log.termAt(index);
  assert(previousTerm !== undefined, 'an append begins at an entry that is held');
  const previous = {index, term: previousTerm};
  const {round} = leadership;
  progress.commitSent = commit;
  const head = {kind: 'append', term, round, previous, commit} as const;
  raft.outbox.sendEntries(id, head, through, mayWait);
}

function offerSnapshot(raft: Raft, leadership: Leadership, id: NodeId): void {
  const {round} = leadership;
  const atLeast = raft.log.base;
  raft.outbox.send(id, {kind: 'snapshot', term: raft.term, round, atLeast}, 'term');
}
