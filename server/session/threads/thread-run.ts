/**
 * The side of a thread that runs plans for others: one order after the other, each over its own
 * hold of the snapshot.
 *
 * What is kept between orders is derived from snapshots alone: the catalog of a version, the names
 * of properties, which only grow. So no statement can meet what another one left. The plan pauses
 * as it does on the network thread, which costs nothing here and keeps one way to run it.
 */
import {assert, AssertionFailure} from '#server/base/assert.ts';
import {DatabaseAccess} from '#server/access/decide.ts';
import {decodeCatalog} from '#server/catalog/encode.ts';
import {NameDictionary} from '#server/catalog/names.ts';
import type {Cancellation} from '#server/base/cancellation.ts';
import {type MemoryLedger, MemoryPool} from '#server/execution/budget.ts';
import type {FunctionRegistry} from '#server/execution/function-registry.ts';
import {pause} from '#server/execution/batch.ts';
import type {QueryResult} from '#server/execution/query-result.ts';
import {createRecordJson} from '#server/execution/record-format.ts';
import {type Portable, unpackPortable} from '#server/plan/portable.ts';
import type {RowEncoding} from '#server/model/row-encoding.ts';
import type {QueryStatement} from '#server/plan/statement.ts';
import type {Clock, Random, Timers} from '#server/platform/clock.ts';
import type {JavaScriptEngine} from '#server/platform/javascript.ts';
import type {Machine} from '#server/platform/machine.ts';
import {learnNames} from '#server/records/database-schema.ts';
import {CatalogSchema} from '#server/records/context.ts';
import {catalogKey} from '#server/transactions/system-keys.ts';
import {ReadSession, type SnapshotSource} from '#server/transactions/transaction.ts';
import {noCaches} from '#server/caches/derived-caches.ts';
import {SharedAdjacency} from '#server/caches/shared-adjacency.ts';
import {observed, type PreparedQuery, preparedQuery} from '../preparation/prepared-query.ts';
import type {ResultFormat} from '../session.ts';
import type {ReadSchema} from '#server/records/context.ts';
import type {TargetDatabase} from '../statements/target-database.ts';
import {type RunEnvironment, type RunOptions, StatementRun} from '../statements/statement-run.ts';
import {packError} from './thread-errors.ts';
import {controlWord, pagesWaitingMax, type PlanTaskEvent, type PlanTask} from './plan-task.ts';

export interface ThreadMeans {
  readonly clock: Clock;
  readonly random: Random;
  readonly timers: Timers;
  readonly machine: Machine;
  readonly functions: FunctionRegistry;
  readonly families: ReadSchema['families'];
  readonly ledger: MemoryLedger;
  readonly encodings: readonly RowEncoding[];
  readonly loadJavaScript: () => Promise<JavaScriptEngine>;
}

/** Sends to the network thread; the bytes of a page are given away. */
export type Tell = (news: PlanTaskEvent) => void;

/** What is known of a database, as of the snapshot that was seen last. */
interface KnownDatabase {
  readonly names: NameDictionary;
  readonly schema: ReadSchema;
}

const databasesKnownMax = 16;
/** Longest wait between two looks at the cancellation. */
const waitMs = 1_000;

export class ThreadRunner {
  readonly #means: ThreadMeans;
  readonly #known = new Map<number, KnownDatabase>();
  #javascript: JavaScriptEngine | undefined;

  constructor(means: ThreadMeans) {
    this.#means = means;
  }

  /**
   * Runs the order to its end, whatever that is, and gives its snapshot back. Never rejects.
   *
   * @param source - Opens the task's snapshot.
   */
  async run(order: PlanTask, source: SnapshotSource, tell: Tell): Promise<void> {
    try {
      if (order.runsJavaScript) this.#javascript ??= await this.#means.loadJavaScript();
      const reader = new ReadSession(source);
      try {
        await this.#runOver(reader, order, tell);
      } finally {
        reader.close();
      }
    } catch (error) {
      tell({kind: 'failed', error: packError(error)});
    }
  }

  async #runOver(reader: ReadSession, order: PlanTask, tell: Tell): Promise<void> {
    const {functions} = this.#means;
    const context = this.#schemaOf(reader, order);
    const plain = bodyOf(order.statement, functions);
    const query = order.isMeasured ? observed(plain, functions) : plain;
    const control = new ControlWords(order.control);
    const adjacency = new SharedAdjacency(order.adjacency);
    const run = new StatementRun(
      query,
      {kind: 'read', reader, context},
      this.#optionsOf(order, adjacency, control),
      this.#environmentOf(order),
    );
    try {
      const result = run.result({...order.requested, format: this.#formatOf(order)});
      tell({kind: 'begun', limit: result.limit, timeoutMs: run.context.budget.timeoutMs});
      for (let sent = 1, isLast = false; !isLast; sent += 1) {
        const piece = await nextPiece(result);
        isLast = piece === undefined || result.isWhole;
        tell({
          kind: 'page',
          // The result would use the bytes for its next piece again.
          bytes: piece && new Uint8Array(piece),
          returned: result.returned,
          truncated: result.truncated,
          isLast,
          measures: isLast ? query.profile?.measures() : undefined,
        });
        if (!isLast) control.waitForTaken(sent - pagesWaitingMax + 1);
      }
    } finally {
      run.close();
      tell({kind: 'keys-read', reads: adjacency.keysRead});
    }
  }

  #formatOf({format}: PlanTask): ResultFormat {
    if (typeof format === 'string') return format;
    const encoding = this.#means.encodings.find(({name}) => name === format.encoding);
    assert(encoding !== undefined, 'an order comes here when its encoding is known');
    return encoding;
  }

  /** Reads the schema of the snapshot; known parts are used again, and only new names are read. */
  #schemaOf(reader: ReadSession, {database, schemaVersion}: PlanTask): ReadSchema {
    const known = this.#known.get(database.id);
    const names = known?.names ?? new NameDictionary();
    learnNames(names, reader);
    if (known?.schema.catalog.version === schemaVersion) return known.schema;
    const {families} = this.#means;
    const catalog = decodeCatalog(reader.get(catalogKey), families);
    assert(catalog.version === schemaVersion, 'a snapshot has the catalog of its schema version');
    const schema = {catalog, families, schema: new CatalogSchema(catalog, names)};
    if (this.#known.size >= databasesKnownMax) this.#known.clear();
    this.#known.set(database.id, {names, schema});
    return schema;
  }

  #optionsOf(order: PlanTask, adjacency: SharedAdjacency, signal: Cancellation): RunOptions {
    const {guard, startedAt, timeoutMs} = order;
    return {
      session: this.#homeOf(order, adjacency),
      parameters: unpackPortable(order.parameters),
      signal,
      sources: undefined,
      server: undefined,
      guard: guard && {user: guard.user, access: new DatabaseAccess(false, guard.groups)},
      startedAt,
      timeoutMs,
    };
  }

  /** The bodies that came along are all that can be called. */
  #homeOf({database, patterns, bodies}: PlanTask, adjacency: SharedAdjacency): TargetDatabase {
    const {functions} = this.#means;
    const javascript = (): JavaScriptEngine => {
      assert(this.#javascript !== undefined, 'an order says that it runs JavaScript');
      return this.#javascript;
    };
    return {
      database,
      views: {figures: () => undefined},
      guardOf: () => {
        throw new AssertionFailure('a trigger on reads does not come here');
      },
      // Columns and search indexes are read where they are kept: such plans do not come here.
      kept: {...noCaches, adjacency},
      get javascript() {
        return javascript();
      },
      jsonOf: ({schema, catalog}, form) => createRecordJson(schema, catalog, patterns, form),
      prepare(language, text) {
        const body = bodies.find(each => each.language === language && each.text === text);
        assert(body !== undefined, 'an order has the bodies of all that its plan may call');
        return bodyOf(body.statement, functions);
      },
    };
  }

  #environmentOf({spending}: PlanTask): RunEnvironment {
    const {clock, random, timers, machine, ledger} = this.#means;
    const {memoryBytesMax, valueBytesMax, memoryTotalMax, timeoutMs, javascriptMs} = spending;
    return {
      clock,
      random,
      timers,
      memoryBytesMax: () => memoryBytesMax,
      valueBytesMax: () => valueBytesMax,
      pool: new MemoryPool(() => memoryTotalMax, machine, ledger),
      timeoutMs: () => timeoutMs,
      javascriptMs: () => javascriptMs,
      takesWrites: () => false,
    };
  }
}

/** Only reads travel, and the decision about where they run is made. */
function bodyOf(statement: Portable<QueryStatement>, functions: FunctionRegistry): PreparedQuery {
  return preparedQuery(unpackPortable(statement), functions, {writes: false, effort: 0});
}

async function nextPiece(result: QueryResult): Promise<Buffer | undefined> {
  for (;;) {
    const piece = result.pull();
    if (piece !== pause) return piece;
    await result.rest();
  }
}

/** The words that both threads see, from the side of the plan. */
class ControlWords implements Cancellation {
  readonly #words: Int32Array;

  constructor(words: Int32Array) {
    this.#words = words;
  }

  get aborted(): boolean {
    return Atomics.load(this.#words, controlWord.aborted) !== 0;
  }

  /** Blocks the thread, which has nothing else to do, until so many pages were taken. */
  waitForTaken(count: number): void {
    for (;;) {
      const taken = Atomics.load(this.#words, controlWord.taken);
      if (taken >= count || this.aborted) return;
      Atomics.wait(this.#words, controlWord.taken, taken, waitMs);
    }
  }
}
