/** What the session service is made of: parts of the server, ports to the machine, settings. */
import type {Settings} from '#server/base/setting-values.ts';
import type {CachedFamilies, IndexFolders} from '#server/caches/index-caches.ts';
import type {ClusterCopies} from '#server/cluster/align.ts';
import type {Cluster} from '#server/cluster/cluster.ts';
import type {Engine} from '#server/engine/engine.ts';
import type {CompactionThread} from '#server/engine/store-compaction.ts';
import type {QueryProfiler} from '#server/monitoring/query-profiler.ts';
import type {Clock, Random, Timers} from '#server/platform/clock.ts';
import type {JavaScriptEngine} from '#server/platform/javascript.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {Machine} from '#server/platform/machine.ts';
import type {SourceReader} from '#server/platform/source-reader.ts';
import type {Scheduler} from '#server/schedule/scheduler.ts';
import type {Security} from '#server/security/security.ts';
import type {CustomProcedure} from './languages/custom-procedures.ts';
import type {FrontEnds} from './languages/front-ends.ts';
import type {TemporaryFiles} from './record-loads.ts';
import type {PlanThreads} from './threads/plan-task.ts';

export interface ServiceOptions {
  readonly engine: Engine;
  readonly security: Security;
  readonly clock: Clock;
  readonly random: Random;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly sourceReader: SourceReader;
  readonly machine: Machine;
  readonly javascript: JavaScriptEngine;
  readonly settings: () => Settings;
  /** Absent: a server alone. Transactions of clients end when it stops leading. */
  readonly cluster?: Cluster | undefined;
  /** The copies of the cluster's databases; absent: a server alone. */
  readonly copies?: ClusterCopies | undefined;
  /** The families of indexes that there are. */
  readonly families: CachedFamilies;
  /** Threads for long reads; absent: all runs on this one. */
  readonly threads?: PlanThreads;
  /** Compacts stores; absent: nothing does. */
  readonly compactions?: CompactionThread | undefined;
  /** Procedures beside the server's own. */
  readonly procedures?: readonly CustomProcedure[];
  /** Languages beside the server's own. */
  readonly frontEnds?: FrontEnds | undefined;
  /** Keeps what is kept of indexes while the server is down; absent: it is made again. */
  readonly indexFiles?: IndexFolders | undefined;
  /** Plans what is done again and again; absent: one of its own. */
  readonly scheduler?: Scheduler | undefined;
  /** Records what statements cost; absent: nobody asks. */
  readonly profiler?: QueryProfiler | undefined;
  /** Where loads keep what memory does not take. */
  readonly temporary: TemporaryFiles;
  /** Hears of every request to run something, with the connection that it came by. */
  readonly onRequest?: (connection: object | undefined) => void;
}
