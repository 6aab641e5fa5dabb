/** An engine on the real disk with RocksDB, inline, for tests that damage or copy its files. */
import {createClock, createRandom, createTimers} from '#server/platform/real/clock.ts';
import {createDisk} from '#server/platform/real/disk.ts';
import {openStore} from '#server/storage/rocksdb/open.ts';
import {type Engine, openEngine} from '#server/engine/engine.ts';
import type {EngineSettings} from '#server/engine/engine-options.ts';
import {commitTasks, nodeScheduler} from '#server/node/commit/commit-tasks.ts';
import {defaultEngineSettings} from '#server/engine/settings.ts';
import {createDiskStoreFactory} from '#server/engine/store-factory.ts';

export interface DiskEngineOptions {
  readonly rootPath: string;
  readonly nodeName?: string;
  readonly settings?: Partial<EngineSettings>;
  /** Told of every logged event. */
  readonly onEvent?: (event: string) => void;
}

export function openDiskEngine(options: DiskEngineOptions): Promise<Engine> {
  const disk = createDisk();
  return openEngine({
    rootPath: options.rootPath,
    nodeName: options.nodeName ?? 'one',
    disk,
    clock: createClock(),
    timers: createTimers(),
    random: createRandom(),
    logger: {log: (_level, event) => options.onEvent?.(event)},
    stores: createDiskStoreFactory(disk, openStore),
    settings: {...defaultEngineSettings, segmentBytes: 1 << 20, ...options.settings},
    startPipe: commitTasks({scheduler: nodeScheduler}),
  });
}
