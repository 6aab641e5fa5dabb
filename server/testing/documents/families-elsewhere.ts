/**
 * Names of metric families of other systems that have no meaning here, and what tells instead;
 * docs/metrics.md lists them.
 *
 * Invariant: no name stands here and in the table of families.
 */

const noPages = 'svc_engine_storage_cache_bytes and svc_engine_storage_files_bytes: no pages';
const noMerges = 'svc_engine_mvcc_conflicts_total: records are written whole, found by their keys';
const noWindows =
  'svc_engine_snapshot_barrier_failed_total: what copies a database reads files that never ' +
  'change, and holds up no writer';
const noAsync = 'svc_executor_pool_active: no other pools';
const noPhases = 'svc_ha_uncommitted_bytes and svc_ha_local_lag: entries wait for a majority alone';
const noInstalments = 'svc_ha_local_lag: the schema travels in the log as every commit does';
const noSeries = 'nothing: no time series yet';
const noSplits = 'svc_executor_tasks_completed_total: searches share the threads of long reads';

/** What to look at, by name. */
export const familiesWithoutMeaning: Readonly<Record<string, string>> = {
  ...named('svc_engine_', ['page_cache_hits', 'page_cache_misses', 'pages_read'], noPages),
  ...named('svc_engine_', ['pages_written'], noPages),
  ...named('svc_engine_page_merges_', ['edge_append', 'slot', 'declined'], noMerges),
  ...named('svc_engine_record_chunked_read_', ['revalidations', 'retries'], noMerges),
  ...named('svc_engine_snapshot_', ['preimages_captured', 'barrier', 'barrier_seconds'], noWindows),
  ...named('svc_engine_snapshot_', ['barrier_inexact', 'barrier_failed_suspend'], noWindows),
  ...named('svc_engine_snapshot_', ['barrier_failed_flush'], noWindows),
  ...named(
    'svc_engine_snapshot_windows_',
    ['opened', 'invalidated', 'overflowed', 'failed'],
    noWindows,
  ),
  svc_engine_snapshot_barrier_max_seconds: noWindows,
  svc_engine_snapshot_windows_open: noWindows,
  svc_engine_snapshot_window_age_ms: noWindows,
  svc_engine_snapshot_shadow_pages: noWindows,
  svc_engine_snapshot_shadow_bytes: noWindows,
  svc_engine_snapshot_shadow_spilled_bytes: noWindows,
  svc_engine_snapshot_shadow_usage_percent: noWindows,
  svc_engine_wal_files: 'svc_engine_wal_bytes_written_total: files of the log are used again',
  svc_engine_files_open: 'svc_runtime_open_files',
  svc_engine_flush_deferred_bytes:
    'svc_engine_storage_memtables_bytes and svc_engine_storage_uncompacted_bytes',
  ...named('svc_engine_', ['async_boundary_commits'], noAsync),
  svc_engine_async_workers_retiring: noAsync,
  svc_executor_pool_reserved: noSplits,
  svc_executor_queries_in_flight: noSplits,
  ...named('svc_executor_', ['queries_split'], noSplits),
  svc_graph_ghost_edges_skipped_total:
    'CHECK DATABASE: an edge and both of its ends are written by one commit',
  svc_ha_phase2_pending: noPhases,
  svc_ha_phase2_oldest_held_ms: noPhases,
  svc_ha_phase2_lowest_replay_floor: noPhases,
  svc_ha_schema_instalments: noInstalments,
  svc_ha_schema_instalment_time_ms: noInstalments,
  svc_ha_schema_instalment_max_time_ms: noInstalments,
  svc_ha_schema_unreferenced_files: noInstalments,
  ...named('svc_timeseries_read_', ['blocks', 'pages', 'rows', 'overflow_buckets'], noSeries),
  svc_timeseries_read_phase_seconds: noSeries,
  'http_<action>_total': 'svc_http_requests_seconds_count, by route',
  'http_{command,query}_{deserialization,engine,serialization}_seconds':
    'svc_query_duration_seconds beside svc_http_requests_seconds',
};

/** Counters end with `_total`. */
function named(prefix: string, names: readonly string[], reason: string): Record<string, string> {
  return Object.fromEntries(names.map(name => [`${prefix}${name}_total`, reason]));
}
