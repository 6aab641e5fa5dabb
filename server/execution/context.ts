/**
 * What one run of a plan may use: the data, the parameters, time, chance and its budget.
 *
 * Made by the session for each run; closures and operators hold none of it, so one prepared
 * plan serves many runs. Invariant: `graph` shows one point in time plus the transaction's own
 * writes, and is released by whoever made it, after the run has ended.
 */
import type {Catalog} from '#server/catalog/catalog.ts';
import {ShownSchema} from '#server/catalog/shown-schema.ts';
import type {JsonFormat} from '#server/model/json.ts';
import type {Value} from '#server/model/value.ts';
import type {Clock, Random} from '#server/platform/clock.ts';
import type {Budget} from './budget.ts';
import type {Graph, WritableGraph} from './graph.ts';
import type {SchemaCounts} from '#server/plan/statement.ts';
import type {VisibleServer, Sources, ViewFigures} from './external-access.ts';

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
  readonly sources?: Sources | undefined;
  /** Undefined where no server is: in tests of expressions. */
  readonly server?: VisibleServer | undefined;
  /** Describes the materialized view that the type is; undefined where no session is. */
  readonly viewFigures?: (typeId: number) => ViewFigures | undefined;
  /** How dates print; no pattern: the usual form. */
  readonly format: JsonFormat;
}

/** The schema as whoever runs the statement may see it. */
export function shownSchema({catalog, graph}: CallContext): ShownSchema {
  return new ShownSchema(catalog, type => graph.isShown(type));
}

/**
 * What runs inside of a statement: in its transaction, with its rights, time and memory. How deep
 * one may stand in another is bounded.
 */
export interface InnerPrograms {
  /** The rows of a query that is a text, as maps; it knows the parameters given and no others. */
  rows(
    text: string,
    parameters: ReadonlyMap<string, Value>,
    context: ExecutionContext,
  ): Iterable<Value>;
  /** The answer of a function of the database's own. @throws {Refusal} */
  call(name: string, args: readonly Value[], context: ExecutionContext): Value;
}

export interface ExecutionContext extends CallContext {
  /** Undefined where writing is not allowed. */
  readonly writes: WritableGraph | undefined;
  /** Undefined where no language is known. */
  readonly inner?: InnerPrograms;
  /** What the run has changed so far. */
  readonly counts: WriteCounts;
  /** Rows in one batch; any value gives the same result. */
  readonly batchRows: number;
  /** Answers of sub-plans that do not depend on the row. */
  readonly memo: SubplanMemo;
}

/** Answers by expression, in a run of few that have any. */
export class SubplanMemo {
  #answers: Map<object, Value> | undefined;

  get(expression: object): Value | undefined {
    return this.#answers?.get(expression);
  }

  set(expression: object, answer: Value): void {
    this.#answers ??= new Map();
    this.#answers.set(expression, answer);
  }
}

/** What a statement has changed, counted while it runs. */
export interface WriteCounts {
  nodesCreated: number;
  nodesDeleted: number;
  relationshipsCreated: number;
  relationshipsDeleted: number;
  /** Assignments that set a property or took one away. */
  propertiesSet: number;
  labelsAdded: number;
  labelsRemoved: number;
}

export function newWriteCounts(): WriteCounts {
  return {
    nodesCreated: 0,
    nodesDeleted: 0,
    relationshipsCreated: 0,
    relationshipsDeleted: 0,
    propertiesSet: 0,
    labelsAdded: 0,
    labelsRemoved: 0,
  };
}

/** The counts as JSON; undefined when nothing was changed (docs/http.md). */
export function countsText(counts: WriteCounts, schema: SchemaCounts = {}): string | undefined {
  const all = {
    ...counts,
    indexesAdded: 0,
    indexesRemoved: 0,
    constraintsAdded: 0,
    constraintsRemoved: 0,
    ...schema,
  };
  if (Object.values(all).every(count => count === 0)) return undefined;
  return JSON.stringify({...all, containsUpdates: true});
}
