/**
 * Decides whether a read runs on a thread of its own, and sends it there.
 *
 * One that is likely to be long does, when a thread is free: it reads nothing but records, and what
 * it needs can travel. Whatever else comes up runs here, in slices, as everything does without
 * threads; a full house makes the network thread slower and nobody wait.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import {packPortable} from '#server/plan/portable.ts';
import {needsServer, routinesOf} from '#server/plan/properties.ts';
import type {PreparedQuery} from '../preparation/prepared-query.ts';
import {runOptions, type StatementContext} from '../statements/statement-context.ts';
import type {ReadSchema} from '#server/records/context.ts';
import type {ResultOptions, RunData, RunEnvironment} from '../statements/statement-run.ts';
import {
  controlWords,
  type PlanThreads,
  type RoutineBody,
  type PlanTask,
  type ThreadSpending,
} from './plan-task.ts';
import {ThreadResult} from './thread-result.ts';

export interface ThreadDispatchOptions {
  readonly threads: PlanThreads;
  readonly environment: RunEnvironment;
  readonly settings: () => Settings;
}

export class ThreadDispatch {
  readonly #options: ThreadDispatchOptions;
  readonly #movesOfRoot: () => boolean;

  constructor(options: ThreadDispatchOptions) {
    this.#options = options;
    this.#movesOfRoot = () => options.threads.isOpenTo(undefined);
  }

  /** Whether another thread can answer it, now or when it turns out to be long. */
  mayTake({session}: StatementContext, query: PreparedQuery, data: RunData): boolean {
    if (query.writes || (data.kind === 'write' && data.transaction.hasWrites)) return false;
    // What is kept on this thread alone makes the answer faster than another thread could.
    if (query.searches && session.kept.search.isOn) return false;
    return query.columnNodes.size === 0 || !session.kept.columns.isOn;
  }

  /** Whether it is likely to be worth a thread; every read pays for this question. */
  isFor(query: PreparedQuery): boolean {
    return query.effort >= this.#options.settings().get('svc.scanWorkerCostMin');
  }

  /** Tells whether a thread is free for whoever asks; holds nothing of the statement. */
  movesOf({guard}: StatementContext): () => boolean {
    const {threads} = this.#options;
    const owner = guard?.user;
    return owner === undefined ? this.#movesOfRoot : () => threads.isOpenTo(owner);
  }

  /**
   * The answer, from there, of a query that another thread may take; undefined when it has to run
   * here all the same.
   */
  start(
    parts: StatementContext,
    query: PreparedQuery,
    data: RunData,
    requested: ResultOptions,
  ): ThreadResult | undefined {
    const {threads, environment} = this.#options;
    const {database, kept} = parts.session;
    const {adjacency} = kept;
    const {format, ...rest} = requested;
    if (typeof format !== 'string' && !threads.encodings.has(format.name)) return undefined;
    const travelling = database.sharesSnapshots ? travellingParts(parts, query, data) : undefined;
    const thread = travelling && threads.take(parts.guard?.user);
    if (travelling === undefined || thread === undefined) return undefined;
    const reader = data.kind === 'read' ? data.reader : data.transaction;
    const held = database.shareSnapshot(reader.snapshot);
    const order: PlanTask = {
      ...travelling,
      database: {id: database.id, name: database.name},
      snapshot: held.shared,
      schemaVersion: data.context.catalog.version,
      adjacency: adjacency.share(reader.snapshotIndex),
      requested: rest,
      format: typeof format === 'string' ? format : {encoding: format.name},
      spending: this.#spending(),
      timeoutMs: parts.request.timeoutMs,
      patterns: parts.session.patterns,
      startedAt: environment.clock.now(),
      guard: parts.guard && {user: parts.guard.user, groups: parts.guard.access.groups},
      isMeasured: query.profile !== undefined,
      control: new Int32Array(new SharedArrayBuffer(controlWords * Int32Array.BYTES_PER_ELEMENT)),
    };
    return new ThreadResult({
      thread,
      order,
      signal: parts.signal,
      timers: environment.timers,
      profile: query.profile,
      onKeysRead: reads => adjacency.noteKeysRead(reads),
      release: () => held.release(),
    });
  }

  #spending(): ThreadSpending {
    const {environment, settings} = this.#options;
    return {
      memoryBytesMax: environment.memoryBytesMax(),
      valueBytesMax: environment.valueBytesMax(),
      memoryTotalMax: settings().get('svc.queryMemoryTotalMax'),
      timeoutMs: environment.timeoutMs(),
      javascriptMs: settings().get('svc.javascript.callTimeout'),
    };
  }
}

type Travelling = Pick<PlanTask, 'statement' | 'bodies' | 'runsJavaScript' | 'parameters'>;

/**
 * The query with all that it may call; undefined when something of it belongs to this thread. So do
 * triggers on reads: what they do is known only when they fire.
 */
function travellingParts(
  parts: StatementContext,
  query: PreparedQuery,
  {context}: RunData,
): Travelling | undefined {
  const {catalog} = context;
  if (catalog.triggers.some(({event}) => event === 'read')) return undefined;
  const parameters = packPortable(runOptions(parts).parameters);
  const statement = packPortable(query.statement);
  if (parameters === undefined || statement === undefined) return undefined;
  const bodies = new Map<string, RoutineBody>();
  let runsJavaScript = false;
  const plans = [query.statement.plan];
  for (let plan = plans.pop(); plan !== undefined; plan = plans.pop()) {
    if (needsServer(plan)) return undefined;
    for (const name of routinesOf(plan)) {
      const definition = catalog.functionNamed(name);
      if (definition?.language === 'js') runsJavaScript = true;
      if (definition === undefined || definition.language === 'js' || bodies.has(name)) continue;
      const {language, code} = definition;
      const body = bodyOf(parts, language, code, context);
      const packed = body && packPortable(body.statement);
      if (body === undefined || packed === undefined) return undefined;
      bodies.set(name, {language, text: code, statement: packed});
      plans.push(body.statement.plan);
    }
  }
  return {statement, parameters, bodies: [...bodies.values()], runsJavaScript};
}

/** Undefined for a body that cannot be prepared: whoever calls it here is told why. */
function bodyOf(
  {session}: StatementContext,
  language: string,
  text: string,
  context: ReadSchema,
): PreparedQuery | undefined {
  try {
    const prepared = session.prepare(language, text, context);
    return prepared.kind === 'query' ? prepared : undefined;
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}
