/**
 * SQL scripts: control flow above statements.
 *
 * A script is one transaction unless it says BEGIN; COMMIT RETRY goes back to its BEGIN on a
 * conflict. Each statement is bound when it runs, so it sees what statements before it did to the
 * schema; a schema change is an entry of its own and commits what was written before it. `$x`
 * reads a variable through the statement's parameters. The rows of the last statement, or the
 * value of RETURN, are the answer. Source: docs/sql.md.
 */
import {assert} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import type * as Ast from '#server/languages/sql/ast.ts';
import {Budget} from '#server/execution/budget.ts';
import {keepValue} from '#server/execution/output.ts';
import type {Script, Statement} from '#server/languages/sql/ast-statement.ts';
import {bindParsedExpression} from '#server/languages/sql/bind-lone.ts';
import {sqlAnswers} from '#server/languages/sql/bind-context.ts';
import {bindStatement} from '#server/languages/sql/bind-statement.ts';
import {jsonText} from '#server/model/json.ts';
import {parseJsonText} from '#server/model/json-parser.ts';
import {isNumberValue, numberOf} from '#server/model/number.ts';
import type {Value} from '#server/model/value.ts';
import type {Statement as PlanStatement} from '#server/plan/statement.ts';
import {noStatistics} from '#server/plan/statistics.ts';
import type {RecordContext} from '#server/records/context.ts';
import type {Isolation, Transaction} from '#server/transactions/transaction-contract.ts';
import {newSummary, rowsCursor} from '../connections/cursors.ts';
import {refusalOf, repeated} from '../statements/outcome.ts';
import type {Explanation} from '../preparation/explain.ts';
import {explained, type Prepared, prepareStatement} from '../preparation/prepared.ts';
import {observed, type PreparedQuery} from '../preparation/prepared-query.ts';
import {runOptions, type ScriptParts, type StatementHost} from '../statements/statement-context.ts';
import type {ResultCursor} from '../session.ts';
import {requirePermitted, requireStepPermitted} from '../preparation/statement-effects.ts';
import {isBlind, requireSchemaRight} from '../preparation/statement-preparation.ts';
import {limitsOf, serverTimeoutMs, StatementRun} from '../statements/statement-run.ts';
import {backOff} from '../statements/transact.ts';

const rowsMax = 1_000_000;
const stepsMax = 10_000_000;
/** A statement's work as the script counts it; the statement counts its own. */
const stepUnits = 16;

/** Thrown to leave a block; never reaches a caller. */
class Leaving extends Error {
  readonly what: 'break' | 'return';
  constructor(what: 'break' | 'return') {
    super(what);
    this.what = what;
  }
}

/** @param outer - The client's transaction; BEGIN, COMMIT and ROLLBACK are refused inside it. */
export async function runScript(
  runner: StatementHost,
  parts: ScriptParts,
  script: Script,
  outer?: Transaction,
): Promise<ResultCursor> {
  const run = new ScriptRun(runner, parts, outer);
  const limit = runner.limitDefault;
  const rows = await run.run(script);
  parts.end();
  const cap = parts.request.limit === undefined ? limit : parts.request.limit;
  const shown = cap > 0 ? rows.slice(0, cap) : rows;
  const summary = newSummary(cap > 0 ? cap : -1);
  summary.truncated = shown.length < rows.length;
  summary.wrote = true;
  return rowsCursor(shown, parts.request.format, summary);
}

class ScriptRun {
  readonly #runner: StatementHost;
  readonly #parts: ScriptParts;
  readonly #outer: Transaction | undefined;
  /** What the script itself spends: its statements have budgets of their own. */
  readonly #budget: Budget;
  /** What statements are given: the request's parameters, and over them what LET has assigned. */
  #values: Map<string, Value>;
  readonly #variableBytes = new Map<string, number>();
  #commits = 0;
  #transaction: Transaction | undefined;
  #isolation: Isolation = 'READ_COMMITTED';
  #rows: readonly Value[] = [];
  #steps = 0;

  constructor(runner: StatementHost, parts: ScriptParts, outer: Transaction | undefined) {
    const {environment} = runner;
    const timeoutMs = serverTimeoutMs(parts.session.schema.catalog, environment);
    this.#budget = new Budget(
      environment.clock,
      {...limitsOf(environment), timeoutMs: timeoutMs === 0 ? undefined : timeoutMs},
      parts.signal,
    );
    this.#runner = runner;
    this.#parts = parts;
    this.#outer = outer;
    this.#values = new Map(parts.request.parameters);
  }

  /** The rows that the script answers. */
  async run(script: Script): Promise<readonly Value[]> {
    try {
      await this.#topLevel(script.statements);
      await this.#commit();
      return this.#rows;
    } catch (error) {
      this.#transaction?.rollback();
      throw error;
    } finally {
      this.#budget.end();
    }
  }

  /** Statements one after another; COMMIT RETRY may send it back to its BEGIN. */
  async #topLevel(statements: readonly Statement[]): Promise<void> {
    let beginAt = 0;
    let attempts = 0;
    let values = new Map(this.#values);
    for (let at = 0; at < statements.length; at += 1) {
      const statement = statements[at];
      assert(statement !== undefined, 'the index is within the script');
      if (statement.kind === 'begin' && at !== beginAt) {
        beginAt = at;
        attempts = 0;
        values = new Map(this.#values);
      }
      try {
        await this.#statement(statement);
      } catch (error) {
        if (error instanceof Leaving && error.what === 'return') return;
        if (error instanceof Leaving) {
          throw new Refusal('query.semantic', 'BREAK stands outside of a loop');
        }
        // A conflict is met at the commit, or at a statement before that is overtaken.
        const commitAt = isRetryable(error) ? commitFrom(statements, at) : statements.length;
        const commit = statements[commitAt];
        if (commit?.kind !== 'commit') throw error;
        this.#transaction?.rollback();
        this.#transaction = undefined;
        const retries = await this.#number(commit.retry, 0);
        attempts += 1;
        if (attempts <= retries) {
          const {signal} = this.#parts;
          const wait = {attempt: attempts, signal, waitMs: undefined};
          await this.#waiting(backOff(this.#runner.environment, wait));
          this.#values = new Map(values);
          at = beginAt - 1;
          continue;
        }
        if (commit.otherwise.length === 0) throw error;
        await this.#block(commit.otherwise);
        if (commit.then !== 'continue') throw error;
        at = commitAt;
      }
    }
  }

  async #block(statements: readonly Statement[]): Promise<void> {
    for (const statement of statements) await this.#statement(statement);
  }

  async #statement(ast: Statement): Promise<void> {
    await this.#step();
    this.#rows = await this.#answer(ast);
  }

  async #setGlobal(ast: {readonly name: string; readonly value: Ast.Expression}): Promise<void> {
    const {access, guard, session, request} = this.#parts;
    const {globals} = session;
    if (request.permitted !== undefined) requirePermitted(request.permitted, ['admin']);
    if (!access.allows('updateDatabaseSettings')) {
      throw new Refusal(
        'security.denied',
        `User '${guard?.user ?? ''}' is not allowed to set variables of the database`,
        {detail: {right: 'updateDatabaseSettings'}},
      );
    }
    const value = await this.#value(ast.value);
    if (value === null) globals.delete(`$${ast.name}`);
    else globals.set(`$${ast.name}`, value, session.memory.holder(guard?.user));
  }

  /** Carries the statement out; the rows that it answers where it is the last one. */
  async #answer(ast: Statement): Promise<readonly Value[]> {
    switch (ast.kind) {
      case 'begin':
        this.#refuseInside(ast.kind);
        await this.#commit();
        this.#isolation =
          ast.isolation === 'repeatable-read' ? 'REPEATABLE_READ' : 'READ_COMMITTED';
        return [];
      case 'commit':
        this.#refuseInside(ast.kind);
        await this.#commit();
        return [done('commit')];
      case 'rollback':
        this.#refuseInside(ast.kind);
        this.#transaction?.rollback();
        this.#transaction = undefined;
        return [done('rollback')];
      case 'let':
        for (const {name, value} of ast.items) {
          this.#assign(`$${name}`, await this.#value(value));
        }
        return [];
      case 'if': {
        const holds = (await this.#value(ast.condition)) === true;
        this.#rows = [];
        await this.#block(holds ? ast.then : ast.otherwise);
        return this.#rows;
      }
      case 'while':
        await this.#loop(async () => {
          if ((await this.#value(ast.condition)) !== true) return false;
          await this.#block(ast.body);
          return true;
        });
        return [];
      case 'foreach':
        await this.#foreach(ast);
        return [];
      case 'break':
        throw new Leaving('break');
      case 'return':
        this.#rows = rowsOf(ast.value === undefined ? null : await this.#value(ast.value));
        throw new Leaving('return');
      case 'sleep': {
        const millis = await this.#sleep(ast.milliseconds);
        return [done('sleep', {result: 'OK', millis})];
      }
      case 'console': {
        const value = await this.#value(ast.value);
        const message = typeof value === 'string' ? value : jsonText(value);
        return [done('console', {level: ast.level, message})];
      }
      case 'set-global':
        await this.#setGlobal(ast);
        return [];
      default:
        return this.#execute(this.#bind(ast));
    }
  }

  async #foreach(ast: Extract<Statement, {kind: 'foreach'}>): Promise<void> {
    const source = await this.#value(ast.source);
    const items: readonly Value[] = Array.isArray(source)
      ? (source as readonly Value[])
      : source === null
        ? []
        : [source];
    const name = `$${ast.variable}`;
    const left = items.values();
    await this.#loop(async () => {
      const {value: item, done: atEnd = false} = left.next();
      if (atEnd) return false;
      this.#assign(name, item as Value);
      await this.#block(ast.body);
      return true;
    });
  }

  /** Repeats until `step` answers false or breaks. */
  async #loop(step: () => Promise<boolean>): Promise<void> {
    try {
      while (await step()) await this.#step();
    } catch (error) {
      if (!(error instanceof Leaving) || error.what !== 'break') throw error;
    }
  }

  /** Sleeps; answers for how many milliseconds it did. */
  async #sleep(milliseconds: Ast.Expression): Promise<number> {
    const delayMs = await this.#number(milliseconds, 0);
    if (delayMs < 0) throw new Refusal('argument', `SLEEP takes no negative time (${delayMs})`);
    const until = this.#runner.environment.clock.monotonic() + delayMs;
    for (;;) {
      const leftMs = until - this.#runner.environment.clock.monotonic();
      if (leftMs <= 0) return delayMs;
      this.#budget.look();
      await this.#waiting(
        new Promise<void>(resolve => {
          this.#runner.environment.timers.after(Math.min(leftMs, sleepSliceMs), resolve);
        }),
      );
    }
  }

  #bind(ast: Statement): PlanStatement {
    return bindStatement(this.#parts.request.text, ast, this.#context().catalog);
  }

  /** The schema of the next statement: that of the transaction, once there is one. */
  #context(): RecordContext {
    const {session} = this.#parts;
    const transaction = this.#outer ?? this.#transaction;
    if (transaction === undefined) return session.schema.context;
    return this.#runner.beginStatement(session, transaction).context;
  }

  async #value(ast: Ast.Expression): Promise<Value> {
    if (ast.kind === 'subquery') return this.#execute(this.#bind(ast.statement));
    const value = bindParsedExpression(this.#parts.request.text, ast, this.#context().catalog);
    const columns = [{name: 'value', value}];
    const [row] = await this.#execute({
      kind: 'query',
      plan: {kind: 'project', input: {kind: 'unit'}, output: {kind: 'columns', columns}},
      slotCount: 1_000,
      limit: undefined,
      timeoutMs: undefined,
      onTimeout: 'error',
      form: sqlAnswers,
    });
    return row instanceof Map ? ((row.get('value') as Value | undefined) ?? null) : null;
  }

  async #number(ast: Ast.Expression | undefined, otherwise: number): Promise<number> {
    if (ast === undefined) return otherwise;
    const value = await this.#value(ast);
    return isNumberValue(value) ? numberOf(value) : otherwise;
  }

  async #execute(statement: PlanStatement): Promise<readonly Value[]> {
    const {session} = this.#parts;
    const {catalog} = this.#context();
    const isShownBlind = statement.kind === 'explain' && isBlind(this.#parts, catalog);
    const options = session.prepareOptions(catalog, isShownBlind ? noStatistics : undefined);
    requireStepPermitted(this.#parts.request, statement, options);
    const prepared = prepareStatement(statement, options);
    if (prepared.kind === 'query') return this.#query(prepared);
    if (prepared.kind === 'schema') {
      this.#refuseInside('a schema change');
      await this.#commit();
      requireSchemaRight(this.#parts, prepared.command);
      const changing = session.change(prepared.command, runOptions(this.#parts, new Map()));
      return [await this.#waiting(changing)];
    }
    if (prepared.kind === 'batched') {
      throw new Refusal(
        'query.execution',
        'BATCH commits by itself: the statement stands in no script',
      );
    }
    if (prepared.kind === 'align') {
      throw new Refusal('query.execution', 'ALIGN DATABASE stands by itself, in no script');
    }
    if (prepared.kind === 'transfer') {
      const words = `${prepared.command.what.toUpperCase()} DATABASE`;
      throw new Refusal('query.execution', `${words} stands by itself, in no script`);
    }
    if (prepared.kind === 'explained-command') return [planRow(prepared.explanation)];
    assert(prepared.kind === 'explain', 'a script does not stand inside a script');
    return this.#explain(prepared);
  }

  async #explain({
    execute,
    inner,
  }: Extract<Prepared, {kind: 'explain'}>): Promise<readonly Value[]> {
    const {clock} = this.#runner.environment;
    const {session, guard} = this.#parts;
    const options = session.prepareOptions(this.#context().catalog);
    const watched = execute ? observed(inner, session.functions) : undefined;
    const startedAt = clock.monotonic();
    if (watched !== undefined) await this.#query(watched);
    const run = watched && {profile: watched.profile, elapsedMs: clock.monotonic() - startedAt};
    return [planRow(explained(inner, options, {isGuarded: guard !== undefined, run}))];
  }

  async #query(query: PreparedQuery): Promise<readonly Value[]> {
    const data = this.#runner.beginStatement(this.#parts.session, this.#current());
    const options = runOptions(this.#parts, this.#values);
    const run = new StatementRun(query, data, options, this.#runner.environment);
    try {
      const rows = await run.values(rowsMax);
      run.requireComplete();
      return rows;
    } finally {
      run.close();
    }
  }

  #current(): Transaction {
    if (this.#outer !== undefined) return this.#outer;
    this.#transaction ??= this.#parts.session.database.begin(this.#isolation);
    return this.#transaction;
  }

  async #commit(): Promise<void> {
    const transaction = this.#transaction;
    if (transaction === undefined) return;
    this.#transaction = undefined;
    // Of several commits the first has the id: sent again, the script is not begun again.
    const requestId = this.#commits === 0 ? this.#parts.request.requestId : undefined;
    const outcome = await this.#waiting(transaction.commit(requestId));
    const refusal = refusalOf(outcome);
    if (refusal !== undefined) throw refusal;
    if (outcome.kind === 'committed' && outcome.repeated) throw repeated(outcome.index);
    this.#commits += 1;
    const {session, guard} = this.#parts;
    await this.#waiting(this.#runner.committed(session, transaction, guard?.user));
  }

  #refuseInside(what: string): void {
    if (this.#outer === undefined) return;
    throw new Refusal(
      'query.execution',
      `${what} cannot stand in a script that runs inside an open transaction`,
    );
  }

  /** What the variables hold counts as kept. */
  #assign(name: string, value: Value): void {
    this.#budget.release(this.#variableBytes.get(name) ?? 0);
    this.#variableBytes.set(name, keepValue(value, this.#budget));
    this.#values.set(name, value);
  }

  /** Waits for what is not computed here; somebody else may have the place meanwhile. */
  async #waiting<T>(wait: Promise<T>): Promise<T> {
    const {place} = this.#parts;
    place.park();
    try {
      return await wait;
    } finally {
      place.resume();
    }
  }

  /**
   * Called before every statement and every turn of a loop.
   *
   * @throws {Refusal} `query.terminated`, `query.timeout`.
   */
  async #step(): Promise<void> {
    this.#steps += 1;
    if (this.#steps > stepsMax) {
      throw new Refusal('query.timeout', `the script took more than ${stepsMax} steps`);
    }
    if (!this.#budget.spend(stepUnits)) return;
    await this.#runner.environment.timers.yield();
    this.#budget.resume();
  }
}

const sleepSliceMs = 50;

/** Where the transaction that the statement belongs to ends. */
function commitFrom(statements: readonly Statement[], at: number): number {
  const ends = new Set(['begin', 'commit', 'rollback']);
  const behind = statements.slice(at).findIndex(({kind}) => ends.has(kind));
  return behind < 0 ? statements.length : at + behind;
}

function isRetryable(error: unknown): boolean {
  return error instanceof Refusal && error.retry === 'retryable';
}

/** The row of a statement that answers no records. */
function done(operation: string, more: Readonly<Record<string, Value>> = {}): Value {
  return new Map<string, Value>(Object.entries({operation, ...more}));
}

/** The rows of a returned value: of a list its items, else the value itself. */
function rowsOf(value: Value): readonly Value[] {
  if (Array.isArray(value)) return value as readonly Value[];
  return value instanceof Map ? [new Map([['value', value]])] : [value];
}

/** A plan where a script reads it. */
function planRow({text, json}: Explanation): Value {
  return new Map<string, Value>([
    ['executionPlan', parseJsonText(json)],
    ['executionPlanAsString', text],
  ]);
}
