/**
 * The driver of consensus: one a node, on the thread that holds the coordinator. It gives the core
 * (raft/step.ts) what happens, one input at a time, and does what the core wants done, in order.
 *
 * Proposals of one turn of the event loop become one input, so they share one write and one
 * message a peer; their indexes are known at once, since nothing else is given to the core before
 * them. The parts of the work stand in driver/: the newest entries in memory, messages until they
 * may leave, questions of reads, and who waits for what a leader was asked for. A failed storage
 * ends it all (F1).
 *
 * Source: docs/design/0010-consensus.md, "The seam"; 0019-replicated-engine.md.
 */
import {assert} from '#server/base/assert.ts';
import {Fifo} from '#server/base/fifo.ts';
import type {Clock, Timers} from '#server/platform/clock.ts';
import type {Effect, RefusalReason, RoleName} from '#server/raft/effect.ts';
import type {Input} from '#server/raft/input.ts';
import {memberOf} from '#server/raft/membership.ts';
import type {Checkpoint, Membership, MembershipChange} from '#server/raft/membership.ts';
import type {
  AppendHead,
  Entry,
  LogIndex,
  LogPosition,
  Message,
  NodeId,
  Term,
} from '#server/raft/message.ts';
import {decodeMessage, UnreadableMessage} from '#server/raft/message-encoding.ts';
import type {Progress} from '#server/raft/progress.ts';
import {Raft, type RaftOptions, type Recovered} from '#server/raft/state.ts';
import {step} from '#server/raft/step.ts';
import {EntryCache} from './driver/entry-cache.ts';
import {LeaderRequests, refusedRequest} from './driver/leader-requests.ts';
import {ElectionClock} from './driver/election-clock.ts';
import {OutgoingMessages} from './driver/outgoing-messages.ts';
import {ReadIndexBatcher} from './driver/read-index-batcher.ts';
import {addressOfId} from './peer-directory.ts';
import type {PeerTransport} from './peer-transport.ts';
import type {RaftStorage} from './storage/raft-storage.ts';

/** What the rest of the server hears of; called from within a step, in the order of effects. */
export interface ReplicatorNews {
  /** Entries up to here are committed and durable on this node: apply them. */
  committed(through: LogIndex): void;
  roleChanged(role: Role): void;
  membershipChanged(membership: Membership): void;
  /** The leadership was to be handed over and stays: proposals are taken again. */
  transferFailed(): void;
  /** A checkpoint of at least this position is needed; ends with `installed` or `installFailed`. */
  checkpointNeeded(from: NodeId, atLeast: LogPosition): void;
  /** The storage failed: this node takes part no more. Called once. */
  failed(reason: string): void;
}

export interface Role {
  readonly name: RoleName;
  readonly term: Term;
  readonly leader: NodeId | undefined;
  /** A leader's first entry; once it is applied here, everything before it is known. */
  readonly firstIndex: LogIndex | undefined;
}

export interface ReplicatorOptions {
  readonly raft: RaftOptions;
  readonly recovered: Recovered;
  readonly storage: RaftStorage;
  readonly transport: PeerTransport;
  readonly clock: Clock;
  readonly timers: Timers;
  /** `svc.ha.groupCommitBatchSize`: proposals that share a write at most. */
  readonly proposalsMax: number;
  /** How many bytes of entries are kept in memory. */
  readonly cacheBytesMax: number;
  /** Different for every start of a process on every node. */
  readonly processId: string;
  /** A message of a peer that is no message; the connection is reset. */
  readonly unreadable: (from: NodeId, reason: string) => void;
  /** Whether the leadership is taken when a leader offers it. Default: it is. */
  readonly takesLeadership?: (() => boolean) | undefined;
}

/** A removed member keeps its connection for so long after it was sent the word of it. */
const letGoMs = 500;
/** Several a heartbeat, since timers of the core end at ticks. */
const ticksPerHeartbeat = 4;
/** A timer may be so much early. */
const timerErrorMs = 1;
export class Replicator {
  readonly #options: ReplicatorOptions;
  readonly #raft: Raft;
  readonly #cache: EntryCache;
  readonly #clock: ElectionClock;
  readonly #questions: ReadIndexBatcher;
  #news: ReplicatorNews | undefined;
  /** Removed members that were not told of it yet. */
  #leaving: readonly NodeId[] = [];
  #letGoAt = 0;
  #role: Role;
  readonly #inputs = new Fifo<Input>();
  #isStepping = false;
  #proposals: Uint8Array[] = [];
  #proposalBytes = 0;
  #flushIsDue = false;
  #durableNumber = 0;
  /** The number of the last write that was given to the storage. */
  #givenNumber = 0;
  #durableWaiters: {readonly number: number; readonly resolve: () => void}[] = [];
  /** Why the core refused the input of this step. */
  #refused: RefusalReason | undefined;
  readonly #requests = new LeaderRequests();
  readonly #outgoing: OutgoingMessages;
  #failure: string | undefined;
  #isClosed = false;

  constructor(options: ReplicatorOptions) {
    const {raft, recovered, clock, cacheBytesMax} = options;
    this.#options = options;
    this.#clock = new ElectionClock(clock, raft.electionTimeoutMinMs / 4);
    this.#raft = new Raft(raft, recovered, this.#clock.now());
    this.#cache = new EntryCache(this.#raft.log.lastIndex, cacheBytesMax);
    this.#outgoing = new OutgoingMessages({
      transport: options.transport,
      timers: options.timers,
      atHand: (after, through) => this.#cache.between(after, through),
      read: (after, through) => options.storage.read(after + 1, through, Number.POSITIVE_INFINITY),
      isCurrent: (head, entries) => this.#isCurrent(head, entries),
    });
    this.#role = {
      name: 'follower',
      term: recovered.term,
      leader: undefined,
      firstIndex: undefined,
    };
    this.#questions = new ReadIndexBatcher({
      idPrefix: options.processId,
      repeatMs: raft.electionTimeoutMinMs / 2,
      now: () => clock.monotonic(),
      yield: () => options.timers.yield(),
      ask: id => this.#take({kind: 'read', id}),
    });
  }

  /** Takes part from now on. */
  start(news: ReplicatorNews): void {
    const {storage, transport} = this.#options;
    this.#news = news;
    storage.listen({
      persisted: number => this.#persisted(number),
      failed: reason => this.fail(reason),
    });
    transport.listen({
      message: (from, bytes) => this.#receive(from, bytes),
      connected: () => {},
      lost: peer => this.#peerLost(peer),
      rejected: () => {},
    });
    this.#announceMembership(this.#raft.memberships.current);
    this.#tickLater();
  }

  get id(): NodeId {
    return this.#options.raft.id;
  }

  get role(): Role {
    return this.#role;
  }

  get failure(): string | undefined {
    return this.#failure;
  }

  get membership(): Membership {
    return this.#raft.memberships.current;
  }

  /**
   * Whether this server was ever told that it belongs to the group. One that was not is new there,
   * or has lost its memory.
   */
  get wasMember(): boolean {
    const {memberships} = this.#raft;
    return memberships.first.length > 0 || memberships.everHeld(this.id);
  }

  /** Where the membership in force stands in the log. */
  get membershipIndex(): LogIndex {
    return this.#raft.memberships.since;
  }

  /** This server was a member, and the others go on without it. */
  get wasRemoved(): boolean {
    const {current, since} = this.#raft.memberships;
    if (memberOf(current, this.id) !== undefined) return false;
    // Behind a start nobody says what is committed: no leader speaks to who was removed.
    if (this.#raft.commit < since && this.#role.leader !== undefined) return false;
    return this.wasMember;
  }

  get commitIndex(): LogIndex {
    return this.#raft.commit;
  }

  /** The newest entry in the log, or about to be: the next proposal follows it. */
  get lastIndex(): LogIndex {
    return this.#raft.log.lastIndex + this.#proposals.length;
  }

  /** Bytes that are ordered and not committed. */
  get uncommittedBytes(): number {
    const {log, commit} = this.#raft;
    return log.bytesBetween(commit, log.lastIndex) + this.#proposalBytes;
  }

  /** What a leader knows of the others; empty elsewhere. */
  get progress(): ReadonlyMap<NodeId, Progress> {
    const {role} = this.#raft;
    return role.kind === 'leader' ? role.peers : new Map<NodeId, Progress>();
  }

  /** Milliseconds since the peer was last heard, on the clock of `progress`. */
  silenceOf(progress: Progress): number {
    return this.#clock.now() - progress.heardAt;
  }

  /** A checkpoint of the state as of `index`, which is applied here. */
  checkpointAt(index: LogIndex): Checkpoint {
    const checkpoint = this.heldCheckpointAt(index);
    assert(checkpoint !== undefined, 'a checkpoint stands at an entry that is held');
    return checkpoint;
  }

  /** Works like `checkpointAt`; undefined when the log does not hold the entry any more. */
  heldCheckpointAt(index: LogIndex): Checkpoint | undefined {
    const term = this.#raft.log.termAt(index);
    if (term === undefined) return undefined;
    return {last: {index, term}, membership: this.#raft.memberships.at(index)};
  }

  /** Why nothing can be proposed now; undefined when `propose` will take it. */
  get obstacle(): 'not-leader' | 'transferring' | 'queue-full' | undefined {
    const {role, options} = this.#raft;
    if (role.kind !== 'leader' || this.#isOver()) return 'not-leader';
    if (role.transfer !== undefined) return 'transferring';
    return this.uncommittedBytes > options.uncommittedBytesMax ? 'queue-full' : undefined;
  }

  /** Orders one entry; call where there is no `obstacle`. The bytes change no more. */
  propose(data: Uint8Array): LogPosition {
    assert(this.obstacle === undefined, 'a proposal is admitted first');
    this.#proposals.push(data);
    this.#proposalBytes += data.length;
    if (!this.#flushIsDue) {
      this.#flushIsDue = true;
      void this.#options.timers.yield().then(() => {
        this.#flushIsDue = false;
        this.#run();
      });
    }
    return {index: this.lastIndex, term: this.#raft.term};
  }

  /**
   * Entries behind `after` up to `through`, from the first on as many as are at hand. At once from
   * memory; a promise when they have to be read, of undefined when they are gone.
   */
  entries(
    after: LogIndex,
    through: LogIndex,
    bytesMax: number,
  ): readonly Entry[] | Promise<readonly Entry[] | undefined> {
    const atHand = this.#cache.between(after, through);
    if (atHand !== undefined) return atHand;
    // Behind what is durable the disk may hold what is about to be cut off.
    const durable = Math.min(through, this.#raft.log.persistedIndex);
    return this.#options.storage.read(after + 1, durable, bytesMax);
  }

  /**
   * Resolves when the change is committed.
   *
   * @throws {Refusal} `cluster.not-leader`, `cluster.membership`, `cluster.no-quorum`: the
   *   leadership ended before; the change may have happened.
   */
  change(change: MembershipChange): Promise<void> {
    const refused = this.#takeRefusable({kind: 'change', change});
    if (refused !== undefined) return Promise.reject(refusedRequest(refused));
    const done = this.#requests.whenCommitted(this.#raft.memberships.since);
    this.#requests.committed(this.#raft.commit);
    return done;
  }

  /**
   * Hands the leadership over; resolves with who has it then.
   *
   * @throws {Refusal} `cluster.not-leader`, `cluster.membership`: nobody is fit to take it.
   */
  transfer(to: NodeId | undefined): Promise<NodeId> {
    const refused = this.#takeRefusable({kind: 'transfer', to});
    if (refused !== undefined) return Promise.reject(refusedRequest(refused));
    return this.#requests.whenTransferred();
  }

  /** The index from which on a read that begins now is linearizable. @throws `cluster.no-quorum` */
  readIndex(timeoutMs: number): Promise<LogIndex> {
    return this.#questions.wait(timeoutMs);
  }

  /** What is applied up to `through` is durable here: the log may begin behind it. */
  compact(through: LogIndex): void {
    if (this.#isOver() || through <= this.#raft.log.base.index) return;
    this.#options.storage.compact(this.checkpointAt(through));
    this.#take({kind: 'compact', through});
  }

  /** Bytes that the log takes on the disk. */
  get retainedBytes(): number {
    return this.#options.storage.retainedBytes;
  }

  /** Index of the entry before the first that is held. */
  get base(): LogPosition {
    return this.#raft.log.base;
  }

  /** A checkpoint that was needed is in place; resolves when the log durably begins behind it. */
  async installed(checkpoint: Checkpoint): Promise<void> {
    this.#take({kind: 'installed', checkpoint});
    const number = this.#givenNumber;
    if (number <= this.#durableNumber || this.#isOver()) return;
    await new Promise<void>(resolve => this.#durableWaiters.push({number, resolve}));
  }

  installFailed(): void {
    this.#take({kind: 'install-failed'});
  }

  /** Takes part no more; what was given to the storage becomes durable. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#questions.close();
    this.#endRequests('this server is stopping');
    await this.#options.transport.close();
    await this.#options.storage.close();
  }

  #isOver(): boolean {
    return this.#isClosed || this.#failure !== undefined;
  }

  #receive(from: NodeId, bytes: Buffer): void {
    let message: Message;
    try {
      message = decodeMessage(bytes);
    } catch (error) {
      if (!(error instanceof UnreadableMessage)) throw error;
      this.#options.unreadable(from, error.message);
      this.#options.transport.reset(from);
      return;
    }
    // What a lost memory had promised is not known: no vote before it is somebody new.
    const asksForVote = message.kind === 'vote' || message.kind === 'pre-vote';
    if (asksForVote && !this.wasMember) return;
    if (message.kind === 'timeout-now' && this.#options.takesLeadership?.() === false) return;
    this.#take({kind: 'message', from, message});
  }

  #persisted(number: number): void {
    this.#durableNumber = number;
    if (this.#durableWaiters.length > 0) this.#wakeDurableWaiters();
    this.#outgoing.durable(number);
    this.#take({kind: 'persisted', number});
    this.#cache.evict(this.#raft.log.persistedIndex);
  }

  #wakeDurableWaiters(): void {
    const waiters = this.#durableWaiters;
    this.#durableWaiters = waiters.filter(({number}) => number > this.#durableNumber);
    for (const {number, resolve} of waiters) if (number <= this.#durableNumber) resolve();
  }

  #takeRefusable(input: Input): RefusalReason | undefined {
    assert(!this.#isStepping, 'asked from outside of a step');
    this.#refused = undefined;
    this.#take(input);
    return this.#isOver() ? 'not-leader' : this.#refused;
  }

  #take(input: Input): void {
    this.#inputs.push(input);
    this.#run();
  }

  /** Gives the core what has gathered; what its effects bring about comes behind. */
  #run(): void {
    if (this.#isStepping) return;
    this.#isStepping = true;
    try {
      for (let input = this.#next(); input !== undefined; input = this.#next()) {
        for (const effect of step(this.#raft, this.#clock.now(), input)) this.#carryOut(effect);
      }
    } finally {
      this.#isStepping = false;
    }
  }

  /** Proposals come first: their indexes were promised. */
  #next(): Input | undefined {
    if (this.#isOver()) {
      this.#inputs.takeAll();
      this.#proposals = [];
      return undefined;
    }
    if (this.#proposals.length === 0) return this.#inputs.shift();
    const data = this.#proposals.slice(0, this.#options.proposalsMax);
    this.#proposals = this.#proposals.slice(data.length);
    for (const {length} of data) this.#proposalBytes -= length;
    return {kind: 'propose', data};
  }

  #carryOut(effect: Effect): void {
    switch (effect.kind) {
      case 'persist':
        this.#givenNumber = effect.number;
        this.#cache.write(effect);
        return this.#options.storage.persist(effect);
      case 'send':
        return this.#outgoing.send(effect);
      case 'send-entries':
        return this.#outgoing.sendEntries(effect);
      case 'apply':
        this.#requests.committed(this.#raft.commit);
        return this.#news?.committed(effect.through);
      case 'role':
        return this.#roleChanged(effect);
      case 'membership':
        return this.#announceMembership(effect.membership);
      case 'accepted':
        return;
      case 'refused':
        assert(effect.input !== 'propose', 'what is proposed was admitted');
        this.#refused = effect.reason;
        return;
      case 'read-ready':
        return this.#questions.ready(effect.id, effect.index);
      case 'read-failed':
        return this.#questions.failed(effect.id);
      case 'install':
        return this.#news?.checkpointNeeded(effect.from, effect.atLeast);
      case 'transfer-failed':
        this.#requests.transferFailed(`${effect.to} did not take over in time`);
        return this.#news?.transferFailed();
      default:
        effect satisfies never;
    }
  }

  /** Whether an append that was read from the disk is what the core would send still. */
  #isCurrent({term, previous}: AppendHead, entries: readonly Entry[]): boolean {
    const {log} = this.#raft;
    if (this.#isOver() || this.#raft.term !== term || !log.holds(previous)) return false;
    return entries.every((entry, at) => log.termAt(previous.index + 1 + at) === entry.term);
  }

  #roleChanged({role, term, leader}: Extract<Effect, {readonly kind: 'role'}>): void {
    const state = this.#raft.role;
    const firstIndex = role === 'leader' && state.kind === 'leader' ? state.firstIndex : undefined;
    this.#role = {name: role, term, leader, firstIndex};
    // A leader that removed itself leaves when that is committed.
    this.#requests.committed(this.#raft.commit);
    if (role !== 'leader') this.#requests.leadershipEnded('the leadership ended meanwhile');
    if (leader !== undefined && leader !== this.id) this.#requests.transferred(leader);
    this.#news?.roleChanged(this.#role);
  }

  #announceMembership(membership: Membership): void {
    this.#connect(membership);
    this.#news?.membershipChanged(membership);
  }

  #connect(membership: Membership): void {
    const others = new Set(membership.map(member => member.id));
    // Who was removed is told so, and loses its connections when it knows (`#letGo`).
    this.#leaving = [...this.progress.keys()].filter(peer => !others.has(peer));
    for (const peer of this.#leaving) others.add(peer);
    others.delete(this.id);
    this.#options.transport.setPeers([...others].map(addressOfId));
  }

  /** The word of its removal is on its way when the core forgets it. */
  #letGo(): void {
    if (this.#leaving.every(peer => this.progress.has(peer))) {
      this.#letGoAt = this.#clock.now() + letGoMs;
    } else if (this.#clock.now() >= this.#letGoAt) {
      this.#connect(this.membership);
    }
  }

  #endRequests(reason: string): void {
    this.#requests.leadershipEnded(reason);
    this.#requests.transferFailed(reason);
  }

  /** A peer's process has ended. If it led, an election is near, perhaps before the next tick. */
  #peerLost(peer: NodeId): void {
    this.#take({kind: 'peer-lost', id: peer});
    if (this.#role.leader !== undefined) return;
    const restMs = Math.max(0, this.#raft.electionDeadline - this.#clock.now());
    this.#options.timers.after(Math.ceil(restMs) + timerErrorMs, () => this.#tick());
  }

  #tickLater(): void {
    const {timers, raft} = this.#options;
    timers.after(raft.heartbeatMs / ticksPerHeartbeat, () => {
      if (this.#isOver()) return;
      this.#tick();
      this.#questions.tick();
      this.#tickLater();
    });
  }

  #tick(): void {
    if (this.#isOver()) return;
    // At a tick a peer may be let go, and is not told any more.
    this.#outgoing.tellAll();
    this.#take({kind: 'tick'});
    this.#letGo();
  }

  /** Takes part no more, and lets the others know at once. */
  fail(reason: string): void {
    if (this.#failure !== undefined) return;
    this.#failure = reason;
    this.#endRequests(reason);
    this.#news?.failed(reason);
    // The others are not to wait for a silence: connections that are refused tell them at once.
    void this.#options.transport.close();
  }
}
