/**
 * The one table of metric families: everything that the server counts and measures, with its
 * labels, unit and a sentence for a person.
 *
 * GET `/prometheus`, the metrics that are pushed and docs/metrics.md are made from it, so that a
 * family exists here or nowhere. Names and labels never change once released.
 */

/** One family: every series of it has the same labels. */
export interface Family {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly labels: readonly string[];
  /** What is counted or measured, one word; `1` for a share of something or yes and no. */
  readonly unit: string;
  /** One sentence: what it is, and what a value of -1 or 0 means where that is not plain. */
  readonly help: string;
  /** Where it exists; absent: on every server. */
  readonly when?: 'in a cluster' | 'once it made one';
}

const requestLabels = ['method', 'path', 'status', 'db'] as const;
const queryLabels = ['protocol', 'db', 'language', 'type'] as const;

export const families = {
  // Requests and statements.
  svc_http_requests_seconds: {
    kind: 'histogram',
    labels: requestLabels,
    unit: 'seconds',
    help: 'Time from when an HTTP request has come to when its answer has left.',
  },
  svc_http_requests_seconds_max: {
    kind: 'gauge',
    labels: requestLabels,
    unit: 'seconds',
    help: 'Longest HTTP request since the start.',
  },
  svc_query_duration_seconds: {
    kind: 'histogram',
    labels: queryLabels,
    unit: 'seconds',
    help: 'Time from when a statement was handed over to when its result ended, waiting included.',
  },
  svc_query_duration_seconds_max: {
    kind: 'gauge',
    labels: queryLabels,
    unit: 'seconds',
    help: 'Longest statement since the start.',
  },
  svc_engine_queries_total: counter('Statements of read-only requests that ended.', 'statements'),
  svc_engine_commands_total: counter('Statements of other requests that ended.', 'statements'),
  svc_engine_queries_refused_total: counter(
    'Statements that found no place and were refused: the queue was full, or the wait too long.',
    'statements',
  ),
  svc_engine_queries_running: gauge('Statements that run now.', 'statements'),
  svc_engine_queries_waiting: gauge('Statements that wait for their turn.', 'statements'),
  svc_engine_query_memory_bytes: gauge('What running statements hold in memory.', 'bytes'),

  // Places and threads.
  svc_executor_pool_size: executor('Places of the pool; 0: as many as are asked for.', 'places'),
  svc_executor_pool_active: executor('Places that are taken.', 'places'),
  svc_executor_queue_depth: executor('Statements that wait for a place.', 'statements'),
  svc_executor_queue_capacity_remaining: executor(
    'Statements that may still begin to wait; -1 where nobody waits.',
    'statements',
  ),

  svc_executor_tasks_completed_total: executed('Statements that had a place and are over.'),
  svc_executor_tasks_caller_run_fallbacks_total: executed(
    'Long reads that found no thread free and ran beside the others.',
  ),

  // Connections.
  svc_network_connections_open: {
    kind: 'gauge',
    labels: ['protocol'],
    unit: 'connections',
    help: 'Connections that are open; those of /ws are of the protocol that they began with.',
  },
  svc_network_connections_total: connections('Connections that were taken.'),
  svc_network_connections_refused_total: connections(
    'Connections that were closed for others: svc.network.connectionsMax were open, or ' +
      'svc.network.maxPreAuthConnections over which nobody had shown who he is.',
  ),

  // Transactions.
  svc_engine_tx_write_total: counter('Transactions whose commit was appended here.', 'commits'),
  svc_engine_tx_read_total: counter('Store snapshots that statements took.', 'snapshots'),
  svc_engine_tx_rollbacks_total: counter(
    'Transactions that ended without a commit although they had written.',
    'transactions',
  ),
  svc_engine_mvcc_conflicts_total: counter(
    'Commits that were not taken because another one was faster; most are run again by themselves.',
    'commits',
  ),
  svc_engine_commits_refused_total: counter(
    'Commits that were refused for another reason: too large, no room, a fenced database.',
    'commits',
  ),
  svc_engine_transactions_open: gauge('Transactions that clients have open.', 'transactions'),

  // The log and the stores.
  svc_engine_commit_index: gauge('Index of the newest entry that is applied here.', 'entries'),
  svc_engine_wal_bytes_written_total: counter(
    'Bytes of the commits that were handed to the log here.',
    'bytes',
  ),
  svc_engine_log_syncs_total: counter(
    'Times that the log waited for its disk (fdatasync), for commits and for its own upkeep.',
    'syncs',
  ),
  svc_engine_log_sync_seconds_total: counter('Time that it waited.', 'seconds'),
  svc_engine_databases: gauge('Databases of the server.', 'databases'),
  svc_engine_databases_migrating: gauge(
    'Databases whose records are being written anew in a newer format.',
    'databases',
  ),
  svc_engine_storage_memtables_bytes: gauge('Writes that the stores hold in memory.', 'bytes'),
  svc_engine_storage_files_bytes: gauge('Files of the stores.', 'bytes'),
  svc_engine_storage_cache_bytes: gauge('Blocks of the stores that are cached.', 'bytes'),
  svc_engine_storage_uncompacted_bytes: gauge(
    'What compactions that are due will have to read, about.',
    'bytes',
  ),
  svc_engine_graph_view_memory_bytes: gauge('Edges that are kept packed in memory.', 'bytes'),
  svc_engine_column_views_bytes: gauge('Columns that are kept in memory.', 'bytes'),
  svc_engine_search_memory_bytes: gauge(
    'Lists and graphs of search indexes that are kept in memory.',
    'bytes',
  ),
  svc_engine_search_files_damaged_total: counter(
    'Graphs of vector indexes whose file was damaged, and which are made again.',
    'files',
  ),
  svc_engine_disk_free_space_bytes: gauge(
    'Space that the server can write on the disk of the databases.',
    'bytes',
  ),
  svc_engine_disk_total_space_bytes: gauge('Size of the disk of the databases.', 'bytes'),
  svc_engine_disk_free_space_perc: gauge('Free space of that disk in percent.', 'percent'),

  // Backups.
  svc_backup_running: gauge('Backups that are under way.', 'backups'),
  svc_backup_completed_total: counter('Archives that were made.', 'archives'),
  svc_backup_failed_total: counter('Backups that made no archive.', 'backups'),
  svc_backup_bytes_total: counter('Bytes of the archives that were made.', 'bytes'),
  svc_backup_last_completed_timestamp_seconds: {
    kind: 'gauge',
    labels: ['db'],
    unit: 'seconds',
    help: 'When this server made its last archive of the database, in seconds since 1970.',
    when: 'once it made one',
  },
  svc_backup_configuration_faulty: gauge(
    'Whether config/backup.json cannot be used, so that nothing new is scheduled: 1 or 0.',
    '1',
  ),
  svc_restore_completed_total: counter('Databases that were restored.', 'databases'),
  svc_restore_failed_total: counter('Restores that changed nothing.', 'restores'),
  svc_engine_snapshot_barrier_failed_total: counter(
    'Copies of a database as of one moment that could not be made.',
    'copies',
  ),

  // The process.
  svc_runtime_heap_used_bytes: gauge('JavaScript heap in use, garbage included.', 'bytes'),
  svc_runtime_heap_max_bytes: gauge('Heap at which the process would end.', 'bytes'),
  svc_runtime_resident_bytes: gauge('Memory of the process as the system counts it.', 'bytes'),
  svc_runtime_cpu_seconds_total: counter('Processor time of all threads.', 'seconds'),
  svc_runtime_cpu_cores: gauge('Processors that the process may use.', 'processors'),
  svc_runtime_uptime_seconds: gauge('Time since the process began.', 'seconds'),
  svc_runtime_open_files: gauge(
    'Files and sockets that the process has open; -1 where the system does not tell.',
    'files',
  ),
  svc_runtime_event_loop_delay_seconds: {
    kind: 'gauge',
    labels: ['quantile'],
    unit: 'seconds',
    help: 'How late the network thread came to its timers in the last 10 s; quantile 1: at most.',
  },
  svc_runtime_event_loop_busy_ratio: gauge(
    'Share of the last 10 s in which the network thread was busy.',
    '1',
  ),
  svc_runtime_gc_seconds: {
    kind: 'histogram',
    labels: ['kind'],
    unit: 'seconds',
    help: 'Pauses of the network thread for garbage collection.',
  },

  // Events.
  svc_events_total: {
    kind: 'counter',
    labels: ['type'],
    unit: 'events',
    help: 'Server events since the start, by severity.',
  },

  // The cluster.
  svc_ha_leader: ha('Whether this server leads: 1 or 0.', '1'),
  svc_ha_term: ha('Term of consensus.', 'terms'),
  svc_ha_elections_total: {
    kind: 'counter',
    labels: [],
    unit: 'elections',
    help: 'Elections that this server began or took part in.',
    when: 'in a cluster',
  },
  svc_ha_commit_index: ha('Newest entry that this server knows a majority to hold.', 'entries'),
  svc_ha_applied_index: ha('Newest entry that this server has applied.', 'entries'),
  svc_ha_local_lag: ha('Entries that are committed and not applied here yet.', 'entries'),
  svc_ha_uncommitted_bytes: ha('Entries that wait for a majority.', 'bytes'),
  svc_ha_followers_tracked: ha('Members that the leader looks after; -1 elsewhere.', 'members'),
  svc_ha_follower_max_last_contact_ms: ha(
    'Longest time since a follower was heard; -1 on who does not lead.',
    'milliseconds',
  ),
  svc_ha_follower_max_replication_lag: ha(
    'Entries that the slowest follower is behind; -1 on who does not lead.',
    'entries',
  ),
  svc_ha_follower_last_contact_ms: ofPeer('Time since the follower was heard.', 'milliseconds'),
  svc_ha_follower_replication_lag: ofPeer('Entries that the follower is behind.', 'entries'),
  svc_ha_follower_lagging_for_ms: ofPeer(
    'Time for which the follower is behind and does not come nearer.',
    'milliseconds',
  ),
} as const satisfies Readonly<Record<string, Family>>;

/** The name of one family. */
export type FamilyName = keyof typeof families;

/** Every name of the table, in its order. */
export const familyNames: readonly FamilyName[] = Object.keys(families) as FamilyName[];

/** Pools are `query`, the admission of statements, and `parallel_scan`, threads of long reads. */
function executor(help: string, unit: string) {
  return {kind: 'gauge', labels: ['pool'], unit, help} as const;
}

function executed(help: string) {
  return {kind: 'counter', labels: ['pool'], unit: 'statements', help} as const;
}

function connections(help: string) {
  return {kind: 'counter', labels: ['protocol'], unit: 'connections', help} as const;
}

function counter(help: string, unit: string) {
  return {kind: 'counter', labels: [], unit, help} as const;
}

function gauge(help: string, unit: string) {
  return {kind: 'gauge', labels: [], unit, help} as const;
}

function ha(help: string, unit: string) {
  return {kind: 'gauge', labels: [], unit, help, when: 'in a cluster'} as const;
}

function ofPeer(help: string, unit: string) {
  return {
    kind: 'gauge',
    labels: ['peer'],
    unit,
    help: `${help} Only on the leader.`,
    when: 'in a cluster',
  } as const;
}
