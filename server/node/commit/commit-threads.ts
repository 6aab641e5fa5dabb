/**
 * The commit pipe of a real server on its threads: the log thread and the apply thread beside the
 * network thread. In a cluster the log is the replicated one, and what is committed goes straight
 * to be applied.
 *
 * Start the threads early (`startCommitThreads`), they load while the data is recovered. The same
 * pipe on one thread: commit-tasks.ts.
 */
import {Worker} from 'node:worker_threads';
import {assert} from '#server/base/assert.ts';
import type {CommitPipeline} from '#server/transactions/commit-pipeline.ts';
import type {PipeParts} from '#server/engine/engine-options.ts';
import {createTailMemory} from '#server/log/log-tail-lease.ts';
import {InlineLogWriter} from '#server/log/inline-log-writer.ts';
import type {Clock} from '#server/platform/clock.ts';
import type {Disk} from '#server/platform/disk.ts';
import {createClock} from '#server/platform/real/clock.ts';
import {createDisk} from '#server/platform/real/disk.ts';
import type {Store} from '#server/storage/store.ts';
import {ApplyPipeline} from './apply-pipeline.ts';
import type {
  ApplyRequest,
  CommitThread,
  LentStore,
  LogNews,
  LogRequest,
  LogThreadStart,
  LogWorkerStart,
  WorkerNews,
} from './commit-messages.ts';
import {createRingMemory, type RingMemory} from './commit-ring.ts';
import {type EventLoop, nodeEventLoop} from './event-loop.ts';
import {type SpinFor, IdleSpin} from './idle-spin.ts';
import {LocalLogPipeline} from './local-log-pipeline.ts';
import {logSyncs} from './log-syncs.ts';
import {SingleClientDetector} from './single-client-detector.ts';
import {handleOf, type ThreadHandle} from './thread-channel.ts';

export interface CommitThreadsOptions {
  /** False in a cluster. Default: true. */
  readonly withLog?: boolean;
  /** Bytes of the ring; a power of two. Larger entries than an eighth of it travel outside. */
  readonly ringBytes?: number;
  /** Bytes of entries outside the ring that may wait. */
  readonly outsideBytesMax?: number;
  /** What the network thread writes single entries with. Default: the real ones. */
  readonly prompt?: {readonly disk: Disk; readonly clock: Clock};
  /** Where the threads are, and how they are reached. Default: workers. */
  readonly threads?: ThreadStarter;
}

/** Starts the threads of a commit pipe. */
export interface ThreadStarter {
  readonly loop: EventLoop;
  readonly startLog: (start: LogThreadStart) => ThreadHandle<LogRequest, LogNews>;
  readonly startApply: (ring: RingMemory) => ThreadHandle<ApplyRequest, WorkerNews>;
  readonly lend: (store: Store) => LentStore;
}

export interface CommitThreads {
  /**
   * Makes the pipe of a recovered engine, with or without a log as the threads are; once.
   * `spinFor`: where the machine can.
   */
  startPipe(parts: PipeParts, spinFor?: SpinFor): CommitPipeline;
  /** Ends the threads when no pipe was started (a refused start). */
  abandon(): Promise<void>;
  /**
   * A request of `client` begins, for whom all of them must be told (single-client-detector.ts).
   */
  readonly asked: (client: unknown) => void;
}

const ringBytesDefault = 4 << 20;
const outsideBytesDefault = 64 << 20;

/** Starts the threads; they wait for `startPipe`. */
export function startCommitThreads(options: CommitThreadsOptions = {}): CommitThreads {
  const {
    withLog = true,
    ringBytes = ringBytesDefault,
    outsideBytesMax = outsideBytesDefault,
    prompt: {disk, clock} = realPrompt(),
    threads = workers,
  } = options;
  const {loop, lend} = threads;
  const tail = createTailMemory();
  const client = new SingleClientDetector();
  const log = withLog ? startedLog(threads, {ring: createRingMemory(ringBytes), tail}) : undefined;
  // What is admitted into the log's ring finds room in this one.
  const applyRing = createRingMemory(withLog ? 2 * ringBytes : ringBytes);
  const apply = {thread: threads.startApply(applyRing), ring: applyRing, outsideBytesMax};
  return {
    startPipe(parts, spinFor = () => {}) {
      assert((log === undefined) === (parts.log === undefined), 'a log has its thread');
      const applies = new ApplyPipeline(apply, {...parts, loop, lend});
      if (log === undefined || parts.log === undefined) return applies;
      const {directory, logId} = parts.log;
      const appender = new InlineLogWriter({disk, directory, logId, memory: tail}, clock, {
        owes: false,
      });
      const prompt = parts.settings.walFlush === 2 ? appender : undefined;
      const awake = new IdleSpin(clock, spinFor);
      const logParts = {...parts, log: parts.log, prompt, client, awake, applies, loop};
      return new LocalLogPipeline({...log, outsideBytesMax}, logParts);
    },
    async abandon() {
      await Promise.all([log?.thread.terminate(), apply.thread.terminate()]);
    },
    asked: asking => client.onRequest(asking),
  };
}

function realPrompt(): {readonly disk: Disk; readonly clock: Clock} {
  const clock = createClock();
  return {disk: logSyncs.counting(createDisk(), clock), clock};
}

function startedLog(
  threads: ThreadStarter,
  start: LogThreadStart,
): Omit<CommitThread<LogRequest, LogNews>, 'outsideBytesMax'> {
  return {thread: threads.startLog(start), ring: start.ring};
}

/** The young generation of a log or apply thread: what they make ends with its batch. */
const resourceLimits = {maxYoungGenerationSizeMb: 8};

/** The threads of a server. */
const workers: ThreadStarter = {
  loop: nodeEventLoop,
  startLog: start => handleOf(startLogWorker('local', start), start.ring),
  startApply(ring) {
    const url = new URL('./apply-worker.ts', import.meta.url);
    return handleOf(new Worker(url, {workerData: {ring}, resourceLimits}), ring);
  },
  lend(store) {
    const {shareable} = store;
    assert(shareable !== undefined, 'threads need a store that threads can share');
    return shareable;
  },
};

/** The log thread of a server alone, or of a member of a cluster. */
export function startLogWorker(kind: 'local' | 'member', start: LogThreadStart): Worker {
  const url = new URL('./log-worker.ts', import.meta.url);
  return new Worker(url, {
    workerData: {...start, kind, syncs: logSyncs.memory} satisfies LogWorkerStart,
    resourceLimits,
  });
}
