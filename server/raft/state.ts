/**
 * The state of one node: what is durable, what its role knows, and what this step wants done.
 *
 * One object, owned by the driver and changed by `step` alone. Role-specific knowledge lives in
 * the role, so that it ends with it.
 */
import {assert} from '#server/base/assert.ts';
import {LogOutline} from './log-outline.ts';
import {type Membership, MembershipHistory, memberOf} from './membership.ts';
import {
  type EntryShape,
  entryBytes,
  type LogIndex,
  type LogPosition,
  type NodeId,
  type PreVoteRequest,
  type Term,
} from './message.ts';
import {Outbox} from './outbox.ts';
import type {Progress, Window} from './progress.ts';
import {majorityOf, reachedBy} from './quorum.ts';

export interface RaftOptions {
  readonly id: NodeId;
  /** Chance of this node; differs from node to node and from start to start. */
  readonly seed: number;
  readonly electionTimeoutMinMs: number;
  readonly electionTimeoutMaxMs: number;
  readonly heartbeatMs: number;
  /** Who must hold an entry before it is committed. Elections need a majority either way. */
  readonly quorum: 'majority' | 'all';
  /** This node votes and never stands for election; a cluster of such nodes alone has no leader. */
  readonly neverLeads?: boolean;
  readonly appendEntriesMax: number;
  readonly appendBytesMax: number;
  /** What may be under way to one peer; one append may exceed the bytes. */
  readonly window: Window;
  /** Bytes that are ordered and not committed, above which proposals are refused. */
  readonly uncommittedBytesMax: number;
  /** A target of a transfer may be this many entries behind. */
  readonly transferLagMax: number;
}

/** What is durable when a node starts; all zero and empty on a new one. */
export interface Recovered {
  readonly term: Term;
  readonly vote: NodeId | undefined;
  /** The entry before the first of `entries`, and the membership in force there. */
  readonly base: LogPosition;
  readonly membership: Membership;
  /** Gone through once, when the core is made. */
  readonly entries: Iterable<EntryShape>;
  /** `base.index` or more: entries behind it are to be applied, again where they were before. */
  readonly applied: LogIndex;
  /** `applied` or more: what any part of the applied state holds was committed. */
  readonly committed: LogIndex;
}

export interface Follower {
  readonly kind: 'follower';
  readonly leader: NodeId | undefined;
}

export interface Campaign {
  readonly kind: 'pre-candidate' | 'candidate';
  readonly votes: Map<NodeId, boolean>;
}

export interface PendingRead {
  readonly id: string;
  readonly from: NodeId;
}

export interface ReadRound {
  readonly round: number;
  readonly index: LogIndex;
  readonly reads: readonly PendingRead[];
}

export interface Transfer {
  readonly to: NodeId;
  readonly deadline: number;
  asked: boolean;
}

export interface Leadership {
  readonly kind: 'leader';
  /** Every member but this node. */
  readonly peers: Map<NodeId, Progress>;
  /** The index of the empty entry that this leader began with. */
  readonly firstIndex: LogIndex;
  round: number;
  heartbeatDue: number;
  waitingReads: PendingRead[];
  /** The question that is under way: whether this node leads still. */
  readRound: ReadRound | undefined;
  transfer: Transfer | undefined;
  /** Not before this time is leadership offered to a voter of higher priority. */
  yieldDue: number;
}

export type Role = Follower | Campaign | Leadership;

export class Raft {
  readonly options: RaftOptions;
  readonly log: LogOutline;
  memberships: MembershipHistory;
  readonly outbox = new Outbox();
  term: Term;
  vote: NodeId | undefined;
  role: Role = {kind: 'follower', leader: undefined};
  commit: LogIndex;
  now = 0;
  electionDeadline = 0;
  /** When the leader of this term was last heard. */
  leaderHeardAt = Number.NEGATIVE_INFINITY;
  /** The last leader, when its process has ended: the next election does not wait for a timeout. */
  leaderLost: NodeId | undefined;
  /** The last pre-vote that was refused for the leader's sake: once that is lost, it is granted. */
  preVoteRefused: {readonly from: NodeId; readonly request: PreVoteRequest} | undefined;
  installing = false;
  /** What the driver was last told to apply. */
  applyOrdered: LogIndex;
  #chance: number;

  /** Throws AssertionFailure when what was recovered cannot be what a node had persisted. */
  constructor(options: RaftOptions, recovered: Recovered, now: number) {
    assert(options.electionTimeoutMinMs > options.heartbeatMs, 'heartbeats come in time');
    assert(options.electionTimeoutMaxMs >= options.electionTimeoutMinMs, 'a range of timeouts');
    this.options = options;
    this.#chance = options.seed >>> 0;
    this.now = now;
    this.term = recovered.term;
    this.vote = recovered.vote;
    this.log = new LogOutline(recovered.base);
    this.memberships = new MembershipHistory(recovered.base.index, recovered.membership);
    for (const entry of recovered.entries) this.appendEntry(entry);
    this.log.allPersisted();
    this.outbox.membershipChanged = false;
    assert(recovered.term >= this.log.last.term, 'a log is never ahead of its term');
    const {applied, committed} = recovered;
    assert(applied >= recovered.base.index && applied <= committed, 'what is applied is committed');
    assert(committed <= this.log.lastIndex, 'what is committed is held');
    this.commit = committed;
    this.applyOrdered = applied;
    this.restartElectionTimer();
  }

  /** Uniform in [0, 1): a linear walk scrambled, the same for the same seed. */
  random(): number {
    this.#chance = (this.#chance + 0x9e3779b9) >>> 0;
    let mixed = this.#chance;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  }

  get voters(): readonly NodeId[] {
    return this.memberships.voters;
  }

  /** Puts an entry at the end of the log; a membership is in force from then on. */
  appendEntry(entry: EntryShape): void {
    this.log.append(entry.term, entryBytes(entry));
    if (entry.kind !== 'membership') return;
    this.memberships.add(this.log.lastIndex, entry.membership);
    this.outbox.membershipChanged = true;
  }

  /** The greatest value that a majority of the voters reaches. */
  majorityReaches(valueOf: (voter: NodeId) => number): number {
    const {voters} = this;
    return reachedBy(majorityOf(voters.length), voters.map(valueOf));
  }

  /**
   * The next election begins within the range of timeouts; soon, when the leader is known to be
   * gone: after so many heartbeat intervals and this node's turn.
   */
  restartElectionTimer(intervals = 1): void {
    const {electionTimeoutMinMs: min, electionTimeoutMaxMs: max, heartbeatMs} = this.options;
    const delayMs =
      this.leaderLost === undefined
        ? min + (max - min) * this.electionTurn()
        : heartbeatMs * (intervals + this.electionTurn());
    this.electionDeadline = this.now + delayMs;
  }

  /** Whether this node's turn comes before the other's: by priority, then by name. */
  isBefore(other: NodeId): boolean {
    const {id} = this.options;
    const priorityOf = (node: NodeId) => memberOf(this.memberships.current, node)?.priority ?? 0;
    const [mine, theirs] = [priorityOf(id), priorityOf(other)];
    return mine > theirs || (mine === theirs && id < other);
  }

  /**
   * When it is this node's turn to campaign, in [0, 1): those of higher priority come first, and
   * chance keeps equals apart: turn = u^2 with u uniform in [0, 1), so
   * timeout = min + (max - min) * u^2 and P(turn < x) = sqrt(x). For two equal voters:
   *
   * | | u | u^2 |
   * |---|---|---|
   * | expected turn of the first | 1/3 | 1/6 |
   * | both within 1/200 of the range | 1 % | 2 % |
   *
   * The first comes earlier, at the price of a second campaign a little more often. After the loss
   * of a leader that all notice at once chance is not enough, so each voter that is left has a turn
   * of its own, and leaves most of it to the answers; the first one waits for nobody, and nobody
   * for one that is `hopeless`: it cannot win.
   */
  electionTurn(hopeless?: NodeId): number {
    const {id} = this.options;
    const {current, priorities} = this.memberships;
    if (this.leaderLost !== undefined) {
      const gone = [this.leaderLost, hopeless];
      const left = current.filter(member => !gone.includes(member.id));
      const ahead = left.filter(member => member.id !== id && !this.isBefore(member.id));
      if (ahead.length === 0) return 0;
      return (ahead.length + this.random() / 4) / left.length;
    }
    // Asked with every message of a leader.
    const mine = memberOf(current, id)?.priority ?? 0;
    let ahead = 0;
    for (const priority of priorities) if (priority > mine) ahead++;
    const levels = priorities.includes(mine) ? priorities.length : priorities.length + 1;
    return (ahead + this.random() ** 2) / levels;
  }
}
