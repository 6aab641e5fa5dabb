/**
 * The figures of the server as the metric families name them, gathered when somebody asks.
 */
import {statfsSync} from 'node:fs';
import type {Engine} from '#server/engine/engine.ts';
import type {Figures} from '#server/monitoring/figures.ts';

/** What the engine and its stores tell; cost: some calls into each store. */
export function engineFigures(engine: Engine): Figures {
  const storage = engine.storage();
  const {commits} = engine;
  return {
    svc_engine_tx_write_total: commits.appended,
    svc_engine_tx_read_total: commits.snapshots,
    svc_engine_tx_rollbacks_total: commits.rollbacks,
    svc_engine_mvcc_conflicts_total: commits.conflicts,
    svc_engine_commits_refused_total: commits.refused,
    svc_engine_wal_bytes_written_total: commits.appendedBytes,
    svc_engine_snapshot_barrier_failed_total: commits.copiesFailed,
    svc_engine_commit_index: engine.appliedIndex,
    svc_engine_databases: engine.databases().length,
    svc_engine_databases_migrating: engine.migrating.length,
    svc_engine_storage_memtables_bytes: storage.memtableBytes,
    svc_engine_storage_files_bytes: storage.fileBytes,
    svc_engine_storage_cache_bytes: storage.cacheBytes,
    svc_engine_storage_uncompacted_bytes: storage.uncompactedBytes,
  };
}

/** The filesystem of a directory as this process may use it. */
export interface DiskFigures {
  readonly directory: string;
  readonly freeBytes: number;
  readonly totalBytes: number;
  /** 0 to 100, two decimals. */
  readonly freePercent: number;
}

/** Undefined where the directory is gone. */
export function diskFigures(directory: string): DiskFigures | undefined {
  try {
    const {bavail, blocks, bsize} = statfsSync(directory);
    return {
      directory,
      freeBytes: bavail * bsize,
      totalBytes: blocks * bsize,
      freePercent: Math.round((bavail / Math.max(1, blocks)) * 10_000) / 100,
    };
  } catch {
    return undefined;
  }
}

export function diskFamilies(disk: DiskFigures | undefined): Figures {
  if (disk === undefined) return {};
  return {
    svc_engine_disk_free_space_bytes: disk.freeBytes,
    svc_engine_disk_total_space_bytes: disk.totalBytes,
    svc_engine_disk_free_space_perc: disk.freePercent,
  };
}
