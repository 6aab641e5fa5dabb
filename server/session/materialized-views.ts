/**
 * Keeps the records of materialized views what their queries answer.
 *
 * A refresh is one transaction: it runs the query and writes what differs, so readers see all of it
 * or nothing, and a refresh that changes nothing writes nothing. Whoever commits what an
 * incremental view reads is answered after its refresh; several who wait share one. A refresh that
 * fails leaves the view as it was, and its figures say so. Figures count since the database was
 * opened; at that moment, which is its first use, incremental views come up to date, because a
 * stop may have come between a commit and its refresh.
 *
 * Views that read along edges or through links follow every commit but those of other refreshes,
 * so that no two of them ever follow each other.
 */
import type {Catalog} from '#server/catalog/catalog.ts';
import {requireView, viewsOf, type ViewType} from '#server/catalog/change-view.ts';
import type {ViewFigures} from '#server/execution/surroundings.ts';
import {printName} from '#server/languages/sql/printer.ts';
import {classify} from '#server/model/compare.ts';
import {jsonText} from '#server/model/json.ts';
import {type MapValue, RecordValue, type Value} from '#server/model/value.ts';
import {assert} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import type {DatabaseSession} from './database-session.ts';
import {
  type RunEnvironment,
  type RunOptions,
  StatementRun,
  type WriteData,
} from './statement-run.ts';
import {transact} from './transact.ts';

const attemptsMax = 50;
const rowsMax = 1_000_000;
/** Records that are written between two looks at whether others wait. */
const stretch = 512;

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
  cancelTimer: (() => void) | undefined;
  everyMs = 0;
}

interface KnownViews {
  readonly catalog: Catalog;
  readonly all: readonly ViewType[];
  readonly incremental: readonly ViewType[];
}

export class MaterializedViews {
  readonly #session: DatabaseSession;
  readonly #environment: RunEnvironment;
  readonly #states = new Map<number, ViewState>();
  /** Those of the catalog that was looked at last; every commit asks for them. */
  #views: KnownViews | undefined;

  constructor(session: DatabaseSession, environment: RunEnvironment) {
    this.#session = session;
    this.#environment = environment;
  }

  /** Call once, when the database is opened. */
  open(): void {
    this.schedule();
    void this.followAll();
  }

  /**
   * Refreshes one view in the name of whoever asks.
   *
   * @throws {Refusal} `schema.unknown-type`, and what its query and its commit are refused for.
   */
  refresh(name: string, options: RunOptions): Promise<void> {
    const {type} = requireView(this.#session.schema.catalog, name);
    return this.#queued(this.#stateOf(type.id), () => this.#refresh(type.id, options));
  }

  /** Brings up to date what follows a commit; undefined where nothing does. Never rejects. */
  follow(changedTypes: ReadonlySet<number>): Promise<void> | undefined {
    const views = this.#known().incremental;
    if (views.length === 0 || changedTypes.size === 0) return undefined;
    const above = this.#lineagesOf(changedTypes);
    return this.#demandAll(views.filter(({view}) => view.readsOthers || reads(view, above)));
  }

  /** The same where nobody knows what has changed. */
  followAll(): Promise<void> | undefined {
    const views = this.#known().incremental;
    return views.length === 0 ? undefined : this.#demandAll(views);
  }

  /** Sets the timers of periodic views as the catalog has them now. */
  schedule(): void {
    const views = new Map(this.#known().all.map(({type, view}) => [type.id, view.refresh]));
    for (const [id, state] of this.#states) {
      const refresh = views.get(id);
      if (refresh === undefined) this.#states.delete(id);
      if (state.everyMs === (refresh?.kind === 'periodic' ? refresh.everyMs : 0)) continue;
      state.cancelTimer?.();
      state.everyMs = 0;
    }
    for (const [id, refresh] of views) {
      const state = this.#stateOf(id);
      if (refresh.kind !== 'periodic' || state.everyMs === refresh.everyMs) continue;
      state.everyMs = refresh.everyMs;
      this.#wait(id, state);
    }
  }

  figures(typeId: number): ViewFigures | undefined {
    return this.#states.get(typeId);
  }

  /** Until the next refresh of a periodic view; a database that was closed has no more of them. */
  #wait(id: number, state: ViewState): void {
    state.cancelTimer = this.#environment.timers.after(state.everyMs, () => {
      if (this.#session.database.fence !== undefined) return;
      void this.#demand(id).then(() => {
        if (state.everyMs > 0) this.#wait(id, state);
      });
    });
  }

  async #demandAll(views: readonly ViewType[]): Promise<void> {
    await Promise.all(views.map(({type}) => this.#demand(type.id)));
  }

  /** The refresh that begins next, whoever asked for it first. Never rejects. */
  #demand(id: number): Promise<void> {
    const state = this.#stateOf(id);
    state.pending ??= this.#queued(state, () => {
      state.pending = undefined;
      return this.#refresh(id, this.#ownOptions());
    }).catch(() => undefined);
    return state.pending;
  }

  #queued(state: ViewState, work: () => Promise<void>): Promise<void> {
    const result = state.tail.then(work);
    state.tail = result.catch(() => undefined);
    return result;
  }

  async #refresh(id: number, options: RunOptions): Promise<void> {
    const state = this.#stateOf(id);
    const {clock} = this.#environment;
    const startedAt = clock.monotonic();
    try {
      await this.#transact(id, options);
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

  async #transact(id: number, options: RunOptions): Promise<void> {
    const parts = {
      session: this.#session,
      environment: this.#environment,
      signal: options.signal,
      retries: attemptsMax,
      waitMs: undefined,
      requestId: undefined,
      committed: ({changedTypes}: WriteData['writer']) => this.#followRefresh(changedTypes),
    };
    await transact(parts, async data => {
      const type = data.context.catalog.typeById(id);
      const view = type?.definition.view;
      // Dropped since it was asked for.
      if (type === undefined || view === undefined) return;
      const wanted = rowsByKey(await this.#rows(view.query, data, options));
      const old = await this.#rows(`SELECT FROM ${printName(type.name)}`, data, this.#ownOptions());
      await this.#write({data, typeName: type.name, wanted, old});
    });
  }

  /** Only views that name the type: see the head of the file. */
  #followRefresh(changedTypes: ReadonlySet<number>): Promise<void> | undefined {
    if (changedTypes.size === 0) return undefined;
    const above = this.#lineagesOf(changedTypes);
    const views = this.#known().incremental.filter(({view}) => reads(view, above));
    return views.length === 0 ? undefined : this.#demandAll(views);
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

  /** Deletes records that no row is like, and makes one for each row that is left. */
  async #write(parts: {
    readonly data: WriteData;
    readonly typeName: string;
    readonly wanted: Map<string, MapValue[]>;
    readonly old: readonly Value[];
  }): Promise<void> {
    const {data, typeName, wanted, old} = parts;
    let written = 0;
    const wrote = async (): Promise<void> => {
      written += 1;
      if (written % stretch === 0) await this.#environment.timers.yield();
    };
    for (const record of old) {
      assert(record instanceof RecordValue, 'a type holds records');
      const same = wanted.get(exactText(propertiesOf(record)));
      if (same !== undefined && same.length > 0) {
        same.pop();
        continue;
      }
      data.writer.delete(record.rid);
      await wrote();
    }
    for (const rows of wanted.values()) {
      for (const properties of rows) {
        data.writer.createDocument({typeName, properties});
        await wrote();
      }
    }
    data.writer.requireComplete();
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

  /** The types and all that they extend. */
  #lineagesOf(typeIds: ReadonlySet<number>): ReadonlySet<number> {
    const {catalog} = this.#session.schema;
    const above = new Set<number>();
    for (const id of typeIds) {
      above.add(id);
      for (const type of catalog.typeById(id)?.lineage ?? []) above.add(type.id);
    }
    return above;
  }

  /** In nobody's name: whoever made the view was asked for his rights then. */
  #ownOptions(): RunOptions {
    return {
      session: this.#session,
      parameters: this.#session.globals.under(new Map()),
      signal: {aborted: false},
      sources: undefined,
      server: undefined,
      guard: undefined,
    };
  }
}

function reads({sourceTypeIds}: ViewType['view'], typeIds: ReadonlySet<number>): boolean {
  return sourceTypeIds.some(id => typeIds.has(id));
}

function rowsByKey(rows: readonly Value[]): Map<string, MapValue[]> {
  const byKey = new Map<string, MapValue[]>();
  for (const row of rows) {
    const properties = propertiesOf(row);
    const key = exactText(properties);
    const same = byKey.get(key);
    if (same === undefined) byKey.set(key, [properties]);
    else same.push(properties);
  }
  return byKey;
}

/** What a record of a row holds: attributes such as `@rid` are of its own. */
function propertiesOf(row: Value): MapValue {
  if (row instanceof RecordValue) return row.properties();
  if (!(row instanceof Map)) return new Map([['value', row]]);
  return new Map([...(row as MapValue)].filter(([name]) => !name.startsWith('@')));
}

/** Equal for values that are stored alike: unlike JSON it tells a date from its text. */
function exactText(value: Value): string {
  const known = classify(value);
  if (known.of === 'list') return `[${known.value.map(exactText).join()}]`;
  if (known.of !== 'map') return `${known.of} ${jsonText(value)}`;
  const entries = [...known.value].map(([name, item]) => `${jsonText(name)}:${exactText(item)}`);
  return `{${entries.join()}}`;
}
