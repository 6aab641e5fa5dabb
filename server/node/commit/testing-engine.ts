/** An engine on the threads of a real server and a real disk, for tests. */
import {type Engine, openEngine} from '#server/engine/engine.ts';
import {defaultEngineSettings} from '#server/engine/settings.ts';
import {createDiskStoreFactory} from '#server/engine/store-factory.ts';
import {createClock, createRandom, createTimers} from '#server/platform/real/clock.ts';
import {createDisk} from '#server/platform/real/disk.ts';
import {openStore, type RocksStoreOptions} from '#server/storage/rocksdb/open.ts';
import type {CommitThreads} from './commit-threads.ts';

export function openThreadedEngine(
  rootPath: string,
  threads: CommitThreads,
  options: RocksStoreOptions = {},
): Promise<Engine> {
  const disk = createDisk();
  return openEngine({
    rootPath,
    nodeName: 'one',
    disk,
    clock: createClock(),
    timers: createTimers(),
    random: createRandom(),
    logger: {log: () => {}},
    stores: createDiskStoreFactory(disk, (path, given) => openStore(path, {...given, ...options})),
    settings: {...defaultEngineSettings, segmentBytes: 2 << 20},
    startPipe: threads.startPipe,
  });
}
