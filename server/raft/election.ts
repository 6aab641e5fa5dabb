/**
 * Elections (paper 5.2, 5.4.1; pre-vote: thesis 9.6).
 *
 * Before it raises its term a node asks whether it would win; a node that hears a leader says no,
 * so that one that was cut off or removed disturbs nobody. A vote is given once a term, to a log
 * that holds no less than the voter's, and is durable before it is sent.
 */
import {isVoter} from './membership.ts';
import {atLeastAsLong, type NodeId, type PreVoteRequest, type VoteRequest} from './message.ts';
import {Progress} from './progress.ts';
import {voteResult} from './quorum.ts';
import {announceRole, follow} from './role.ts';
import {appendAsLeader} from './sending.ts';
import type {Campaign, Leadership, Raft} from './state.ts';

/** Asks for votes when the time has come and this node may lead. */
export function checkElectionTimer(raft: Raft): void {
  if (raft.now < raft.electionDeadline) return;
  if (mayCampaign(raft)) campaign(raft, 'pre-candidate');
  else raft.restartElectionTimer();
}

/**
 * A voter may lead, unless it never shall. So may a server whose removal may not be committed: if
 * its log is the longest, nobody else can win (thesis 4.2.2).
 */
export function mayCampaign(raft: Raft): boolean {
  const {memberships} = raft;
  const {id, neverLeads} = raft.options;
  if (neverLeads === true) return false;
  if (isVoter(memberships.current, id)) return true;
  const {previous} = memberships;
  return memberships.since > raft.commit && previous !== undefined && isVoter(previous, id);
}

/** A vote is written to two disks, one after the other, before it counts. */
const votingIntervals = 3;

/** Begins one of the two parts of an election; `transfer`: the leader asked for it. */
export function campaign(raft: Raft, kind: Campaign['kind'], transfer = false): void {
  const {id} = raft.options;
  const role: Campaign = {kind, votes: new Map()};
  raft.role = role;
  raft.restartElectionTimer(kind === 'candidate' ? votingIntervals : 1);
  const {last} = raft.log;
  if (kind === 'candidate') {
    raft.term++;
    raft.vote = id;
    raft.outbox.hardStateChanged();
  }
  announceRole(raft);
  for (const voter of raft.voters) {
    if (voter === id) continue;
    if (kind === 'candidate') {
      raft.outbox.send(voter, {kind: 'vote', term: raft.term, last, transfer}, votesRelyOn(raft));
    } else {
      raft.outbox.send(voter, {kind: 'pre-vote', term: raft.term + 1, last}, 'term');
    }
  }
  if (kind === 'pre-candidate') countVote(raft, role, id, true);
}

/**
 * A candidate asks while its own vote is being written, so an election is one write after another
 * less. What others grant binds them alone; what they must be able to trust is its log, so it waits
 * where that is not durable: after a crash it could ask again in this term with a shorter one, and
 * have the votes that the longer one got.
 */
function votesRelyOn({log}: Raft): 'nothing' | 'term' {
  return log.persistedIndex === log.lastIndex ? 'nothing' : 'term';
}

/** A candidate's own vote counts like everybody's: once it is durable. */
export function countOwnVote(raft: Raft, persisted: number): void {
  const {role, outbox, options} = raft;
  if (role.kind === 'candidate' && outbox.termIsDurable(persisted)) {
    countVote(raft, role, options.id, true);
  }
}

/** Takes a vote of the campaign that is under way. */
export function countVote(raft: Raft, role: Campaign, from: NodeId, granted: boolean): void {
  role.votes.set(from, granted);
  const result = voteResult(raft.voters, role.votes);
  if (result === 'open') return;
  // With the votes of the others alone it would lead a term that it may forget.
  if (result === 'won' && !role.votes.has(raft.options.id)) return;
  if (result === 'lost') {
    follow(raft, raft.term, undefined);
  } else if (role.kind === 'pre-candidate') {
    campaign(raft, 'candidate');
  } else {
    lead(raft);
  }
}

/** Would this node vote for such a candidate? Neither term nor vote changes. */
export function answerPreVote(raft: Raft, from: NodeId, request: PreVoteRequest): void {
  const isHeard = hearsLeader(raft);
  const holdsAll = atLeastAsLong(request.last, raft.log.last);
  const granted =
    request.term > raft.term && !isHeard && holdsAll && !goesFirst(raft, from, request);
  raft.preVoteRefused = isHeard ? {from, request} : undefined;
  const term = granted ? request.term : raft.term;
  raft.outbox.send(from, {kind: 'pre-vote-reply', term, granted}, 'term');
  if (raft.leaderLost === undefined || isHeard) return;
  const {heartbeatMs} = raft.options;
  if (granted) {
    // Its vote is on the way: to stand against it would split the votes.
    raft.electionDeadline = Math.max(raft.electionDeadline, raft.now + heartbeatMs);
  } else if (!holdsAll && raft.role.kind === 'follower') {
    // It cannot win, so nobody need wait for it.
    const turn = raft.now + heartbeatMs * raft.electionTurn(from);
    raft.electionDeadline = Math.min(raft.electionDeadline, turn);
    checkElectionTimer(raft);
  }
}

/** Decides between two that lost the same leader and ask each other at once. */
function goesFirst(raft: Raft, other: NodeId, {last}: PreVoteRequest): boolean {
  if (raft.leaderLost === undefined || raft.role.kind !== 'pre-candidate') return false;
  return raft.isBefore(other) && atLeastAsLong(raft.log.last, last);
}

/** Votes; the request is of this node's term, which it has taken over if it was behind. */
export function answerVote(raft: Raft, from: NodeId, request: VoteRequest): void {
  const free = raft.vote === undefined || raft.vote === from;
  const granted = free && raft.role.kind !== 'leader' && atLeastAsLong(request.last, raft.log.last);
  if (granted && raft.vote === undefined) {
    raft.vote = from;
    raft.outbox.hardStateChanged();
  }
  if (granted && raft.role.kind === 'pre-candidate') follow(raft, raft.term, undefined);
  if (granted) raft.restartElectionTimer(votingIntervals);
  raft.outbox.send(from, {kind: 'vote-reply', term: raft.term, granted}, 'term');
}

/**
 * Whether a leader is at work as far as this node can tell: it leads, or has heard a leader within
 * the shortest election timeout. Then it helps nobody to unseat that leader.
 */
export function hearsLeader(raft: Raft): boolean {
  const {role} = raft;
  if (role.kind === 'leader') return true;
  if (role.kind !== 'follower' || role.leader === undefined) return false;
  return raft.now - raft.leaderHeardAt < raft.options.electionTimeoutMinMs;
}

/**
 * The leader's process has ended: the others agree on a successor at once. Who noticed it first was
 * refused for the leader's sake, and need not ask again.
 */
export function leaderIsLost(raft: Raft, leader: NodeId): void {
  raft.leaderLost = leader;
  follow(raft, raft.term, undefined);
  raft.electionDeadline = raft.now + raft.options.heartbeatMs * raft.electionTurn();
  const {preVoteRefused} = raft;
  if (preVoteRefused !== undefined)
    answerPreVote(raft, preVoteRefused.from, preVoteRefused.request);
  checkElectionTimer(raft);
}

function lead(raft: Raft): void {
  const {log, now, options} = raft;
  raft.leaderLost = undefined;
  const peers = raft.memberships.current
    .filter(member => member.id !== options.id)
    .map(member => [member.id, new Progress(log.lastIndex, now)] as const);
  const role: Leadership = {
    kind: 'leader',
    peers: new Map(peers),
    firstIndex: log.lastIndex + 1,
    round: 0,
    heartbeatDue: now + options.heartbeatMs,
    waitingReads: [],
    readRound: undefined,
    transfer: undefined,
    yieldDue: now + options.electionTimeoutMinMs,
  };
  raft.role = role;
  announceRole(raft);
  appendAsLeader(raft, role, [{kind: 'empty', term: raft.term}]);
}
