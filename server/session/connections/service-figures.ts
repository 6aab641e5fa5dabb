/** What the session service tells of its load, and how metrics name it. */
import type {IndexFolders} from '#server/caches/index-caches.ts';
import {
  columnsShare,
  edgesShare,
  listsShare,
  type ServerCacheMemory,
  vectorsShare,
} from '#server/caches/memory-shares.ts';
import type {MemoryPool} from '#server/execution/budget.ts';
import {byLabel, type Figures, type Sample} from '#server/monitoring/figures.ts';
import type {QueryTimings} from '#server/monitoring/query-timings.ts';
import type {Admission, AdmissionLimits} from '../statements/admission.ts';
import type {PlanThreads} from '../threads/plan-task.ts';
import type {TransactionSessions} from './transaction-sessions.ts';

/** Figures of this moment, and what was refused since the start. */
export interface ServiceLoad {
  readonly queriesRunning: number;
  readonly queriesWaiting: number;
  /** Places of the admission that statements hold. */
  readonly permitsHeld: number;
  readonly queriesRefused: number;
  /** What running statements keep, as far as it is counted. */
  readonly queryMemoryBytes: number;
  /** Edges that are kept packed. */
  readonly graphViewBytes: number;
  /** What columns that are kept take. */
  readonly columnViewBytes: number;
  /** What lists and graphs of search indexes take that are kept. */
  readonly searchBytes: number;
  readonly searchFilesDamaged: number;
  readonly transactionsOpen: number;
  readonly loadsRunning: number;
}

/** A pool of places at this moment. */
export interface ExecutorFigures {
  /** 0: as many as are asked for. */
  readonly size: number;
  readonly active: number;
  readonly queued: number;
  /** How many more may wait; -1: nobody waits. */
  readonly capacity: number;
  /** Counts since the start what had a place and is over, and what ran without one. */
  readonly completed: number;
  readonly fallbacks: number;
}

/** The executors, under the names by which pools are told. */
type Executors = Readonly<Record<'query' | 'parallel_scan', ExecutorFigures>>;

/** What is measured. */
export interface MeasuredParts {
  readonly admission: Admission;
  readonly limits: AdmissionLimits;
  readonly pool: MemoryPool;
  readonly timings: QueryTimings;
  readonly threads: PlanThreads | undefined;
  readonly caches: ServerCacheMemory;
  readonly indexFiles: IndexFolders | undefined;
  readonly queries: {readonly count: number};
  readonly sessions: TransactionSessions;
  readonly loads: {readonly count: number};
}

export class ServiceFigures {
  readonly #parts: MeasuredParts;

  constructor(parts: MeasuredParts) {
    this.#parts = parts;
  }

  get load(): ServiceLoad {
    const {admission, pool, caches, indexFiles, queries, sessions, loads} = this.#parts;
    return {
      queriesRunning: queries.count,
      queriesWaiting: admission.queued,
      permitsHeld: admission.running,
      queriesRefused: admission.refused,
      queryMemoryBytes: pool.bytes,
      graphViewBytes: caches.of(edgesShare).bytes,
      columnViewBytes: caches.of(columnsShare).bytes,
      searchBytes: caches.of(listsShare).bytes + caches.of(vectorsShare).bytes,
      searchFilesDamaged: indexFiles?.damaged ?? 0,
      transactionsOpen: sessions.list().length,
      loadsRunning: loads.count,
    };
  }

  /** Places of the admission of statements, and threads of long reads. */
  executors(): Executors {
    const {admission, limits, queries, timings, threads} = this.#parts;
    const {queued} = admission;
    return {
      query: {
        size: limits.concurrentMax,
        active: queries.count,
        queued,
        capacity: Math.max(0, limits.queueLengthMax - queued),
        completed: timings.count,
        fallbacks: 0,
      },
      // The first word is the network thread's.
      parallel_scan: {
        size: threads === undefined ? 0 : threads.pages.length - 1,
        active: threads?.busy ?? 0,
        queued: 0,
        capacity: -1,
        completed: threads === undefined ? 0 : threads.taken - threads.busy,
        fallbacks: threads?.declined ?? 0,
      },
    };
  }

  /** How many statements of each database ended. */
  byDatabase(): ReturnType<QueryTimings['byDatabase']> {
    return this.#parts.timings.byDatabase();
  }

  /** The figures as metric families. */
  families(): Figures {
    return {...this.#parts.timings.figures(), ...families(this.load, this.executors())};
  }
}

function families(load: ServiceLoad, pools: Executors): Figures {
  const byPool = (figure: keyof ExecutorFigures): Sample<number>[] =>
    byLabel({query: pools.query[figure], parallel_scan: pools.parallel_scan[figure]});
  return {
    svc_executor_pool_size: byPool('size'),
    svc_executor_pool_active: byPool('active'),
    svc_executor_queue_depth: byPool('queued'),
    svc_executor_queue_capacity_remaining: byPool('capacity'),
    svc_executor_tasks_completed_total: byPool('completed'),
    svc_executor_tasks_caller_run_fallbacks_total: byPool('fallbacks'),
    svc_engine_queries_running: load.queriesRunning,
    svc_engine_queries_waiting: load.queriesWaiting,
    svc_engine_queries_refused_total: load.queriesRefused,
    svc_engine_query_memory_bytes: load.queryMemoryBytes,
    svc_engine_graph_view_memory_bytes: load.graphViewBytes,
    svc_engine_column_views_bytes: load.columnViewBytes,
    svc_engine_search_memory_bytes: load.searchBytes,
    svc_engine_search_files_damaged_total: load.searchFilesDamaged,
    svc_engine_transactions_open: load.transactionsOpen,
  };
}
