/**
 * Keeps the records of materialized views what their queries answer.
 *
 * A refresh is one transaction: it runs the query and writes what differs, so readers see all of it
 * or nothing, and a refresh that changes nothing writes nothing. Whoever commits what an
 * incremental view reads is answered after its refresh; several who wait share one. Where each row
 * comes from one record, such a refresh looks at the changed records alone (view-records.ts). A
 * refresh that fails leaves the view as it was, and its figures say so. It reads in the name of who
 * made the view, with the rights that he has then, whoever asks for it or writes what it reads.
 * Invariant A3: a view shows no record that its owner may not read when it is refreshed.
 *
 * A refresh has a place at the gate (admission.ts). By the clock and after a start it waits for one
 * of its owner's; a statement that asks for it has its own; what follows from a commit goes on with
 * the place of that commit's user and does not wait, so that nobody else's full share keeps the
 * commit waiting.
 *
 * Figures count since the database was opened; at that moment, which is its first use, incremental
 * views come up to date, because a stop may have come between a commit and its refresh.
 *
 * Views that read along edges or through links follow every commit but those of other refreshes,
 * so that no two of them ever follow each other.
 */
import {assert} from '#server/base/assert.ts';
import type {Cancellation} from '#server/base/cancellation.ts';
import {Refusal} from '#server/base/errors.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import {requireView, viewsOf, type ViewType} from '#server/catalog/change-view.ts';
import type {ViewFigures} from '#server/execution/external-access.ts';
import {printName} from '#server/languages/sql/printer.ts';
import {traceQuery, sourcesParameter} from '#server/languages/sql/view-query.ts';
import {ridText} from '#server/model/rid.ts';
import type {Rid, Value} from '#server/model/value.ts';
import type {RecordChanges} from '#server/records/record-changes.ts';
import type {Job, PlannedJob, Scheduler} from '#server/schedule/scheduler.ts';
import type {Database} from '#server/engine/database.ts';
import type {DatabaseSchema} from '#server/records/database-schema.ts';
import type {KeptVariables} from '../programs/kept-variables.ts';
import type {Admission, ExecutionPermit, Owner} from '../statements/admission.ts';
import {
  type RunEnvironment,
  type RunOptions,
  StatementRun,
  type WriteData,
} from '../statements/statement-run.ts';
import type {TargetDatabase} from '../statements/target-database.ts';
import {transact} from '../statements/transact.ts';
import {type SourceMap, takeOver, type ViewWriter, writeAll, writeSome} from './view-records.ts';

const attemptsMax = 50;
const rowsMax = 1_000_000;

/** What is known of one view since the database was opened. */
class ViewState {
  refreshCount = 0;
  errorCount = 0;
  totalMs = 0;
  minMs = 0;
  maxMs = 0;
  lastMs = 0;
  lastAt: number | undefined;
  hasFailed = false;
  /** Tail of the queue: one refresh of a view at a time. */
  tail: Promise<unknown> = Promise.resolve();
  /** Asked for and not begun yet. */
  pending: Promise<void> | undefined;
  /** Refreshes a periodic view. */
  job: PlannedJob | undefined;
  everyMs = 0;
  /** What the next refresh looks at: these records, or (undefined) all. */
  due: Map<string, Rid> | undefined = new Map();
  /** What came from what, under one catalog. */
  traced: {readonly catalogVersion: number; readonly sources: SourceMap} | undefined;
}

interface KnownViews {
  readonly catalog: Catalog;
  readonly all: readonly ViewType[];
  readonly incremental: readonly ViewType[];
}

/** Whose refresh it is. */
interface Turn {
  readonly user: Owner;
  /** The place that it has at the gate; undefined: whoever asked has one. */
  readonly place: ExecutionPermit | undefined;
}

/** The database whose views they are. */
interface ViewDatabase extends TargetDatabase {
  readonly database: Database;
  readonly schema: DatabaseSchema;
  readonly globals: KeptVariables;
  guardOf(user: string): RunOptions['guard'];
}

export class MaterializedViews {
  readonly #session: ViewDatabase;
  readonly #environment: RunEnvironment;
  readonly #admission: Admission;
  readonly #scheduler: Scheduler;
  readonly #states = new Map<number, ViewState>();
  /** The views of the catalog that was looked at last; every commit asks for them. */
  #views: KnownViews | undefined;

  constructor(
    session: ViewDatabase,
    environment: RunEnvironment,
    {admission, scheduler}: {readonly admission: Admission; readonly scheduler: Scheduler},
  ) {
    this.#session = session;
    this.#environment = environment;
    this.#admission = admission;
    this.#scheduler = scheduler;
  }

  /** Call once, when the database is opened. */
  open(): void {
    this.schedule();
    void this.catchUp();
  }

  /**
   * Refreshes one view, as far as whoever asks, who has a place at the gate, waits for it.
   *
   * @throws {Refusal} `schema.unknown-type`, and what its query and its commit are refused for.
   */
  refresh(name: string, user: Owner, signal: Cancellation): Promise<void> {
    const {type} = requireView(this.#session.schema.catalog, name);
    return this.#anew(type.id, {user, place: undefined}, signal);
  }

  /** Brings up to date what follows a user's commit; undefined: nothing does. Never rejects. */
  follow(changes: RecordChanges, user: Owner): Promise<void> | undefined {
    const views = this.#known().incremental;
    if (views.length === 0) return undefined;
    const {typeIds} = changes;
    if (typeIds.size === 0) return undefined;
    // Somebody wrote into a view: what is remembered of its records may not hold any more.
    for (const id of typeIds) this.#forget(id);
    return this.#followed(views, changes, {user, withOthers: true});
  }

  /** The same where nobody knows what the user has changed. */
  followAll(user: Owner): Promise<void> | undefined {
    const views = this.#forgotten();
    return views.length === 0 ? undefined : this.#demandAll(views, user);
  }

  /**
   * Brings up to date what others may have written and did not tell: after a start, and where this
   * server begins to lead. Never rejects.
   */
  async catchUp(): Promise<void> {
    if (!this.#environment.takesWrites()) return;
    const waiting = this.#forgotten().map(({type}) => this.#inTurn(type.id, {aborted: false}));
    await Promise.allSettled(waiting);
  }

  /** The incremental views, of which all is to be looked at. */
  #forgotten(): readonly ViewType[] {
    const views = this.#known().incremental;
    for (const {type} of views) this.#forget(type.id);
    return views;
  }

  #forget(typeId: number): void {
    const state = this.#states.get(typeId);
    if (state === undefined) return;
    state.due = undefined;
    state.traced = undefined;
  }

  /** @param withOthers - Also views that read what they do not name: see the head of the file. */
  #followed(
    views: readonly ViewType[],
    changes: RecordChanges,
    {user, withOthers}: {readonly user: Owner; readonly withOthers: boolean},
  ): Promise<void> | undefined {
    const {typeIds} = changes;
    const concerned = views.filter(({type, view}) => {
      const reads = this.#readsAny(view, typeIds);
      if (!reads && !(withOthers && view.readsOthers)) return false;
      const state = this.#stateOf(type.id);
      if (changes.records === undefined || view.readsOthers) state.due = undefined;
      for (const {typeId, rid} of changes.records ?? []) {
        if (this.#readsAny(view, [typeId])) state.due?.set(ridText(rid), rid);
      }
      return true;
    });
    return concerned.length === 0 ? undefined : this.#demandAll(concerned, user);
  }

  /** Whether a type, or one that it extends, is named by the view. */
  #readsAny({sourceTypeIds}: ViewType['view'], typeIds: Iterable<number>): boolean {
    const {catalog} = this.#session.schema;
    return [...typeIds].some(id => {
      const lineage = catalog.typeById(id)?.lineage ?? [];
      return sourceTypeIds.includes(id) || lineage.some(type => sourceTypeIds.includes(type.id));
    });
  }

  /** Plans the periodic views as the catalog has them now. */
  schedule(): void {
    const views = new Map(this.#known().all.map(({type, view}) => [type.id, {type, view}]));
    for (const [id, state] of this.#states) {
      const refresh = views.get(id)?.view.refresh;
      if (refresh === undefined) this.#states.delete(id);
      if (state.everyMs === (refresh?.kind === 'periodic' ? refresh.everyMs : 0)) continue;
      state.job?.remove();
      state.job = undefined;
      state.everyMs = 0;
    }
    for (const [id, {type, view}] of views) {
      const state = this.#stateOf(id);
      const {refresh} = view;
      if (refresh.kind !== 'periodic' || state.everyMs === refresh.everyMs) continue;
      state.everyMs = refresh.everyMs;
      state.job = this.#scheduler.add(this.#job(id, type.name, refresh.everyMs));
    }
  }

  /** The database is closed or gone. */
  close(): void {
    for (const state of this.#states.values()) state.job?.remove();
    this.#states.clear();
  }

  figures(typeId: number): ViewFigures | undefined {
    return this.#states.get(typeId);
  }

  /** The refreshes of a periodic view; on a replica the leader's arrive as any write. */
  #job(id: number, name: string, everyMs: number): Job {
    const {database} = this.#session;
    return {
      kind: 'view',
      get database() {
        return database.name;
      },
      name,
      clock: 'monotonic',
      rhythm: `every ${everyMs} ms`,
      next: (_before, now) => now + everyMs,
      runsHere: () => database.fence === undefined && this.#environment.takesWrites(),
      run: async signal => {
        await this.#inTurn(id, signal);
        return {outcome: 'completed'};
      },
    };
  }

  async #demandAll(views: readonly ViewType[], user: Owner): Promise<void> {
    await Promise.all(views.map(({type}) => this.#demand(type.id, user)));
  }

  /** The refresh that begins next, whoever asked for it first. Never rejects. */
  #demand(id: number, user: Owner): Promise<void> {
    if (!this.#environment.takesWrites()) return Promise.resolve();
    const state = this.#stateOf(id);
    state.pending ??= this.#queued(state, () => {
      state.pending = undefined;
      return this.#placed(this.#admission.take(user), place =>
        this.#refresh(id, {user, place}, {aborted: false}),
      );
    }).catch(() => undefined);
    return state.pending;
  }

  /** Refreshes all of a view with a place of its owner's, when one is free. */
  #inTurn(id: number, signal: Cancellation): Promise<void> {
    const user = this.#session.schema.catalog.typeById(id)?.definition.view?.owner;
    return Promise.resolve(
      this.#admission.within(user, entered =>
        this.#placed(entered, place => this.#anew(id, {user, place}, signal)),
      ),
    );
  }

  async #placed(
    place: ExecutionPermit,
    work: (place: ExecutionPermit) => Promise<void>,
  ): Promise<void> {
    try {
      await work(place);
    } finally {
      place.leave();
    }
  }

  #anew(id: number, turn: Turn, signal: Cancellation): Promise<void> {
    const state = this.#stateOf(id);
    return this.#queued(state, () => {
      state.due = undefined;
      return this.#refresh(id, turn, signal);
    });
  }

  #queued(state: ViewState, work: () => Promise<void>): Promise<void> {
    const result = state.tail.then(work);
    state.tail = result.catch(() => undefined);
    return result;
  }

  async #refresh(id: number, turn: Turn, signal: Cancellation): Promise<void> {
    const state = this.#stateOf(id);
    const {clock} = this.#environment;
    const startedAt = clock.monotonic();
    try {
      await this.#transact(id, turn, signal);
    } catch (error) {
      state.errorCount += 1;
      state.hasFailed = true;
      throw error;
    }
    const elapsedMs = Math.round(clock.monotonic() - startedAt);
    state.minMs = state.refreshCount === 0 ? elapsedMs : Math.min(state.minMs, elapsedMs);
    state.maxMs = Math.max(state.maxMs, elapsedMs);
    state.totalMs += elapsedMs;
    state.lastMs = elapsedMs;
    state.lastAt = clock.now();
    state.refreshCount += 1;
    state.hasFailed = false;
  }

  async #transact(id: number, {user, place}: Turn, signal: Cancellation): Promise<void> {
    const state = this.#stateOf(id);
    const {due} = state;
    state.due = new Map();
    const parts = {
      session: this.#session,
      environment: this.#environment,
      signal,
      retries: attemptsMax,
      waitMs: undefined,
      requestId: undefined,
      contention: undefined,
      committed: ({changes}: WriteData['writer']) =>
        this.#followed(this.#known().incremental, changes, {user, withOthers: false}),
    };
    const work = async (data: WriteData): Promise<() => ViewState['traced']> => {
      // Commits wait without it.
      place?.resume();
      try {
        return await this.#carryOut({id, due, data, signal});
      } finally {
        place?.park();
      }
    };
    try {
      const traced = await transact(parts, work);
      state.traced = traced();
    } catch (error) {
      this.#forget(id);
      throw error;
    }
  }

  /** Gives what is known of the view once the transaction has succeeded. */
  async #carryOut(parts: {
    readonly id: number;
    readonly due: ReadonlyMap<string, Rid> | undefined;
    readonly data: WriteData;
    readonly signal: Cancellation;
  }): Promise<() => ViewState['traced']> {
    const {id, due, data, signal} = parts;
    const {catalog} = data.context;
    const type = catalog.typeById(id);
    const view = type?.definition.view;
    // Dropped since it was asked for.
    if (type === undefined || view === undefined) return () => undefined;
    const {owner} = view;
    const guard = owner === undefined ? undefined : this.#session.guardOf(owner);
    const options = this.#options(signal, guard);
    const rest = (): Promise<void> => this.#environment.timers.yield();
    const into: ViewWriter = {typeName: type.name, writer: data.writer, rest};
    const isTraced = view.refresh.kind === 'incremental' && view.isSimple && !view.readsOthers;
    const query = isTraced ? traceQuery(view.query) : undefined;
    const {traced} = this.#stateOf(id);
    if (query !== undefined && due !== undefined && traced?.catalogVersion === catalog.version) {
      const sources = new Map([[sourcesParameter, [...due.values()]]]);
      const rows = await this.#rows(query.some, data, {...options, parameters: sources});
      const news = await writeSome(into, traced.sources, due, rows);
      return () => {
        const taken = takeOver(traced.sources, news);
        return taken && {catalogVersion: catalog.version, sources: taken};
      };
    }
    const rows = await this.#rows(query?.all ?? view.query, data, options);
    const own = `SELECT FROM ${printName(type.name)}`;
    const old = await this.#rows(own, data, this.#options(signal));
    const sources = await writeAll(into, old, rows);
    return () => (isTraced && sources ? {catalogVersion: catalog.version, sources} : undefined);
  }

  async #rows(text: string, data: WriteData, options: RunOptions): Promise<readonly Value[]> {
    const query = this.#session.prepare('sql', text, data.context);
    assert(query.kind === 'query', 'a view was made of a query');
    // Its text only reads; a function that it calls may be another by now.
    if (query.writes) {
      throw new Refusal('query.not-idempotent', 'a view cannot call functions that write');
    }
    const run = new StatementRun(query, data, options, this.#environment);
    try {
      return await run.values(rowsMax);
    } finally {
      run.close();
    }
  }

  #stateOf(id: number): ViewState {
    const known = this.#states.get(id);
    if (known !== undefined) return known;
    const state = new ViewState();
    this.#states.set(id, state);
    return state;
  }

  #known(): KnownViews {
    const {catalog} = this.#session.schema;
    if (this.#views?.catalog === catalog) return this.#views;
    const all = viewsOf(catalog);
    const incremental = all.filter(({view}) => view.refresh.kind === 'incremental');
    this.#views = {catalog, all, incremental};
    return this.#views;
  }

  #options(signal: Cancellation, guard?: RunOptions['guard']): RunOptions {
    return {
      session: this.#session,
      parameters: this.#session.globals.under(new Map()),
      signal,
      sources: undefined,
      server: undefined,
      guard,
    };
  }
}
