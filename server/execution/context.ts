/**
 * What one run of a plan may use: the data, the parameters, time, chance and its budget.
 *
 * Made by the session for each run; closures and operators hold none of it, so one prepared
 * plan serves many runs. Invariant: `graph` shows one point in time plus the transaction's own
 * writes, and is released by whoever made it, after the run has ended.
 */
import type {Catalog} from '#server/catalog/catalog.ts';
import type {JsonFormat} from '#server/model/json.ts';
import type {Value} from '#server/model/value.ts';
import type {Clock, Random} from '#server/platform/clock.ts';
import type {Budget} from './budget.ts';
import type {Graph, WritableGraph} from './graph.ts';
import type {WriteCounts} from './write-counts.ts';
import type {ServerView, Sources} from './surroundings.ts';

/** What functions see of a run (CallContext of the functions' implementations). */
export interface CallContext {
  readonly graph: Graph;
  readonly catalog: Catalog;
  /** Undefined where expressions stand outside of any database's statement. */
  readonly databaseName?: string;
  readonly parameters: ReadonlyMap<string, Value>;
  readonly clock: Clock;
  readonly random: Random;
  readonly budget: Budget;
  /** Wall clock at the statement's start, milliseconds: the time that all of it sees. */
  readonly startedAt: number;
  /** Undefined: nothing from outside is read. */
  readonly sources?: Sources;
  /** Undefined where no server is: in tests of expressions. */
  readonly server?: ServerView;
  /** How dates print; no pattern: the usual form. */
  readonly format: JsonFormat;
}

/** Queries inside of queries, known only when they run. */
export interface InnerQueries {
  /** How many queries stand around this one. */
  readonly depth: number;
  /** The rows of a query, as maps; it runs in the context given, with its own parameters. */
  rows(
    text: string,
    parameters: ReadonlyMap<string, Value>,
    context: ExecutionContext,
  ): Iterable<Value>;
}

export interface ExecutionContext extends CallContext {
  /** Undefined where writing is not allowed. */
  readonly writes: WritableGraph | undefined;
  /** Runs queries that are texts; undefined where no language is known. */
  readonly inner?: InnerQueries;
  /** What the run has changed so far. */
  readonly counts: WriteCounts;
  /** Rows in one batch; any value gives the same result. */
  readonly batchRows: number;
  /** Answers of sub-plans that do not depend on the row, by their expression. */
  readonly memo: Map<object, Value>;
}
