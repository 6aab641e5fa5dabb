/**
 * The log of a member from its opening to its running: first what the recovery of the databases
 * asks of it, then, with the pipe that they are served by, the replicator and the engine's log.
 */
import {assert} from '#server/base/assert.ts';
import type {Clock, Timers} from '#server/platform/clock.ts';
import type {EntryShape, LogIndex} from '#server/raft/message.ts';
import type {RaftOptions} from '#server/raft/state.ts';
import type {CommitPipeline} from '#server/transactions/commit-pipeline.ts';
import type {EngineLog, EngineLogObserver, MemberLog} from '#server/engine/engine-log.ts';
import type {PeerTransport} from '../peer-transport.ts';
import type {RaftStorage} from './raft-storage.ts';
import type {RecoveredLog} from '../stored-log.ts';
import {ReplicatedCommitLog, type ReplicatedLogOptions} from '../replicated-commit-log.ts';
import {Replicator, type ReplicatorNews, type ReplicatorOptions} from '../replicator.ts';

export interface OpenedLog {
  /** The group's log id, equal on all members: a database tells by it whose entries it applied. */
  readonly logId: string;
  /** Names this node's memory of terms and votes; it is lost only with that memory. */
  readonly storageId: string;
  readonly storage: RaftStorage;
  readonly recovered: RecoveredLog;
}

export interface MemberLogOptions
  extends Pick<ReplicatorOptions, 'cacheBytesMax' | 'processId' | 'proposalsMax' | 'unreadable'> {
  readonly raft: RaftOptions;
  readonly log: OpenedLog;
  readonly transport: PeerTransport;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly takesLeadership?: ReplicatorOptions['takesLeadership'];
  /** `svc.ha.quorumTimeout`. */
  readonly quorumTimeoutMs: () => number;
  /** `svc.ha.groupCommitQueueSize`. */
  readonly queueEntriesMax: number;
  /** `svc.ha.groupCommitOfferTimeout`. */
  readonly roomTimeoutMs: () => number;
  readonly purge: ReplicatedLogOptions['purge'];
  /** The member runs. */
  readonly started: (member: RunningMember) => void;
  /** Told of everything, after the log. */
  readonly news: Pick<ReplicatorNews, Exclude<keyof ReplicatorNews, 'committed' | 'failed'>>;
}

export interface RunningMember {
  readonly replicator: Replicator;
  readonly log: ReplicatedCommitLog;
}

export class ReplicatedMemberLog implements MemberLog {
  readonly logId: string;
  readonly #options: MemberLogOptions;
  readonly #entries: readonly EntryShape[];

  constructor(options: MemberLogOptions) {
    const {logId, recovered} = options.log;
    this.#options = options;
    this.logId = logId;
    this.#entries = [...recovered.entries];
  }

  get firstIndex(): LogIndex {
    return this.#options.log.recovered.base.index + 1;
  }

  get lastIndex(): LogIndex {
    return this.firstIndex + this.#entries.length - 1;
  }

  /** An entry's term: two entries of one group that share index and term are the same. */
  chainAt(index: LogIndex): number | undefined {
    const {base} = this.#options.log.recovered;
    const term = index === base.index ? base.term : this.#entries[index - base.index - 1]?.term;
    return term === undefined ? undefined : term >>> 0;
  }

  start(pipe: CommitPipeline, observer: EngineLogObserver, committed: LogIndex): EngineLog {
    const {clock, timers, log, news, raft, quorumTimeoutMs, queueEntriesMax} = this.#options;
    const {roomTimeoutMs, purge} = this.#options;
    const {storage, recovered} = log;
    assert(pipe.startIndex <= this.lastIndex, 'what is applied is held or forgotten');
    const {transport, cacheBytesMax, processId, proposalsMax, unreadable} = this.#options;
    const replicator = new Replicator({
      raft,
      recovered: {...recovered, entries: this.#entries, applied: pipe.startIndex, committed},
      storage,
      transport,
      clock,
      timers,
      cacheBytesMax,
      processId,
      proposalsMax,
      unreadable,
      takesLeadership: this.#options.takesLeadership,
    });
    const engineLog = new ReplicatedCommitLog({
      replicator,
      pipe,
      observer,
      clock,
      timers,
      quorumTimeoutMs,
      queueEntriesMax,
      roomTimeoutMs,
      purge,
    });
    this.#options.started({replicator, log: engineLog});
    replicator.start({
      committed: through => engineLog.committed(through),
      roleChanged: role => {
        engineLog.roleChanged(role);
        news.roleChanged(role);
      },
      membershipChanged: membership => news.membershipChanged(membership),
      transferFailed: () => news.transferFailed(),
      checkpointNeeded: (from, atLeast) => news.checkpointNeeded(from, atLeast),
      failed: reason => engineLog.fail(reason),
    });
    return engineLog;
  }

  async abandon(): Promise<void> {
    await this.#options.transport.close();
    await this.#options.log.storage.close();
  }
}
