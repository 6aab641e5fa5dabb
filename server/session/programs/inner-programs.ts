/**
 * Everything that runs inside of a statement: functions of the database's own, triggers, queries
 * that are texts. One a run of a statement.
 *
 * What runs inside shares the statement's view and transaction, its rights, budget and time; it has
 * parameters of its own. How deep one may stand in another is bounded. Bodies are prepared by the
 * session, which keeps them by text and catalog like any statement.
 *
 * Invariant A4: a trigger does nothing that its owner may not do when it fires. Nor does it ask the
 * server or read from outside.
 *
 * See docs/design/0008-programs-in-statements.md.
 */
import type {DatabaseAccess} from '#server/access/decide.ts';
import {assert} from '#server/base/assert.ts';
import {Refusal, type RefusalCode} from '#server/base/errors.ts';
import type {FunctionDefinition, TriggerDefinition} from '#server/catalog/definition.ts';
import type {Cancellation} from '#server/base/cancellation.ts';
import {Budget} from '#server/execution/budget.ts';
import {type ExecutionContext, type InnerPrograms, SubplanMemo} from '#server/execution/context.ts';
import {innerRows, innerValues} from '#server/execution/run.ts';
import {MissingTypes} from '#server/execution/missing-prerequisites.ts';
import {type MapValue, RecordValue, type Value} from '#server/model/value.ts';
import {
  type DatabaseQuestion,
  JavaScriptPrograms,
  type RecordImages,
  type TriggerVerdict,
} from './javascript-programs.ts';
import {TypeGuard} from '../type-guard.ts';
import {type PreparedQuery, requireParameters} from '../preparation/prepared-query.ts';
import type {ReadSchema} from '#server/records/context.ts';
import type {Guard, TargetDatabase} from '../statements/target-database.ts';

const depthMax = 32;
/** What JavaScript asks of the database ends before the interpreter's own time does. */
const answerMsMax = 1_000;
/** Time on the clock that a question may take, by the time of the processor that a call may. */
const answerShare = 5;

const noChanges: ReadonlyMap<string, Value | undefined> = new Map();

export interface ProgramsOptions {
  readonly session: TargetDatabase;
  readonly schema: ReadSchema;
  readonly signal: Cancellation;
  readonly memoryBytesMax: number;
  /** `svc.javascript.callTimeout` of the thread that it runs on. */
  readonly callMsMax: number;
}

/** What the run reads and writes, for whoever may do what. */
export type GraphsFor = (guard: Guard | undefined) => Pick<ExecutionContext, 'graph' | 'writes'>;

/** What triggers of one owner run in, as long as he may do the same. */
interface OwnersContext {
  readonly access: DatabaseAccess | undefined;
  readonly context: ExecutionContext;
}

export class Programs implements InnerPrograms {
  readonly #options: ProgramsOptions;
  #context: ExecutionContext | undefined;
  #graphsFor: GraphsFor | undefined;
  readonly #owners = new Map<string, OwnersContext>();
  /** A sandbox for each set of rights: programs of others leave nothing behind in it. */
  readonly #javascript = new Map<ExecutionContext['graph'], JavaScriptPrograms>();
  #depth = 0;

  constructor(options: ProgramsOptions) {
    this.#options = options;
  }

  /** What the statement runs in, before anything fires. */
  begin(context: ExecutionContext, graphsFor: GraphsFor): void {
    this.#context = context;
    this.#graphsFor = graphsFor;
  }

  *rows(
    text: string,
    parameters: ReadonlyMap<string, Value>,
    context: ExecutionContext,
  ): Generator<Value, void, undefined> {
    this.#enter();
    try {
      const query = this.#prepare('cypher', text);
      yield* innerRows(query, inside(query, context, parameters));
    } finally {
      this.#depth -= 1;
    }
  }

  call(name: string, args: readonly Value[], context: ExecutionContext): Value {
    const definition = this.#options.schema.catalog.functionNamed(name);
    assert(definition !== undefined, 'a bound function is in the catalog it was bound with');
    context.budget.spend(1);
    this.#enter();
    try {
      return definition.language === 'js'
        ? this.#script(context, scripts => scripts.call(definition, args))
        : this.#answer(definition, args, context);
    } finally {
      this.#depth -= 1;
    }
  }

  /** Runs a trigger. @throws {Refusal} `trigger.refused` when it fails. */
  fire(trigger: TriggerDefinition, images: RecordImages): TriggerVerdict {
    this.#context?.budget.spend(8);
    this.#enter();
    try {
      const context = this.#contextOf(trigger, images);
      if (trigger.language === 'js') {
        return this.#script(context, scripts => scripts.fire(trigger, images));
      }
      const parameters = new Map([
        ['$record', images.record],
        ['$oldRecord', images.oldRecord],
      ]);
      const query = this.#prepare('sql', trigger.code);
      let forbids = false;
      let rows = 0;
      for (const row of innerRows(query, inside(query, context, parameters))) {
        if (rows++ === 0) forbids = row instanceof Map && row.size === 1 && isFalse(row);
      }
      return {forbids, changes: noChanges};
    } catch (error) {
      throw failureOf(trigger, error);
    } finally {
      this.#depth -= 1;
    }
  }

  /** @throws {Refusal} `security.denied` when the owner may not see what is fired upon. */
  #contextOf({owner}: TriggerDefinition, {record, oldRecord}: RecordImages): ExecutionContext {
    const context = this.#context;
    assert(context !== undefined, 'nothing is read or written before there is a context');
    if (owner === undefined) return context;
    const guard = this.#options.session.guardOf(owner);
    const asked = guard && new TypeGuard(guard.access, owner);
    for (const type of [typeOf(record), typeOf(oldRecord)]) {
      if (type !== undefined) asked?.require('readRecord', type);
    }
    const known = this.#owners.get(owner);
    if (known !== undefined && known.access === guard?.access) return known.context;
    assert(this.#graphsFor !== undefined, 'graphs are there when the context is');
    const graphs = this.#graphsFor(guard);
    const own = {...context, ...graphs, sources: undefined, server: undefined};
    this.#owners.set(owner, {access: guard?.access, context: own});
    return own;
  }

  /** Ends what the programs of the run have left. */
  close(): void {
    for (const programs of this.#javascript.values()) programs.close();
  }

  /** Answers the first row of openCypher, all rows of SQL. */
  #answer(
    definition: FunctionDefinition,
    args: readonly Value[],
    context: ExecutionContext,
  ): Value {
    const {language, parameters, code} = definition;
    const query = this.#prepare(language, code);
    const given = new Map(parameters.map((name, at) => [name, args[at] ?? null]));
    const rowsMax = language === 'opencypher' ? 1 : undefined;
    const values = innerValues(query, inside(query, context, given), rowsMax);
    return values.length > 1 ? values : (values[0] ?? null);
  }

  #prepare(language: string, text: string): PreparedQuery {
    const {session, schema} = this.#options;
    const prepared = session.prepare(language, text, schema);
    if (prepared.kind === 'needs-types') throw new MissingTypes(prepared.missing);
    if (prepared.kind === 'query') return prepared;
    throw new Refusal(
      'query.execution',
      'inside of a statement only queries and changes of records can be run',
    );
  }

  /** What ended because the statement's time is over is refused as that. */
  #script<T>(context: ExecutionContext, work: (scripts: JavaScriptPrograms) => T): T {
    try {
      return work(this.#scripts(context));
    } catch (error) {
      context.budget.look();
      const isLong = error instanceof Refusal && error.detail['callMsMax'] !== undefined;
      if (isLong) context.budget.moveIfItMay();
      throw error;
    }
  }

  #scripts(context: ExecutionContext): JavaScriptPrograms {
    const {session, callMsMax} = this.#options;
    const {random, startedAt, budget} = context;
    const known = this.#javascript.get(context.graph);
    if (known !== undefined) return known;
    const programs = new JavaScriptPrograms(session.javascript, {
      get callMsMax() {
        return Math.min(callMsMax, budget.stepMsMax);
      },
      now: startedAt,
      random: () => random.u32() / 2 ** 32,
      isEnded: () => budget.isOver,
      answer: question => this.#rowsFor(question, context),
    });
    this.#javascript.set(context.graph, programs);
    return programs;
  }

  #rowsFor(
    {kind, language, text, parameters}: DatabaseQuestion,
    context: ExecutionContext,
  ): readonly Value[] {
    const query = this.#prepare(language, text);
    if (kind === 'query' && query.writes) {
      throw new Refusal('query.not-idempotent', 'database.query only reads: use database.command');
    }
    const {signal, memoryBytesMax, callMsMax} = this.#options;
    const timeoutMs = Math.min(answerMsMax, answerShare * callMsMax);
    const budget = new Budget(context.clock, {timeoutMs, memoryBytesMax}, signal);
    return [...innerRows(query, {...inside(query, context, parameters), budget})];
  }

  #enter(): void {
    if (this.#depth >= depthMax) {
      throw new Refusal(
        'limit.depth',
        `functions, triggers and queries run ${depthMax} deep in each other at most`,
        {detail: {depthMax}},
      );
    }
    this.#depth += 1;
  }
}

/**
 * What a query runs in that stands inside of a statement.
 *
 * @throws {Refusal} `query.not-idempotent` when it writes and the statement only reads,
 *   `query.parameter-missing`.
 */
function inside(
  query: PreparedQuery,
  context: ExecutionContext,
  parameters: ReadonlyMap<string, Value>,
): ExecutionContext {
  if (query.writes && context.writes === undefined) {
    throw new Refusal(
      'query.not-idempotent',
      'a statement that only reads cannot run what writes: send it to /command',
    );
  }
  requireParameters(query, parameters);
  return {...context, parameters, memo: new SubplanMemo()};
}

/** The type of a record as a trigger sees it. */
function typeOf(image: Value): string | undefined {
  if (image instanceof RecordValue) return image.typeName;
  const name = image instanceof Map ? (image as MapValue).get('@type') : undefined;
  return typeof name === 'string' ? name : undefined;
}

function isFalse(row: ReadonlyMap<string, unknown>): boolean {
  for (const value of row.values()) return value === false;
  return false;
}

/** Refusals that are not about what the trigger does. */
const passing: ReadonlySet<RefusalCode> = new Set<RefusalCode>([
  'trigger.refused',
  'limit.depth',
  'query.timeout',
  'query.terminated',
  'query.memory',
  'query.not-idempotent',
  'security.denied',
]);

/** What made it fail, with its name; what is to be done again is said as it is. */
function failureOf(trigger: TriggerDefinition, error: unknown): unknown {
  if (!(error instanceof Refusal) || error.retry !== 'never') return error;
  const isOwners = error.code === 'security.denied' && trigger.owner !== undefined;
  if (passing.has(error.code) && !isOwners) return error;
  return new Refusal('trigger.refused', `trigger '${trigger.name}': ${error.message}`, {
    detail: {trigger: trigger.name},
    cause: error,
  });
}
