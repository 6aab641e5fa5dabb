/**
 * The commit pipe of a real server on its threads: the log thread and the apply thread beside the
 * network thread. In a cluster the log is the replicated one, and what is committed goes straight
 * to be applied.
 *
 * Start the threads early (`startCommitThreads`), they load while the data is recovered.
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
import {ApplyPipeline} from './apply-pipeline.ts';
import type {CommitThread, LogWorkerStart} from './commit-messages.ts';
import {createRingMemory} from './commit-ring.ts';
import {LocalLogPipeline} from './local-log-pipeline.ts';
import {SingleClientDetector} from './single-client-detector.ts';
import {type SpinFor, IdleSpin} from './idle-spin.ts';

export interface CommitThreadsOptions {
  /** False in a cluster. Default: true. */
  readonly withLog?: boolean;
  /** Bytes of the ring; a power of two. Larger entries than an eighth of it travel outside. */
  readonly ringBytes?: number;
  /** Bytes of entries outside the ring that may wait. */
  readonly outsideBytesMax?: number;
  /** With which the network thread writes single entries. Default: the real ones. */
  readonly prompt?: {readonly disk: Disk; readonly clock: Clock};
  /** Starts the log thread. Default: a real one. */
  readonly startLog?: (start: LogWorkerStart) => Worker;
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
  asked(client: unknown): void;
}

const ringBytesDefault = 4 << 20;
const outsideBytesDefault = 64 << 20;
const resourceLimits = {maxYoungGenerationSizeMb: 8};

/** Starts the threads; they wait for `startPipe`. */
export function startCommitThreads(options: CommitThreadsOptions = {}): CommitThreads {
  const {
    withLog = true,
    ringBytes = ringBytesDefault,
    outsideBytesMax = outsideBytesDefault,
    prompt: {disk, clock} = {disk: createDisk(), clock: createClock()},
    startLog = startLogThread,
  } = options;
  const tail = createTailMemory();
  const client = new SingleClientDetector();
  const started = (bytes: number, start: (data: LogWorkerStart) => Worker): CommitThread => {
    const ring = createRingMemory(bytes);
    return {worker: start({ring, tail}), ring, outsideBytesMax};
  };
  const log = withLog ? started(ringBytes, startLog) : undefined;
  const applyBytes = withLog ? 2 * ringBytes : ringBytes;
  const apply = started(applyBytes, workerData => {
    return new Worker(new URL('./apply-worker.ts', import.meta.url), {workerData, resourceLimits});
  });
  return {
    startPipe(parts, spinFor = () => {}) {
      assert((log === undefined) === (parts.log === undefined), 'a log has its thread');
      const applies = new ApplyPipeline(apply, parts);
      if (log === undefined || parts.log === undefined) return applies;
      const {directory, logId} = parts.log;
      const appender = new InlineLogWriter({disk, directory, logId, memory: tail}, clock, {
        owes: false,
      });
      const prompt = parts.settings.walFlush === 2 ? appender : undefined;
      const awake = new IdleSpin(clock, spinFor);
      return new LocalLogPipeline(log, {...parts, log: parts.log, prompt, client, awake, applies});
    },
    async abandon() {
      await Promise.all([log?.worker.terminate(), apply.worker.terminate()]);
    },
    asked: asking => client.onRequest(asking),
  };
}

function startLogThread(workerData: LogWorkerStart): Worker {
  return new Worker(new URL('./log-worker.ts', import.meta.url), {workerData, resourceLimits});
}
