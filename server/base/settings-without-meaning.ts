/**
 * Names of settings that have a meaning in other systems and none here: a configuration that has
 * one starts all the same, and the log warns once of the name, with the reason and what to use.
 *
 * Invariant: no name stands here and in the table of settings.
 */

const noGrpc = 'there is no gRPC port; rows of an answer are svc.server.httpQueryMaxResultRows';
const inBackups = 'it is set in config/backup.json';

/** The reason by name, as the end of the sentence that begins with it. */
export const settingsWithoutMeaning: Readonly<Record<string, string>> = {
  'svc.ha.grpcFlowControlWindow':
    'members are connected by plain TCP, whose window the system sets; what may wait to be sent ' +
    'is svc.ha.writeBufferSize',
  'svc.ha.replicationChunkMaxSize':
    'a commit travels whole; its largest size is svc.ha.appendBufferSize',
  'svc.ha.raftStorageMinFreeSpacePerc':
    'the space that is kept free is svc.storage.freeSpaceMin, in bytes',
  'svc.ha.snapshotGapTolerance':
    'a store knows its place in the log exactly, so that there is no gap to tolerate',
  'svc.ha.snapshotWatchdogTimeout':
    'an install that brings nothing for svc.ha.snapshotDownloadTimeout is begun anew',
  'svc.ha.snapshotInstallBackupWaitMs':
    'a backup reads a snapshot of its own, which an install does not disturb',
  'svc.ha.tsMaxSealedInlineSize': 'all data travels in the log or in a snapshot, none beside them',
  'svc.ha.errorRetries':
    'what may be repeated is repeated by the command line, see svc.ha.clientElectionRetryCount',
  'svc.server.httpIoThreads':
    'one thread reads all connections; long reads have threads of their own, see svc.scanWorkers',
  'svc.server.httpsIoThreads':
    'one thread reads all connections; long reads have threads of their own, see svc.scanWorkers',
  'svc.server.httpWorkerThreads':
    'statements wait for their turn and not for a thread; how many run at once is ' +
    'svc.queryMaxConcurrent',
  'svc.server.databaseLoadAtStartup':
    'databases are always opened at the start, which takes milliseconds for each',
  'svc.server.defaultDatabaseMode':
    'a database is always open for writing; who may write is a matter of groups',
  'svc.server.securityAlgorithm':
    'passwords are always hashed by PBKDF2 with HMAC-SHA-256; its rounds are ' +
    'svc.server.saltIterations',
  'svc.server.securitySaltCacheSize': 'no salt or password is kept in memory',
  'svc.server.reloadEvery': 'files of users, groups and tokens are watched and taken over at once',
  'svc.pageSnapshotEnabled': 'backups read files that never change, so no pages are shadowed',
  'svc.pageSnapshotMaxRAM': 'backups read files that never change, so no pages are shadowed',
  'svc.pageSnapshotMaxSize': 'backups read files that never change, so no pages are shadowed',
  'svc.pageSnapshotSpillPath': 'backups read files that never change, so no pages are shadowed',
  'svc.txRetryDelay':
    'a conflict is run again at once, on top of the commit that was faster; how often is ' +
    'svc.txRetries',
  'svc.profile':
    'memory is measured at the start; see svc.storage.blockCacheSize and svc.queryMemoryTotalMax',
  'svc.maxPageRAM':
    'there are no pages; memory for blocks of the store is svc.storage.blockCacheSize',
  'svc.polyglotEngineEnabled':
    'programs in statements are JavaScript in a sandbox, see svc.javascript.callTimeout',
  'svc.queryParallelismPoolThreads': 'threads of long reads are svc.scanWorkers',
  'svc.queryParallelismQueueSize': 'statements that wait are svc.queryQueueMaxSize',
  'svc.asyncCommandPoolThreads':
    'commands that nobody waits for run as any statement, see svc.queryMaxConcurrent',
  'svc.asyncCommandQueueSize':
    'commands that nobody waits for run as any statement, see svc.queryQueueMaxSize',
  'svc.parallelScanProducerPoolThreads': 'threads of long reads are svc.scanWorkers',
  'svc.network.maxPreAuthConnections':
    'connections of all kinds are bounded by svc.network.connectionsMax, and those that say ' +
    'nothing end after svc.network.socketTimeout',
  'svc.server.eventBusQueueSize':
    'changes are kept once for all readers, see svc.changes.bytesMax; what one has not read is ' +
    'bounded by svc.server.eventBusMaxPendingBytes',
  'svc.server.logIncludeTrace': 'lines name their request by its id, traced or not',
  'svc.server.restoreImportAllowLocalUrls':
    'imports and restores read by the rules of LOAD CSV, see ' +
    'svc.opencypher.loadCsv.allowFileUrls and svc.opencypher.loadCsv.blockedIpRanges',
  'svc.server.security.importBlockLocalNetworks':
    'imports read by the rules of LOAD CSV, see svc.opencypher.loadCsv.blockedIpRanges',
  'svc.server.security.importAllowedLocalPaths':
    'imports read by the rules of LOAD CSV, see svc.opencypher.loadCsv.importDirectory',
  'svc.server.grpcQueryMaxResultRows': noGrpc,
  'svc.server.grpcStreamMaxMaterializedRows': noGrpc,
  'svc.server.grpcStreamWriteTimeoutMs': noGrpc,
  'svc.server.grpcTimeSeriesMaxResultRows': noGrpc,
  'svc.studio.enabled': 'there is no web interface; GET / tells where the API is',
  'svc.backup.enabled': 'backups are made when asked for, and as config/backup.json says',
  'svc.backup.compressionLevel': inBackups,
  'svc.backup.compressionThreads': inBackups,
  'svc.backup.maxMBPerSecond': inBackups,
  'svc.restore.threads': 'an archive is read on a thread of its own',
  'svc.queryMaxHeapRAM':
    'memory of statements is bounded by svc.queryMemoryTotalMax, of one by svc.queryMemoryMax',
};
