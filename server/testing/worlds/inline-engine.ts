/**
 * A real engine (RocksDB on disk) whose commits run on the caller's thread and whose files are not
 * synced: for tests of what lies above it. `close` removes everything.
 */
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {createClock, createRandom, createTimers} from '#server/platform/real/clock.ts';
import type {Disk} from '#server/platform/disk.ts';
import {createDisk} from '#server/platform/real/disk.ts';
import {openStore} from '#server/storage/rocksdb/open.ts';
import {type Engine, openEngine} from '#server/engine/engine.ts';
import type {CommitPipeline} from '#server/transactions/commit-pipeline.ts';
import {commitTasks, nodeScheduler} from '#server/node/commit/commit-tasks.ts';
import {defaultEngineSettings} from '#server/engine/settings.ts';
import {createDiskStoreFactory, type StoreFactory} from '#server/engine/store-factory.ts';

export interface InlineEngine {
  readonly engine: Engine;
  close(): Promise<void>;
}

export interface InlineEngineOptions {
  /**
   * Reports of the commit pipe arrive some turns after what they report is in the store, as they
   * do when it is applied on a thread of its own.
   */
  readonly reportsLate?: boolean;
  /** Where it lies, and stays after `close`. Default: a directory of its own. */
  readonly rootPath?: string;
  /** Where its stores come from. Default: RocksDB on disk. */
  readonly stores?: StoreFactory;
  /** Where its other files lie. Default: files of this machine that are not synced. */
  readonly disk?: Disk;
  /** Bytes that one transaction may write. Default: the engine's. */
  readonly writeBytesMax?: number;
}

export async function openInlineEngine({
  reportsLate = false,
  rootPath,
  stores,
  disk = unsyncedDisk(),
  writeBytesMax = defaultEngineSettings.transaction.writeBytesMax,
}: InlineEngineOptions = {}): Promise<InlineEngine> {
  const base = rootPath === undefined ? mkdtempSync(join(tmpdir(), 'svc-inline-')) : undefined;
  const engine = await openEngine({
    rootPath: rootPath ?? join(base ?? tmpdir(), 'root'),
    nodeName: 'one',
    disk,
    clock: createClock(),
    timers: createTimers(),
    random: createRandom(),
    logger: {log: () => {}},
    stores: stores ?? createDiskStoreFactory(disk, openStore),
    settings: {
      ...defaultEngineSettings,
      segmentBytes: 1 << 20,
      walFlush: 0,
      transaction: {...defaultEngineSettings.transaction, writeBytesMax},
    },
    startPipe: parts => {
      const pipe = commitTasks({scheduler: nodeScheduler, disk})(parts);
      if (reportsLate) delayReports(pipe);
      return pipe;
    },
  });
  return {
    engine,
    async close() {
      await engine.close();
      if (base !== undefined) rmSync(base, {recursive: true, force: true});
    },
  };
}

/** Nothing of a test outlives a loss of power, and a sync waits for all that others write. */
function unsyncedDisk(): Disk {
  const disk = createDisk();
  return {
    ...disk,
    open: (path, mode) => Object.assign(disk.open(path, mode), {sync: () => {}}),
    syncDirectory: () => {},
  };
}

function delayReports(pipe: CommitPipeline): void {
  const listen = pipe.listen.bind(pipe);
  pipe.listen = listener => {
    listen(progress => {
      const arrive = (turns: number): void => {
        if (turns === 0) listener(progress);
        else setImmediate(() => arrive(turns - 1));
      };
      // As many turns for each, so that they arrive in order.
      arrive(3);
    });
  };
}
