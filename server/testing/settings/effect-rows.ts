/**
 * What every setting does, as somebody outside notices it, and the test that shows it. A setting
 * that is only read back is not shown (effect-rows.test.ts).
 */
import type {SettingKey} from '#server/base/settings.ts';

type Rows = Partial<Record<SettingKey, string>>;

/** What a user notices of each setting, by the file of the test. */
export const effects: Readonly<Record<string, Rows>> = {
  'server/testing/settings/statements.e2e.test.ts': {
    'svc.parser.depthMax': 'a statement that nests deeper is refused',
    'svc.parser.statementSizeMax': 'a longer statement is refused',
    'svc.parser.columnsMax': 'a statement of more columns is refused',
    'svc.javascript.callTimeout': 'a function that does not end is ended',
    'svc.txTimeout': 'a transaction in use ends',
    'svc.txSizeMax': 'a transaction that writes more is refused',
    'svc.server.httpSessionExpireTimeout': 'a transaction that nobody uses ends',
    'svc.opencypher.loadCsv.allowFileUrls': 'files are read',
    'svc.opencypher.loadCsv.importDirectory': 'files elsewhere are not read',
    'svc.opencypher.loadCsv.allowRemoteUrls': 'addresses are not read',
    'svc.opencypher.loadCsv.blockedIpRanges': 'an address of the range is not read',
    'svc.opencypher.loadCsv.maxRemoteSize': 'a larger file is not read',
    'svc.queryMaxConcurrent': 'the next statement waits',
    'svc.queryMaxConcurrentPerUser': 'the next statement of the same user waits',
    'svc.queryQueueTimeout': 'who waits longer is refused',
    'svc.queryQueueMaxSize': 'who would wait is refused at once',
    'svc.queryAdmissionHeapWatermark': 'the next statement waits for memory',
    'svc.graphViewMemoryMax': 'edges are kept packed, or none are',
  },
  'server/testing/settings/requests.e2e.test.ts': {
    'svc.server.logsDirectory': 'the files of events lie there',
    'svc.network.requestTimeout': 'a body that does not end is answered 408',
    'svc.network.connectionsMax': 'further connections are closed',
    'svc.server.wsMaxControlFrameSize': 'a larger message ends the connection',
    'svc.server.httpAuthSessionExpireTimeout': 'a login that is not used ends',
    'svc.server.httpAuthSessionAbsoluteTimeout': 'a login in use ends',
    'svc.ha.idempotencyCacheTtlMs': 'a repeated request is not answered from memory any more',
    'svc.ha.idempotencyCacheMaxEntries': 'the oldest answer is forgotten',
    'svc.server.httpStreamingReadTimeout': 'a bulk load that pauses is ended',
    'svc.ha.idempotencyCacheMaxBytes': 'the oldest answers are forgotten',
    'svc.ha.idempotencyCacheMaxBodyBytes': 'a larger answer is not kept',
    'svc.batch.concurrentMax': 'the next batch is refused',
    'svc.batch.concurrentMaxPerUser': 'the next batch of the same user is refused',
    'svc.batch.idMapMemoryMax': 'temporary ids go to the disk',
    'svc.mcp.batchSizeMax': 'an agent that sends more at once is refused',
    'svc.log.level': 'less severe lines are not logged',
  },
  'server/testing/settings/starts.e2e.test.ts': {
    'svc.server.logFormat': 'lines for people, or objects',
    'svc.server.shutdownTimeout': 'a stop does not wait longer for a statement',
    'svc.scanWorkers': 'a long read has a thread, or none',
    'svc.dateTimeFormat': 'date-times are printed by it',
    'svc.storage.engine': 'which store the process has loaded',
    'svc.storage.backgroundJobs': 'the jobs that the store says it runs',
    'svc.storage.blockCacheSize': 'no more blocks are cached',
    'svc.storage.writeBufferSize': 'writes become files that soon',
    'svc.txWalFlush': 'commits wait for the disk, or do not',
  },
  'server/testing/settings/members.test.ts': {
    'svc.ha.healthCheckInterval': 'how often the members are looked at',
    'svc.ha.logVerbose': 'state and followers are logged',
    'svc.ha.replicationLagWarning': 'a member that is behind is not healthy',
    'svc.ha.peerUnreachableThreshold': 'a silent member is reported',
    'svc.ha.peerChannelResetDuration': 'its connection is made anew',
    'svc.ha.peerChannelResetEscalation': 'the leadership is handed over',
    'svc.ha.stalledReplicaResyncDurationMs': 'a member that stands still begins anew',
    'svc.ha.staleFollowerLagThreshold': 'a member that is too far behind begins anew',
    'svc.ha.staleFollowerRecoveryDurationMs': 'not before it was for so long',
    'svc.ha.divergedFollowerRecovery': 'a damaged copy is taken anew',
    'svc.ha.divergedFollowerMaxReformats': 'so often',
    'svc.ha.autoAcquireDatabases': 'a database that is missing is taken',
    'svc.ha.resyncProgressLogging': 'the progress of a resync is logged',
    'svc.ha.resyncProgressInterval': 'so often',
    'svc.ha.resyncCatchupLagThreshold': 'it counts as done',
  },
  'server/testing/settings/connections.test.ts': {
    'svc.ha.peerAllowlist.enabled': 'a stranger is turned away',
    'svc.ha.grpcAllowlistRefreshMs': 'a new address is known',
    'svc.ha.peerAllowlistStartupGraceMs': 'strangers are let in after a start',
    'svc.ha.peerAllowlistStickyTtlMs': 'an old address is let in for a while',
    'svc.ha.grpcMessageSizeMax': 'a larger message is not taken',
    'svc.ha.writeBufferSize': 'what waits beyond it is not taken',
    'svc.ha.snapshotThreshold': 'the log is cut after so many entries',
    'svc.ha.snapshotInterval': 'the log is cut after so long',
    'svc.ha.snapshotMinEntries': 'not for fewer entries',
    'svc.ha.logPurgeGap': 'so many entries stay',
    'svc.ha.logPurgeUptoSnapshot': 'entries go that a slow member lacks, or stay',
    'svc.ha.snapshotMaxConcurrent': 'the next snapshot is refused',
    'svc.ha.snapshotWriteTimeout': 'a snapshot that is not read is given up',
    'svc.ha.snapshotInstallRetries': 'how often a snapshot is asked for',
    'svc.ha.snapshotInstallRetryBaseMs': 'the pauses between',
    'svc.ha.snapshotDownloadTimeout': 'a silent member is given up',
  },
  'server/testing/settings/clusters.e2e.test.ts': {
    'svc.ha.groupCommitQueueSize': 'a commit finds the queue full',
    'svc.ha.groupCommitOfferTimeout': 'it is refused, or waits for room',
    'svc.ha.groupCommitBatchSize': 'entries that travel together',
    'svc.ha.appendElementLimit': 'entries of a message',
    'svc.ha.appendBufferSize': 'a larger commit is refused',
    'svc.ha.groupCommitMaxQueuedBytes': 'a commit beyond it is refused',
    'svc.ha.clusterName': 'the name that the cluster tells',
    'svc.ha.clusterTokenPath': 'who has the secret is believed',
    'svc.ha.quorum': 'a commit waits for every member',
    'svc.ha.quorumTimeout': 'so long',
    'svc.ha.electionTimeoutMin': 'how long a silent leader is waited for, at least',
    'svc.ha.electionTimeoutMax': 'and at most',
    'svc.ha.bootstrapTimeoutMs': 'most of a list form a cluster',
    'svc.ha.bootstrapFromLocalDatabase': 'databases that lie here are begun with, or refused',
    'svc.ha.raftPersistStorage': 'a start begins with an empty log',
    'svc.ha.serverList': 'who forms a cluster',
    'svc.ha.raftPort': 'where the others reach it',
    'svc.ha.clientElectionRetryCount': 'how often the command line asks',
    'svc.ha.clientElectionRetryDelayMs': 'after which pause',
  },
  'server/testing/settings/failed-log.e2e.test.ts': {
    'svc.ha.stopServerOnReplicationFailure': 'a member whose log failed ends, or stays',
  },
  'server/testing/settings/forwarding.test.ts': {
    'svc.ha.readConsistency': 'a read that names no mode asks the quorum',
    'svc.ha.proxyBatchReadTimeout': 'a silent leader is given up by a batch',
    'svc.ha.proxyConnectTimeout': 'a leader that takes no connection is given up',
  },
  'server/node/data-paths.e2e.test.ts': {
    'svc.server.databaseDirectory': 'databases lie there',
    'svc.server.configDirectory': 'users lie there',
    'svc.server.backupDirectory': 'archives lie there',
  },
  'server/node/kept-settings.e2e.test.ts': {
    'svc.server.rootPath': 'what was set is found again below it',
    'svc.server.httpQueryDefaultLimit': 'an answer ends after so many rows',
  },
  'server/node/configuration.test.ts': {
    'svc.server.rootPassword': 'root has it after the first start',
    'svc.server.rootPasswordPath': 'root has that of the file',
  },
  'server/node/files.e2e.test.ts': {
    'svc.server.defaultDatabases': 'they are there, with their data and users',
    'svc.server.restoreImportAllowLocalUrls': 'a file of this machine is imported',
  },
  'server/node/backup/backup.e2e.test.ts': {'svc.server.sampleDatabase': 'it has its data'},
  'server/node/cluster/orders.slow.test.ts': {
    'svc.server.httpIncomingPort': 'a port that answers',
    'svc.server.httpIncomingHost': 'an address that answers',
  },
  'server/node/start-front.e2e.test.ts': {
    'svc.ssl.enabled': 'HTTPS answers',
    'svc.ssl.keyStore': 'with this certificate',
    'svc.server.httpsIncomingPort': 'at this port',
    'svc.server.readinessRequiresHA': 'not ready while the cluster forms',
    'svc.ha.enabled': 'a server waits for its cluster',
    'svc.server.name': 'who it is in the list',
  },
  'server/node/cluster/cluster-plan.test.ts': {
    'svc.ha.serverRole': 'a replica has no priority',
    'svc.ha.k8s': 'a pod is who its name says',
    'svc.ha.k8sSuffix': 'short hosts are completed',
  },
  'server/node/cluster/snapshot.e2e.test.ts': {
    'svc.ha.clusterToken': 'who has another one is turned away',
    'svc.ha.logSegmentSize': 'a member that was away takes a snapshot',
  },
  'server/testing/faults/full-disk-cluster.slow.test.ts': {
    'svc.ha.raftStorageDirectory': 'the log lies on a disk of its own',
    'svc.storage.freeSpaceMin': 'writes are refused before the disk is full',
  },
  'server/node/keys/trust-store.test.ts': {
    'svc.ssl.trustStore': 'certificates that are believed',
    'svc.ssl.trustStorePassword': 'it opens the store',
  },
  'server/node/monitoring/secrets.e2e.test.ts': {
    'svc.ssl.keyStorePassword': 'it is nowhere to be read',
  },
  'server/node/keys/peer-keys.test.ts': {
    'svc.ha.tls.mutualAuth': 'who shows no certificate is turned away',
  },
  'server/node/cluster/peer-connections.test.ts': {
    'svc.ha.tls.enabled': 'members find each other over TLS',
    'svc.ha.tls.certChainFile': 'with this certificate',
    'svc.ha.tls.privateKeyFile': 'without its key the start is refused',
    'svc.ha.tls.trustCertCollectionFile': 'whose authorities are believed',
  },
  'server/monitoring/health-monitor.test.ts': {
    'svc.server.healthCheck.enabled': 'a low disk is warned of',
  },
  'server/monitoring/metrics-dump.test.ts': {
    'svc.serverMetrics.logging': 'metrics are logged every minute',
    'svc.dumpMetricsEvery': 'metrics are logged that often',
  },
  'server/node/monitoring/telemetry.e2e.test.ts': {
    'svc.server.logIncludeTrace': 'lines of text name their trace',
    'svc.serverMetrics.otlp.enabled': 'a collector gets metrics',
    'svc.serverMetrics.otlp.endpoint': 'at this address',
    'svc.serverMetrics.otlp.headers': 'with these headers',
    'svc.serverMetrics.otlp.period': 'that often',
    'svc.serverMetrics.tracing.enabled': 'a collector gets spans',
    'svc.serverMetrics.tracing.samplingRate': 'of that share of requests',
  },
  'server/protocols/http/routes/prometheus.test.ts': {
    'svc.serverMetrics': 'there is a scrape, or none',
    'svc.serverMetrics.prometheus.requireAuthentication': 'a scrape asks for a user',
  },
  'server/administration/administration.test.ts': {
    'svc.server.apiTokenRequireSecureTransport': 'a token in clear is refused',
  },
  'server/protocols/http/transport.test.ts': {
    'svc.server.apiTokenTrustedProxies': 'which proxies are believed',
  },
  'server/protocols/http/cluster/cluster.test.ts': {
    'svc.server.readinessHAMaxLag': 'a member that is behind is not ready',
  },
  'server/protocols/http/http.limits.test.ts': {
    'svc.server.mode': 'errors leave out their details',
    'svc.server.httpBodyContentMaxSize': 'a larger body is answered 413',
    'svc.server.httpQueryMaxResultRows': 'a larger answer is refused',
    'svc.server.httpStreamingKeepAliveInterval': 'a silent stream sends empty lines',
    'svc.network.socketTimeout': 'a body that pauses is answered 408',
    'svc.network.maxPreAuthConnections': 'the oldest stranger is closed for the next',
  },
  'server/protocols/http/http.test.ts': {'svc.txRetries': 'how often a conflict is run again'},
  'server/protocols/http/raw-http/raw-http-listener.test.ts': {
    'svc.network.keepAliveTimeout': 'an idle connection is closed',
  },
  'server/protocols/http/message/compression.test.ts': {
    'svc.server.httpCompressionMinSize': 'a large answer is compressed',
  },
  'server/protocols/http/message/cross-origin.test.ts': {
    'svc.server.httpCorsOrigins': 'pages of this origin are let',
  },
  'server/protocols/http/routes/batch.e2e.test.ts': {
    'svc.batch.idMapMax': 'a batch of more ids is refused',
    'svc.recordSizeMax': 'a larger record is refused',
  },
  'server/protocols/http/websocket/websockets.test.ts': {
    'svc.server.eventBusMaxPendingBytes': 'a slow reader waits',
    'svc.changes.bytesMax': 'who falls further behind is ended',
  },
  'server/protocols/http/forwarding.test.ts': {
    'svc.ha.proxyReadTimeout': 'a silent leader is given up',
    'svc.ha.proxyCommandTimeout': 'a silent leader is given up by a statement',
    'svc.ha.proxyMaxBodySize': 'a larger body is not passed on',
    'svc.ha.forwardLeaderWaitTimeoutMs': 'a write waits for a leader',
  },
  'server/protocols/mcp/bad-input.test.ts': {
    'svc.mcp.answerSizeMax': 'a larger answer is refused',
  },
  'server/node/modules/mcp-module.e2e.test.ts': {'svc.server.plugins': 'a plugin that is named'},
  'server/replication/snapshot/manifest.test.ts': {
    'svc.ha.snapshotMaxEntrySize': 'a larger file is not taken',
  },
  'server/security/security.test.ts': {
    'svc.security.failureDelay': 'a wrong password is answered later',
    'svc.security.hashConcurrencyMax': 'how many passwords are hashed at once',
    'svc.server.httpAuthSessionMax': 'the next login is refused',
    'svc.server.httpAuthSessionMaxPerUser': 'the next login of the same user is refused',
    'svc.server.saltIterations': 'how a password is kept',
  },
  'server/session/behaviour/attack/shares.test.ts': {
    'svc.server.httpSessionMaxPerUser': 'the next transaction of the same user is refused',
    'svc.keptMemoryMax': 'what all keep beyond it is refused',
    'svc.keptMemoryMaxPerUser': 'what one keeps beyond it is refused',
  },
  'server/session/behaviour/changes/changes.test.ts': {
    'svc.changes.resumeTimeout': 'who comes back in time misses nothing',
    'svc.changes.subscriptionsMax': 'the next subscription is refused',
    'svc.changes.subscriptionsMaxPerUser': 'the next one of the same user is refused',
  },
  'server/session/behaviour/isolation/concurrency.test.ts': {
    'svc.txStaleReadCheck': 'a commit that was overtaken is refused',
  },
  'server/session/behaviour/limits/limits.test.ts': {
    'svc.command.timeout': 'a statement that runs longer ends',
    'svc.queryMemoryMax': 'a statement that needs more is refused',
    'svc.queryMemoryTotalMax': 'statements that need more together are refused',
    'svc.queryValueSizeMax': 'a larger value is refused',
  },
  'server/session/behaviour/sql/index-variants.test.ts': {
    'svc.indexKeySizeMax': 'a larger key is refused',
  },
  'server/session/behaviour/caches/column-cache.test.ts': {
    'svc.columnViewMemoryMax': 'columns are kept',
    'svc.columnViewRecordsMin': 'of small types none are',
  },
  'server/session/behaviour/search/search-settings.test.ts': {
    'svc.sparseVectorScoringMinPostingsForPartitioning':
      'answers are the same, however they are shared out',
    'svc.searchMemoryMax': 'lists are kept',
    'svc.vectorIndexMemoryMax': 'a graph is kept',
    'svc.sparseVectorScoringWindow': 'answers are the same, whatever is scored at once',
  },
  'server/session/programs/routines.test.ts': {
    'svc.javascript.networkCallTimeout': 'a function in a write is ended',
  },
  'server/session/service.test.ts': {'svc.dateFormat': 'dates are printed by it'},
  'server/session/threads/thread-run.slow.test.ts': {
    'svc.scanWorkerCostMin': 'a read takes a thread of its own',
  },
  'server/node/member-log/resume-attempts.test.ts': {
    'svc.ha.ratisRestartMaxRetries': 'a log without room is tried so often',
  },
};
