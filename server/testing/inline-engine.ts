/**
 * A real engine (RocksDB on disk) whose commits run on the caller's thread and are not synced:
 * for tests of what lies above it. `close` removes everything.
 */
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {createClock, createRandom} from '#server/platform/real/clock.ts';
import {createDisk} from '#server/platform/real/disk.ts';
import {openStore} from '#server/storage/rocksdb/open.ts';
import {type Engine, openEngine} from '#server/transactions/engine.ts';
import {InlinePipe} from '#server/transactions/inline-pipe.ts';
import {defaultEngineSettings} from '#server/transactions/settings.ts';
import {createDiskStoreFactory} from '#server/transactions/store-factory.ts';

export interface InlineEngine {
  readonly engine: Engine;
  close(): Promise<void>;
}

export async function openInlineEngine(): Promise<InlineEngine> {
  const base = mkdtempSync(join(tmpdir(), 'svc-inline-'));
  const disk = createDisk();
  const engine = await openEngine({
    rootPath: join(base, 'root'),
    nodeName: 'one',
    disk,
    clock: createClock(),
    random: createRandom(),
    logger: {log: () => {}},
    stores: createDiskStoreFactory(disk, openStore),
    settings: {...defaultEngineSettings, segmentBytes: 1 << 20, walFlush: 0},
    process: {pid: process.pid, isAlive: () => false},
    startPipe: ({log, applier}) =>
      new InlinePipe({
        log,
        applier,
        schedule: task => setImmediate(task),
        syncCommits: false,
        queueBytesMax: 64 << 20,
      }),
  });
  return {
    engine,
    async close() {
      await engine.close();
      rmSync(base, {recursive: true, force: true});
    },
  };
}
