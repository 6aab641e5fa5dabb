/** Opens the engine of a server with the disk, the stores and the settings that it is given. */
import {resolve} from 'node:path';
import {assert} from '#server/base/assert.ts';
import type {Settings} from '#server/base/setting-values.ts';
import {type Engine, openEngine} from '#server/engine/engine.ts';
import type {EngineSettings} from '#server/engine/engine-options.ts';
import {formatsOf} from '#server/engine/formats/levels.ts';
import {createDiskStoreFactory} from '#server/engine/store-factory.ts';
import {fingerprintDatabase} from '#server/integrity/digest.ts';
import {createClock, createRandom, createTimers} from '#server/platform/real/clock.ts';
import {createDisk} from '#server/platform/real/disk.ts';
import {hasProcessorQuota} from '#server/platform/real/processor-quota.ts';
import {awakeKeeper, openStore, type Engine as StoreEngine} from '#server/storage/rocksdb/open.ts';
import {defaultCommitLimits} from '#server/transactions/coordinator.ts';
import type {ClusterNode} from './cluster/cluster-node.ts';
import type {startCommitThreads} from './commit/commit-threads.ts';
import type {Logger, SettingsHolder} from './create-services.ts';
import {dataPathsIn} from './data-paths.ts';
import {version} from './version.ts';

function engineSettings(settings: Settings, inForce: SettingsHolder): EngineSettings {
  const raftStorage = settings.get('svc.ha.raftStorageDirectory');
  return {
    segmentBytes: settings.get('svc.ha.logSegmentSize'),
    walFlush: walFlush(settings.get('svc.txWalFlush')),
    formats: formatsOf(version),
    freeBytesMin: settings.get('svc.storage.freeSpaceMin'),
    commit: {...defaultCommitLimits, entryBytesMax: settings.get('svc.ha.appendBufferSize')},
    transaction: {
      get writeBytesMax() {
        return inForce.settings().get('svc.txSizeMax');
      },
      get durationMsMax() {
        const durationMs = inForce.settings().get('svc.txTimeout');
        return durationMs === 0 ? Number.POSITIVE_INFINITY : durationMs;
      },
    },
    ...(raftStorage === '' ? {} : {raftStorageParent: resolve(raftStorage)}),
  };
}

function walFlush(value: number): 0 | 1 | 2 {
  assert(value === 0 || value === 1 || value === 2, 'svc.txWalFlush is 0, 1 or 2');
  return value;
}

interface EngineParts {
  readonly inForce: SettingsHolder;
  readonly threads: ReturnType<typeof startCommitThreads>;
  readonly logger: Logger;
  readonly storeEngine: StoreEngine;
  readonly cluster: ClusterNode | undefined;
}

export function openServerEngine(
  settings: Settings,
  {inForce, threads, logger, storeEngine, cluster}: EngineParts,
): Promise<Engine> {
  const disk = createDisk();
  const timers = createTimers();
  // Of a quota it would take what requests need.
  const spinFor = hasProcessorQuota() ? undefined : awakeKeeper(storeEngine);
  return openEngine({
    ...dataPathsIn(settings),
    nodeName: settings.get('svc.server.name'),
    disk,
    clock: createClock(),
    timers,
    random: createRandom(),
    logger,
    stores: createDiskStoreFactory(disk, (path, options) =>
      openStore(path, {
        ...options,
        engine: storeEngine,
        memtableBytes: settings.get('svc.storage.writeBufferSize'),
        blockCacheBytes: settings.get('svc.storage.blockCacheSize'),
        backgroundJobs: settings.get('svc.storage.backgroundJobs'),
      }),
    ),
    settings: engineSettings(settings, inForce),
    startPipe: parts => threads.startPipe(parts, spinFor),
    ...(cluster && {
      memberLog: cluster,
      fingerprint: reader => fingerprintDatabase(reader, () => timers.yield()),
    }),
  });
}

/** The engine of stores that a setting asks for. */
export function storageEngine(word: string): 'auto' | 'native' | 'fallback' {
  return word === 'native' || word === 'fallback' ? word : 'auto';
}
