/**
 * The log of a member of a cluster, as the engine sees it: proposals go to the replicator, and what
 * is committed comes back from there to be applied, whoever proposed it.
 *
 * An appended entry is `committed` when it is applied here under the term in which it was appended.
 * It never happened (`refused`) once an entry of a later term is applied at its place or before it:
 * the logs of all later leaders hold that one. Until either is known it is undecided, and after
 * `quorumTimeoutMs` it is told so (`unknown`).
 *
 * Appends are taken once everything in front of this node's leadership is applied here: before, the
 * coordinator would decide on what is not the newest state. Who was handed the leadership has that
 * when it is elected.
 */
import {assert} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import {Fifo} from '#server/base/fifo.ts';
import type {Clock, Timers} from '#server/platform/clock.ts';
import type {LogIndex, Term} from '#server/raft/message.ts';
import type {AppendResult, Refused} from '#server/transactions/commit.ts';
import {
  type CommitPipeline,
  type PipelineProgress,
  requireFlushed,
} from '#server/transactions/commit-pipeline.ts';
import type {EngineLog, EngineLogObserver} from '#server/engine/engine-log.ts';
import {PendingEntries} from '#server/transactions/pending-entries.ts';
import {CommittedFeed} from './driver/committed-feed.ts';
import {type LogFigures, LogPurge, type LogPurgeOptions} from './driver/log-purge.ts';
import type {Replicator, Role} from './replicator.ts';

export interface ReplicatedLogOptions {
  readonly replicator: Replicator;
  readonly pipe: CommitPipeline;
  readonly observer: EngineLogObserver;
  readonly clock: Clock;
  readonly timers: Timers;
  /** `svc.ha.quorumTimeout`. */
  readonly quorumTimeoutMs: () => number;
  /** `svc.ha.groupCommitQueueSize`: entries of this node that wait for their outcome. */
  readonly queueEntriesMax: number;
  /** `svc.ha.groupCommitOfferTimeout`: how long a commit waits for room in that queue. */
  readonly roomTimeoutMs: () => number;
  readonly purge: LogPurgeOptions;
}

/** An entry of this node that is not committed yet, as far as it knows. */
interface Appended {
  readonly index: LogIndex;
  readonly term: Term;
  readonly databaseId: number;
  readonly bytes: number;
  readonly onApplied: (() => void) | undefined;
  readonly deadline: number;
  /** Undefined once its outcome was given up. */
  resolve: ((result: AppendResult) => void) | undefined;
}

const lengthLookMs = 1_000;
/** Each holds a commit's operations. */
const roomWaitersMax = 10_000;

export class ReplicatedCommitLog implements EngineLog {
  readonly #options: ReplicatedLogOptions;
  readonly #pending: PendingEntries;
  readonly #feed: CommittedFeed;
  /** What this leadership appended, in the order of the log. */
  readonly #appended = new Fifo<Appended>();
  /** Index of the first entry of this node's leadership; undefined when it does not lead. */
  #leadsFrom: LogIndex | undefined;
  /** Everything in front of that entry is applied here: appends are taken. */
  #isReady = false;
  #failure: string | undefined;
  #stopping = false;
  #timerRuns = false;
  /** Commits that found the queue full, the one that waits for longest first. */
  #roomWaiters: (() => void)[] = [];
  readonly #purge: LogPurge;
  #oldestSnapshot: () => LogIndex | undefined = () => undefined;
  readonly #settledWaiters: (() => void)[] = [];

  constructor(options: ReplicatedLogOptions) {
    const {replicator, pipe, observer} = options;
    this.#options = options;
    this.#pending = new PendingEntries(pipe.startIndex, {isShared: true});
    this.#feed = new CommittedFeed({
      replicator,
      pipe,
      execute: (index, entry) => observer.execute(index, entry),
      pending: this.#pending,
      decided: (index, term) => this.#decided(index, term),
      follows: (index, entry) => observer.follows(index, entry),
      failed: reason => this.fail(reason),
      timers: options.timers,
      isAwaited: () =>
        this.#leadsFrom !== undefined || this.#appended.length > 0 || this.#pending.isAwaited,
    });
    this.#purge = new LogPurge(options.purge, options.clock.monotonic());
    this.#watchLength();
    pipe.listen(progress => this.#advance(progress));
  }

  get appliedIndex(): LogIndex {
    return this.#pending.appliedIndex;
  }

  get readableIndex(): LogIndex {
    return this.#options.pipe.applyStartedIndex;
  }

  readIndex(): Promise<LogIndex> {
    return this.#options.replicator.readIndex(this.#options.quorumTimeoutMs());
  }

  flushAcknowledged(): void {
    requireFlushed(this.#options.pipe);
  }

  get lastIndex(): LogIndex {
    const {replicator} = this.#options;
    return this.#leadsFrom === undefined ? this.#feed.enqueuedIndex : replicator.lastIndex;
  }

  get failure(): string | undefined {
    return this.#failure;
  }

  /** Appends are taken here: this node leads, and its state is the newest. */
  get isLeading(): boolean {
    return this.#isReady;
  }

  /** Entries up to `through` may be applied. */
  committed(through: LogIndex): void {
    this.#feed.extend(through);
  }

  roleChanged(role: Role): void {
    const led = this.#leadsFrom !== undefined;
    const wasReady = this.#isReady;
    this.#leadsFrom = role.firstIndex;
    this.#isReady = false;
    if (role.firstIndex !== undefined) {
      this.#feed.goOn();
      // Not from within a step of the core: who hears of it proposes.
      this.#options.timers
        .yield()
        .then(() => this.#checkLeadership())
        .catch((error: unknown) => this.fail(`the leadership cannot begin: ${String(error)}`));
    } else if (led) {
      // Who appends next is open, so nobody waits for a place behind what is known.
      this.#pending.wakeApplied(Number.POSITIVE_INFINITY);
      if (wasReady) this.#options.observer.leadershipEnded();
    }
  }

  admission(bytes: number): Refused | undefined {
    if (this.#failure !== undefined) return refused('log-failed', this.#failure);
    if (this.#stopping) return refused('stopping', 'the server is stopping');
    const {replicator, observer, queueEntriesMax} = this.#options;
    if (!this.isLeading) return refused('not-leader', notLeading(replicator.role));
    const isFull = this.#appended.length >= queueEntriesMax;
    const obstacle = isFull ? 'queue-full' : replicator.obstacle;
    if (obstacle === undefined) return observer.obstacle(bytes);
    if (obstacle === 'queue-full') return refused(obstacle, 'too many commits wait for a majority');
    return refused('not-leader', 'the leadership is being handed over');
  }

  whenRoom(): Promise<boolean> {
    const {timers, roomTimeoutMs} = this.#options;
    const timeoutMs = roomTimeoutMs();
    if (timeoutMs === 0 || this.#roomWaiters.length >= roomWaitersMax) {
      return Promise.resolve(false);
    }
    const {promise, resolve} = Promise.withResolvers<boolean>();
    const cancel = timers.after(timeoutMs, () => {
      this.#roomWaiters = this.#roomWaiters.filter(waiter => waiter !== told);
      resolve(false);
    });
    const told = (): void => {
      cancel();
      resolve(true);
    };
    this.#roomWaiters.push(told);
    return promise;
  }

  append(
    entry: Uint8Array,
    databaseId: number,
    onApplied?: () => void,
  ): {readonly index: LogIndex; readonly settled: Promise<AppendResult>} {
    const {replicator, clock} = this.#options;
    const quorumTimeoutMs = this.#options.quorumTimeoutMs();
    const {promise, resolve} = Promise.withResolvers<AppendResult>();
    const {index, term} = replicator.propose(Buffer.from(entry));
    const deadline = clock.monotonic() + quorumTimeoutMs;
    const bytes = entry.length;
    this.#appended.push({index, term, databaseId, bytes, onApplied, deadline, resolve});
    if (!this.#timerRuns) this.#watchDeadlines(quorumTimeoutMs);
    return {index, settled: promise};
  }

  async propose(entry: Uint8Array): Promise<AppendResult> {
    const obstacle = this.admission(entry.length);
    return obstacle ?? (await this.append(entry, 0).settled);
  }

  /**
   * Lets `work` change what the stores hold while nothing is applied. It answers the index up to
   * which they hold everything then; what is committed behind it is applied next. When it fails
   * all goes on as before.
   */
  async interrupted(work: () => Promise<LogIndex>): Promise<void> {
    await this.#feed.pause();
    let index = this.#feed.enqueuedIndex;
    try {
      if (this.#failure !== undefined || this.#stopping) {
        throw new Refusal('server.stopping', 'the server applies nothing more');
      }
      index = Math.max(index, await work());
    } finally {
      // Whether they are in what was put in place is not known.
      const detail = 'this server took another one’s state, which may hold it or not';
      while ((this.#appended.first?.index ?? Number.POSITIVE_INFINITY) <= index) {
        this.#appended.shift()?.resolve?.({kind: 'unknown', detail});
      }
      this.#feed.resume(index);
      this.#pending.wake(false);
      this.#wakeSettled();
    }
  }

  /** The log keeps the entries behind what `oldest` answers. */
  keepBehind(oldest: () => LogIndex | undefined): void {
    this.#oldestSnapshot = oldest;
  }

  /** The feed offers no position behind an entry that is not executed. */
  executedFloor(floor: LogIndex): LogIndex {
    return floor;
  }

  /** They are executed before their places are passed. */
  executed(): Promise<void> {
    return Promise.resolve();
  }

  recycle(floor: LogIndex): void {
    const figures = this.#figures;
    this.#options.replicator.compact(this.#purge.through(floor, figures));
  }

  stop(): void {
    this.#stopping = true;
    this.#wakeSettled();
  }

  async settled(): Promise<void> {
    if (this.#waitsForNobody) return;
    await new Promise<void>(resolve => this.#settledWaiters.push(resolve));
  }

  async whenApplied(index: LogIndex): Promise<void> {
    const isOver = this.#failure !== undefined || this.#stopping;
    if (isOver && index > this.#feed.enqueuedIndex) return;
    const applied = this.#pending.whenApplied(index);
    this.#feed.goOn();
    await applied;
  }

  fail(reason: string): void {
    if (this.#failure !== undefined) return;
    this.#failure = reason;
    // Who cannot apply must not lead either.
    this.#options.replicator.fail(reason);
    void this.#feed.stop();
    this.#pending.giveUp(reason);
    for (const {resolve} of this.#appended.takeAll()) resolve?.({kind: 'unknown', detail: reason});
    this.#options.observer.failed(reason);
    this.#pending.wake(true);
    this.#wakeSettled();
  }

  async close(): Promise<void> {
    await this.#feed.stop();
    await this.#options.replicator.close();
    this.#pending.wake(true);
  }

  /** An entry of this term is about to be applied at `index`: ours, or proof that ours are void. */
  #decided(index: LogIndex, term: Term): Appended | undefined {
    const oldest = this.#appended.first;
    if (oldest === undefined) return undefined;
    if (oldest.index === index && oldest.term === term) {
      this.#appended.shift();
      this.#roomWaiters.shift()?.();
      return oldest;
    }
    // All of one leadership: the next one begins when they are decided.
    if (oldest.term < term) this.#takeBack(index);
    return undefined;
  }

  /** Another leader's entry has the place `index`: what stood there or behind never happens. */
  #takeBack(index: LogIndex): void {
    const detail = 'another leader took over before a majority had the entry; nothing was stored';
    for (const {resolve} of this.#appended.takeAll()) resolve?.(refused('not-leader', detail));
    for (const told of this.#roomWaiters.splice(0)) told();
    this.#options.observer.takenBack(index - 1);
  }

  #advance(progress: PipelineProgress): void {
    const bytes = this.#pending.advance(progress);
    if (progress.failure !== undefined) this.fail(progress.failure);
    else this.#options.observer.advanced(bytes, progress.fences);
    this.#checkLeadership();
    this.#pending.wake(this.#stopping && this.#pending.isEmpty);
    this.#wakeSettled();
    this.#feed.goOn();
  }

  #checkLeadership(): void {
    // Who begins to lead looks into the stores; writing what is missing there may end up here.
    if (!this.#isNewLeader() || !this.#options.pipe.flushAcknowledged() || !this.#isNewLeader())
      return;
    assert(this.#appended.length === 0, 'what an earlier leadership appended is decided');
    this.#isReady = true;
    this.#options.observer.leads(this.appliedIndex);
  }

  /** Everything in front of this node's leadership is applied, and nobody was told so. */
  #isNewLeader(): boolean {
    const firstIndex = this.#leadsFrom;
    if (firstIndex === undefined || this.#isReady || this.#stopping) return false;
    return this.appliedIndex >= firstIndex - 1 && this.#failure === undefined;
  }

  get #figures(): LogFigures {
    const {replicator} = this.#options;
    const matches = [...replicator.progress.values()].map(({match}) => match);
    return {
      base: replicator.base.index,
      applied: this.appliedIndex,
      bytes: replicator.retainedBytes,
      slowest: matches.length === 0 ? undefined : Math.min(...matches),
      snapshot: this.#oldestSnapshot(),
    };
  }

  #watchLength(): void {
    const {clock, timers, observer} = this.#options;
    timers.after(lengthLookMs, () => {
      if (this.#stopping || this.#failure !== undefined) return;
      if (this.#purge.isDue(clock.monotonic(), this.#figures)) observer.isLong();
      this.#watchLength();
    });
  }

  /** Answers commits whose deadline passed as unknown; their entries may yet commit. */
  #watchDeadlines(delayMs: number): void {
    const {clock, timers} = this.#options;
    this.#timerRuns = true;
    timers.after(delayMs, () => {
      this.#timerRuns = false;
      const now = clock.monotonic();
      for (const appended of this.#appended) {
        if (appended.deadline > now) break;
        appended.resolve?.({kind: 'unknown', detail: 'no quorum answered in time (svc.ha.quorum)'});
        appended.resolve = undefined;
      }
      this.#wakeSettled();
      const next = nextDeadline(this.#appended, now);
      if (next !== undefined) this.#watchDeadlines(next - now);
    });
  }

  get #waitsForNobody(): boolean {
    return this.#pending.isEmpty && [...this.#appended].every(({resolve}) => resolve === undefined);
  }

  #wakeSettled(): void {
    if (this.#settledWaiters.length === 0 || !this.#waitsForNobody) return;
    for (const resolve of this.#settledWaiters.splice(0)) resolve();
  }
}

function nextDeadline(appended: Iterable<Appended>, now: number): number | undefined {
  for (const {deadline} of appended) if (deadline > now) return deadline;
  return undefined;
}

function refused(code: Refused['code'], detail: string): Refused {
  return {kind: 'refused', code, detail};
}

function notLeading({name, leader}: Role): string {
  if (name === 'leader') return 'this server was elected just now and is not ready yet';
  return leader === undefined ? 'no leader is known' : `${leader} leads`;
}
