/**
 * Names of settings that have a meaning in other systems and none here: a configuration that has
 * one starts all the same, and the log warns once of the name, with the reason and what to use.
 *
 * Invariant: no name stands here and in the table of settings.
 */
import {words} from './words.ts';

const noGrpc = 'there is no gRPC port; rows of an answer are svc.server.httpQueryMaxResultRows';
const noWire = 'the server speaks HTTP, and no wire protocol of another database yet';
const inBackups = 'it is set in config/backup.json';
const longReads = 'threads of long reads and searches are svc.scanWorkers';
const noInserts = 'changes are read over /ws, and rows written by POST /batch';
const whole =
  'schema, users, groups and tokens travel in the log and in snapshots, as all data does';
const peersStay = 'members keep their connections, and one that says nothing is made anew';
const probes = 'a connection that says nothing is ended by svc.network.keepAliveTimeout';
const driver = 'it is of another driver; what may be repeated the command line repeats';
const product = 'it is of a service of another product';

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
  'svc.server.eventBusQueueSize':
    'changes are kept once for all readers, see svc.changes.bytesMax; what one has not read is ' +
    'bounded by svc.server.eventBusMaxPendingBytes',
  'svc.server.security.importBlockLocalNetworks':
    'IMPORT DATABASE reads by the rules of LOAD CSV, see svc.opencypher.loadCsv.blockedIpRanges',
  'svc.server.security.importAllowedLocalPaths':
    'IMPORT DATABASE reads by the rules of LOAD CSV, see svc.opencypher.loadCsv.importDirectory',
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
  'svc.queryScanReadAheadMaxRAM':
    'memory of statements is bounded by svc.queryMemoryTotalMax, of one by svc.queryMemoryMax',
  'svc.dumpConfigAtStartup': '`svc settings --all` prints the values in force',
  'svc.test': 'tests take the place of parts, and of no production path',
  'svc.log.impl': 'lines go to standard error; see svc.server.logFormat',
  'svc.command.warningsEvery': 'a statement writes nothing into the log',
  'svc.opencypher.idBucketBits': 'numbers of records are made of bucket and position by one rule',
  'svc.instance.derived': 'who a server is follows from svc.ha.clusterName and svc.server.name',
  'svc.sparseVectorScoringPoolThreads': longReads,
  'svc.sparseVectorScoringQueueSize': longReads,
  'svc.sparseVectorScoringMaxPartitions': longReads,
  'svc.sparseVectorScoringTimeoutSeconds':
    'a search ends as its statement, see svc.command.timeout',
  'svc.vectorIndex.maxConcurrentRebuilds': longReads,
  'svc.vectorIndex.nativeVectorization': 'distances are computed by the code of the server',
  'svc.vectorIndex.rebuildPermitTimeoutMs': longReads,
  'svc.network.sameServerErrorRetry': driver,
  'svc.network.retryAfterMaxWait': driver,
  'svc.network.remoteFetchConnectTimeout': 'an address that does not answer is given up by itself',
  'svc.network.remoteFetchReadTimeout': 'an address that does not answer is given up by itself',
  ...named('svc.network.socketKeepAlive', ['', 'Idle', 'Interval', 'Count'], probes),
  'svc.serverMetrics.otlp.step': 'how often is svc.serverMetrics.otlp.period',
  'svc.serverMetrics.tracing.endpoint':
    'spans go where metrics go, see svc.serverMetrics.otlp.endpoint',
  'svc.serverMetrics.tracing.excludedPaths': '/health and /ready make no spans',
  'svc.serverMetrics.serviceName': 'resources are called svc, and by svc.server.name',
  'svc.server.queryWarmUp': 'a start reads what an earlier one compiled',
  'svc.server.startupRestoreSlotWaitMs':
    'a start makes its databases before anybody asks for others',
  'svc.server.httpTerminateOnClientDisconnect':
    'a statement whose client has gone is always ended, unless it commits already',
  'svc.server.httpContentSecurityPolicy': 'the one page, /docs, has no script of others',
  'svc.server.httpContentSecurityPolicyReportOnly': 'the one page, /docs, has no script of others',
  'svc.server.httpBodyContentDecompressedMaxSize': 'bodies are taken as they are, never inflated',
  'svc.server.httpStreamingWriteTimeout':
    'a client that reads nothing is given up after twice svc.network.socketTimeout',
  'svc.server.wsInsertSessionExpireTimeout': noInserts,
  'svc.server.wsMaxInsertFrameSize': noInserts,
  'svc.server.wsMaxInsertChunkRows': noInserts,
  'svc.server.wsMaxPendingControlBytes':
    'what one reader has not read is bounded by svc.server.eventBusMaxPendingBytes',
  'svc.ha.schemaIncrementalApply': whole,
  'svc.ha.schemaDelta': whole,
  'svc.ha.txSchemaCheck': 'a statement that a change of the schema overtook is always refused',
  'svc.ha.securitySeedRetryTimeout': whole,
  'svc.ha.securityConvergenceReadinessTimeout': whole,
  'svc.ha.securityEntryCapabilityGate': 'no member writes what another one cannot read',
  'svc.ha.logCacheSize': 'entries are read from the files of the log, which the system caches',
  'svc.ha.addPeerProbeTimeout': 'a server that does not answer gets no vote',
  'svc.ha.membershipChangeTimeout': 'a change of the members is tried for 90 seconds',
  'svc.ha.snapshotCompressionLevel':
    'files of a snapshot travel as they lie, without those that the member has already',
  'svc.ha.proxyLongCommandTimeout':
    'how long a follower waits for any command is svc.ha.proxyCommandTimeout',
  'svc.ha.ratisCloseTimeoutMs': 'a stop as a whole has svc.server.shutdownTimeout',
  'svc.ha.jvmPauseCloseThresholdMs': 'a pause closes nothing; a leader that was away steps back',
  'svc.ha.divergedFollowerRecoveryDurationMs':
    'it is svc.ha.stalledReplicaResyncDurationMs for every reason',
  'svc.ha.grpcMaxConnectionIdleMs': peersStay,
  'svc.ha.grpcMaxConnectionAgeMs': peersStay,
  'svc.ha.grpcMaxConnectionAgeGraceMs': peersStay,
  ...named('svc.support.', ['url', 'clientId', 'clientKey', 'autoRegister'], product),
  ...named(
    'svc.grpc.',
    [
      ...words('enabled host port mode xds.port tls.enabled tls.cert tls.key maxMessageSize'),
      ...words('maxMetadataSize reflection.enabled health.enabled compression.enabled'),
      ...words('compression.force compression.type tx.maxIdleMs tx.maxAgeMs tx.reaperPeriodMs'),
      ...words('maxConcurrentTransactions maxConcurrentTransactionsPerPrincipal'),
    ],
    noGrpc,
  ),
  ...named(
    'svc.postgres.',
    ['host', 'port', 'ssl', 'debug', 'quotedIdentifiers', 'maxParamSize', 'queryMaxRows'],
    noWire,
  ),
  ...named(
    'svc.bolt.',
    [
      ...words('host port ssl debug routing.ttl defaultDatabase maxConnections'),
      ...words('websocket.maxFrameSize maxMessageSize packstream.maxValueLength'),
      ...words('packstream.maxElements packstream.maxDepth maxOpenStreams'),
    ],
    noWire,
  ),
  ...named(
    'svc.redis.',
    [
      'host',
      'port',
      'tls',
      'defaultDatabase',
      'maxMultiBulkDepth',
      'maxMultiBulkLength',
      'maxBulkLength',
    ],
    noWire,
  ),
  ...named('svc.mongo.', ['host', 'port'], noWire),
  'svc.gremlin.port': noWire,
};

function named(prefix: string, names: readonly string[], reason: string): Record<string, string> {
  return Object.fromEntries(names.map(name => [`${prefix}${name}`, reason]));
}
