/**
 * One step of consensus: what happened goes in, what shall be done comes out. Start here.
 *
 * Raft keeps one log on several nodes. A majority elects a leader for a term; the leader puts
 * entries in order; what a majority holds durably is committed and never changes. This folder
 * decides and does nothing else: it has no disk, no network, no clock and no chance of its own.
 * The same inputs at the same times give the same effects, on every machine.
 *
 *   input.ts, effect.ts   the words between the core and its driver; the driver's duties
 *   message.ts            the words between nodes
 *   state.ts, role.ts     what a node knows, and how it changes roles
 *   election.ts           pre-vote, vote, winning
 *   replication.ts        the leader's side of the log; sending.ts how entries leave it
 *   acceptance.ts         the follower's side of the log
 *   reads.ts, transfer.ts, reconfiguration.ts
 *   quorum.ts, progress.ts, log-outline.ts, membership.ts   the arithmetic under it
 *
 * Time only ever decides when something is tried. Nothing that is said to be safe depends on it.
 *
 * Sources: Ongaro and Ousterhout, "In Search of an Understandable Consensus Algorithm" (sections
 * are the paper's) and Ongaro's thesis. What is shown by what: docs/design/0010-consensus.md.
 *
 * Invariant R1: no term has two leaders. Invariant R2: what is committed on one node is never
 * replaced on any. Invariant R3: a message never says what is not durable.
 */
import {assert, unreachable} from '#server/base/assert.ts';
import {acceptAppend, acceptOffer, installed} from './acceptance.ts';
import type {Effect} from './effect.ts';
import {
  answerPreVote,
  answerVote,
  campaign,
  checkElectionTimer,
  countOwnVote,
  countVote,
  hearsLeader,
  leaderIsLost,
  mayCampaign,
} from './election.ts';
import type {Input} from './input.ts';
import type {Message, NodeId} from './message.ts';
import {answerRead, read, readAnswered} from './reads.ts';
import {change, forgetRemoved, promoteJoined} from './reconfiguration.ts';
import {advanceCommit, answered, propose} from './replication.ts';
import {follow} from './role.ts';
import {heartbeat, tellCommit} from './sending.ts';
import type {Leadership, Raft} from './state.ts';
import {askTarget, beginTransfer, checkTransfer} from './transfer.ts';

/**
 * Takes one input at the time `now` (milliseconds of a clock that never goes back) and gives what
 * the driver has to do, in order.
 *
 * Throws AssertionFailure when an input breaks the contract or an invariant does not hold; the
 * node must then stop. Cost: O(entries + peers) of the input, besides sorting the voters.
 */
export function step(raft: Raft, now: number, input: Input): readonly Effect[] {
  assert(now >= raft.now, 'time does not go back');
  raft.now = now;
  takeInput(raft, input);
  if (raft.role.kind === 'leader') {
    tellCommit(raft, raft.role);
    askTarget(raft, raft.role);
  }
  const {log, outbox, memberships} = raft;
  if (outbox.membershipChanged) {
    const {since, current: membership} = memberships;
    outbox.add({kind: 'membership', since, membership});
  }
  const through = Math.min(raft.commit, log.persistedIndex);
  if (through > raft.applyOrdered) {
    raft.applyOrdered = through;
    outbox.add({kind: 'apply', through});
  }
  return outbox.take({term: raft.term, vote: raft.vote}, log.lastIndex, number =>
    log.writing(number),
  );
}

function takeInput(raft: Raft, input: Input): void {
  switch (input.kind) {
    case 'tick':
      return tick(raft);
    case 'message':
      return receive(raft, input.from, input.message);
    case 'propose':
      return propose(raft, input.data);
    case 'persisted':
      raft.log.persisted(input.number);
      countOwnVote(raft, input.number);
      if (raft.role.kind === 'leader') advanceCommit(raft, raft.role);
      return;
    case 'change':
      return change(raft, input.change);
    case 'transfer':
      return beginTransfer(raft, input.to);
    case 'read':
      return read(raft, input.id);
    case 'peer-lost':
      return peerLost(raft, input.id);
    case 'compact':
      assert(input.through <= raft.applyOrdered, 'only what is applied is forgotten');
      raft.log.compact(input.through);
      raft.memberships.compact(input.through);
      return;
    case 'installed':
      return installed(raft, input.checkpoint);
    case 'install-failed':
      raft.installing = false;
      return;
    default:
      unreachable(input);
  }
}

function tick(raft: Raft): void {
  const {role} = raft;
  if (role.kind !== 'leader') return checkElectionTimer(raft);
  if (!hearsQuorum(raft, role)) return follow(raft, raft.term, undefined);
  checkTransfer(raft, role);
  promoteJoined(raft, role);
  forgetRemoved(raft, role);
  if (raft.now >= role.heartbeatDue) heartbeat(raft, role);
}

/** A leader that no majority answers steps down: there may be another one (thesis 6.2). */
function hearsQuorum(raft: Raft, leadership: Leadership): boolean {
  const heardAt = (voter: NodeId) =>
    voter === raft.options.id ? raft.now : (leadership.peers.get(voter)?.heardAt ?? 0);
  return raft.now - raft.majorityReaches(heardAt) < raft.options.electionTimeoutMinMs;
}

function peerLost(raft: Raft, id: NodeId): void {
  const {role} = raft;
  if (role.kind === 'follower' && role.leader === id) return leaderIsLost(raft, id);
  if (role.kind !== 'leader') return;
  // What was under way is lost as well.
  const progress = role.peers.get(id);
  if (progress?.mode === 'replicate') progress.probe(progress.match + 1);
}

function receive(raft: Raft, from: NodeId, message: Message): void {
  if (message.term < raft.term) return refuseOld(raft, from, message);
  if (message.term > raft.term && !adoptTerm(raft, from, message)) return;
  const {role} = raft;
  switch (message.kind) {
    case 'pre-vote':
      return answerPreVote(raft, from, message);
    case 'vote':
      return answerVote(raft, from, message);
    case 'pre-vote-reply':
      if (role.kind !== 'pre-candidate') return;
      // A grant names the term of the election it was asked for; others are of the past.
      if (message.granted && message.term !== raft.term + 1) return;
      return countVote(raft, role, from, message.granted);
    case 'vote-reply':
      if (role.kind === 'candidate') countVote(raft, role, from, message.granted);
      return;
    case 'append':
    case 'snapshot':
      assert(role.kind !== 'leader', 'a term has one leader');
      follow(raft, raft.term, from);
      if (message.kind === 'append') acceptAppend(raft, from, message);
      else acceptOffer(raft, from, message);
      return;
    case 'append-reply':
      if (role.kind === 'leader') answered(raft, role, from, message);
      return;
    case 'timeout-now':
      if (mayCampaign(raft) && role.kind !== 'leader') campaign(raft, 'candidate', true);
      return;
    case 'read':
      return answerRead(raft, {id: message.id, from});
    case 'read-reply':
      return readAnswered(raft, message.id, message.index);
    default:
      unreachable(message);
  }
}

/**
 * A message of a higher term. False: it is dealt with, and the term stays: a pre-vote promises
 * nothing, and a vote that would unseat a leader at work is refused.
 */
function adoptTerm(raft: Raft, from: NodeId, message: Message): boolean {
  if (message.kind === 'pre-vote') return true;
  if (message.kind === 'pre-vote-reply' && message.granted) return true;
  if (message.kind === 'vote' && !message.transfer && hearsLeader(raft)) {
    raft.outbox.send(from, {kind: 'vote-reply', term: raft.term, granted: false}, 'term');
    return false;
  }
  const leads = message.kind === 'append' || message.kind === 'snapshot';
  follow(raft, message.term, leads ? from : undefined);
  return true;
}

/** A message of the past: its sender learns the present, where that helps it. */
function refuseOld(raft: Raft, from: NodeId, message: Message): void {
  const {term, log, outbox} = raft;
  switch (message.kind) {
    case 'append':
    case 'snapshot': {
      const {round} = message;
      const refused = message.kind === 'append' ? message.previous.index : 0;
      const hint = log.base;
      outbox.send(
        from,
        {kind: 'append-reply', term, round, accepted: false, refused, hint},
        'term',
      );
      return;
    }
    case 'vote':
      outbox.send(from, {kind: 'vote-reply', term, granted: false}, 'term');
      return;
    case 'pre-vote':
      outbox.send(from, {kind: 'pre-vote-reply', term, granted: false}, 'term');
      return;
    case 'read':
      return answerRead(raft, {id: message.id, from});
    case 'read-reply':
      return readAnswered(raft, message.id, message.index);
    default:
      return;
  }
}
