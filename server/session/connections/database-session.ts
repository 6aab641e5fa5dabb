/**
 * Everything a session keeps about one open database: its schema, its prepared statements, the
 * queue of its schema commands, and how its values print.
 */
import type {CachedFamilies, IndexFiles} from '#server/caches/index-caches.ts';
import {rootName} from '#server/access/users.ts';
import {Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import type {FunctionRegistry} from '#server/execution/function-registry.ts';
import type {KeptMemory} from '../kept-memory.ts';
import {
  createRecordJson,
  type RecordJson,
  type ServerPatterns,
} from '#server/execution/record-format.ts';
import type {JavaScriptEngine} from '#server/platform/javascript.ts';
import type {Procedures} from '#server/languages/cypher/procedures.ts';
import type {ParseLimits} from '#server/languages/limits.ts';
import type {MapValue} from '#server/model/value.ts';
import {
  operationText,
  type RecordOperation,
  recordStatement,
} from '#server/plan/record-statements.ts';
import type {AnswerForm, SchemaCommand} from '#server/plan/statement.ts';
import {noStatistics, type Statistics} from '#server/plan/statistics.ts';
import type {Database} from '#server/engine/database.ts';
import {ChangeStream} from '#server/records/change-stream.ts';
import {DatabaseSchema} from '#server/records/database-schema.ts';
import type {DefaultEvaluator} from '#server/records/context.ts';
import type {CompactionThread} from '#server/engine/store-compaction.ts';
import type {DatabaseFiles} from '../database/database-check.ts';
import {DatabaseStatistics} from '../database/database-statistics.ts';
import {DatabaseCaches} from '../schema/database-caches.ts';
import type {ServerCacheMemory} from '#server/caches/memory-shares.ts';
import {checkJavaScript} from '../programs/javascript-programs.ts';
import {KeptVariables} from '../programs/kept-variables.ts';
import {MaterializedViews} from '../schema/materialized-views.ts';
import {
  bindText,
  type Prepared,
  type PrepareOptions,
  prepareStatement,
  prepareText,
  preparingText,
} from '../preparation/prepared.ts';
import {frontEnds, type Languages} from '../languages/front-ends.ts';
import {Routines} from '../programs/routines.ts';
import type {ReadSchema} from '#server/records/context.ts';
import {type NewRoutine, SchemaExecutor} from '../schema/schema-executor.ts';
import type {Scheduler} from '#server/schedule/scheduler.ts';
import type {Admission} from '../statements/admission.ts';
import type {RunEnvironment, RunOptions} from '../statements/statement-run.ts';
import {StatementCache} from '../preparation/statement-cache.ts';
import {ProgressRegistry} from '../database/work-progress.ts';

const statementsMax = 1_000;
/** A longer text is not kept, and takes long to prepare: others have turns meanwhile. */
export const statementLengthMax = 16 << 10;

/** Commands after which types have other records, or views follow what they did not follow. */
const touchesRecords: ReadonlySet<SchemaCommand['kind']> = new Set([
  'alter-type',
  'alter-view',
  'drop-bucket',
  'drop-type',
  'rebuild-type',
  'truncate-bucket',
  'truncate-type',
]);

/** A statement that was prepared before it runs, and the catalog under which it holds. */
export interface PreparedAhead {
  readonly catalog: Catalog;
  readonly prepared: Prepared;
}

export interface DatabaseSessionOptions {
  readonly families: CachedFamilies;
  readonly indexFiles: IndexFiles | undefined;
  readonly functions: FunctionRegistry;
  readonly procedures: Procedures;
  readonly languages: Languages;
  readonly javascript: JavaScriptEngine;
  readonly settings: () => Settings;
  readonly environment: RunEnvironment;
  readonly scheduler: Scheduler;
  readonly admission: Admission;
  /** What users have the server keep. */
  readonly memory: KeptMemory;
  readonly limits: ParseLimits;
  readonly recordBytesMax: number;
  readonly indexKeyBytesMax: number;
  readonly files: DatabaseFiles;
  readonly compactions: CompactionThread | undefined;
  readonly staleReadCheck: boolean;
  readonly cacheMemory: ServerCacheMemory;
  readonly patterns: ServerPatterns;
  readonly defaultsOf: (catalog: Catalog) => DefaultEvaluator;
  /**
   * What somebody may do here at present, in whose name something runs; undefined: everything.
   *
   * @throws {Refusal} `security.denied` for one who may do nothing here, or is not there.
   */
  readonly guardOf: (user: string) => RunOptions['guard'];
}

export class DatabaseSession {
  readonly database: Database;
  readonly schema: DatabaseSchema;
  readonly executor: SchemaExecutor;
  readonly views: MaterializedViews;
  readonly kept: DatabaseCaches;
  readonly changes: ChangeStream;
  readonly globals = new KeptVariables();
  readonly #statistics: DatabaseStatistics;
  readonly work: ProgressRegistry;
  readonly #options: DatabaseSessionOptions;
  /** One cache for each language: a key of language and text would cost more than the look-up. */
  readonly #statements: ReadonlyMap<string, StatementCache<Prepared>>;
  readonly #operations = new StatementCache<Prepared>({
    entriesMax: statementsMax,
    textLengthMax: statementLengthMax,
  });
  readonly #routines = new WeakMap<Catalog, Routines>();
  readonly #json = new WeakMap<AnswerForm, RecordJson>();

  constructor(database: Database, options: DatabaseSessionOptions) {
    this.database = database;
    this.#options = options;
    const {environment, settings} = options;
    const {clock, timers} = environment;
    this.#statements = new Map(
      Array.from(options.languages.keys(), language => [
        language,
        new StatementCache({entriesMax: statementsMax, textLengthMax: statementLengthMax}),
      ]),
    );
    this.schema = new DatabaseSchema(database, options);
    const {families, indexFiles: files, cacheMemory: memory} = options;
    this.kept = new DatabaseCaches(database, {families, files, memory, clock, timers});
    this.changes = new ChangeStream(database, this.schema.names, timers.after.bind(timers), () => ({
      bytesMax: settings().get('svc.changes.bytesMax'),
      resumeMs: settings().get('svc.changes.resumeTimeout'),
    }));
    this.work = new ProgressRegistry(clock);
    const {schema, work} = this;
    this.#statistics = new DatabaseStatistics(database, schema, clock);
    const checkCode = (routine: NewRoutine): void => this.#checkCode(routine);
    this.executor = new SchemaExecutor({
      database,
      schema,
      clock,
      timers,
      settings,
      work,
      files: options.files,
      compactions: options.compactions,
      onReady: index => this.kept.search.begin(index),
      checkCode,
    });
    this.views = new MaterializedViews(this, environment, options);
    this.resumeWork();
  }

  /** Goes on with builds of indexes and with views that are due, where this server may write. */
  resumeWork(): void {
    void this.executor.resume();
    this.views.open();
  }

  /** The database is closed or gone: nothing is kept of it. */
  close(): void {
    this.views.close();
    this.kept.close();
    this.changes.close();
    this.globals.clear();
  }

  get memory(): KeptMemory {
    return this.#options.memory;
  }

  get procedures(): Procedures {
    return this.#options.procedures;
  }

  get javascript(): JavaScriptEngine {
    return this.#options.javascript;
  }

  get patterns(): ServerPatterns {
    return this.#options.patterns;
  }

  /** See DatabaseSessionOptions. */
  guardOf(user: string): RunOptions['guard'] {
    return this.#options.guardOf(user);
  }

  get functions(): FunctionRegistry {
    return this.#options.functions;
  }

  /**
   * Carries out a command of the schema in somebody's name, and what follows from it for
   * materialized views: a new one that cannot be filled is taken back.
   */
  async change(command: SchemaCommand, options: RunOptions): Promise<MapValue> {
    const {signal, guard} = options;
    const row = await this.executor.run(owned(command, guard?.user), signal);
    if (command.kind === 'refresh-view') {
      await this.views.refresh(command.name, guard?.user, signal);
    }
    if (command.kind === 'create-view' && row.get('created') === true) {
      await this.#fill(command.view.name, options);
    }
    this.views.schedule();
    if (touchesRecords.has(command.kind)) await this.views.followAll(guard?.user);
    return row;
  }

  async #fill(view: string, {guard, signal}: RunOptions): Promise<void> {
    try {
      await this.views.refresh(view, guard?.user, signal);
    } catch (error) {
      await this.executor.run({kind: 'drop-view', name: view, ifExists: true}, undefined);
      throw error;
    }
  }

  /**
   * The statement under a catalog; kept when that is the newest, until the catalog or the
   * statistics change.
   */
  prepare(
    language: string,
    text: string,
    {catalog}: Pick<ReadSchema, 'catalog'> = this.schema.context,
  ): Prepared {
    const make = (): Prepared => prepareText(language, text, this.prepareOptions(catalog));
    const kept = this.#statements.get(language) ?? this.#statements.get(language.toLowerCase());
    if (kept === undefined || catalog !== this.schema.catalog) return make();
    // What holds a password is not kept.
    return kept.get(this.#statistics.generation(), text, make, made => made.kind !== 'user');
  }

  /**
   * Works like `prepare`, with a plan that goes by nothing of the data: whoever is shown it may not
   * read everything that it would go by.
   */
  prepareBlind(language: string, text: string, {catalog}: Pick<ReadSchema, 'catalog'>): Prepared {
    return prepareText(language, text, this.prepareOptions(catalog, noStatistics));
  }

  /** Works like `prepare` for what is done with records. */
  prepareOperation(operation: RecordOperation, {catalog}: Pick<ReadSchema, 'catalog'>): Prepared {
    const make = (): Prepared =>
      prepareStatement(recordStatement(operation, catalog), this.prepareOptions(catalog));
    if (catalog !== this.schema.catalog) return make();
    return this.#operations.get(this.#statistics.generation(), operationText(operation), make);
  }

  /** Prepares a text that is not cached, in steps between which `turn` lets others run. */
  async prepareInTurns(
    language: string,
    text: string,
    turn: () => Promise<void>,
  ): Promise<PreparedAhead> {
    const {catalog} = this.schema;
    const work = preparingText(language, text, this.prepareOptions(catalog));
    for (;;) {
      const step = work.next();
      if (step.done === true) return {catalog, prepared: step.value};
      await turn();
    }
  }

  /** What statements are prepared with; of an older catalog than the newest nothing is counted. */
  prepareOptions(
    catalog: Catalog,
    statistics: Statistics = catalog === this.schema.catalog ? this.#statistics : noStatistics,
  ): PrepareOptions {
    const {functions, procedures, limits, languages} = this.#options;
    const databaseName = this.database.name;
    const options = {catalog, statistics, functions, procedures, limits, languages, databaseName};
    const routines =
      this.#routines.get(catalog) ??
      new Routines(catalog, (language, text) => {
        const bound = bindText(language, text, options);
        return bound.kind === 'bound' ? bound.statement : undefined;
      });
    this.#routines.set(catalog, routines);
    return {...options, routines};
  }

  #checkCode(routine: NewRoutine): void {
    const {name, language, code} = routine;
    try {
      if (language === 'js') checkJavaScript(this.javascript, routine);
      else frontEnds[language].checkCode(code, this.#options.limits);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const {detail} = error;
      throw new Refusal(error.code, `in the code of '${name}': ${error.message}`, {detail});
    }
  }

  /** How records print under a catalog; made once for each form of answers. */
  jsonOf({schema, catalog}: ReadSchema, form: AnswerForm): RecordJson {
    const kept = this.#json.get(form);
    if (kept?.schema === schema) return kept;
    const json = createRecordJson(schema, catalog, this.#options.patterns, form);
    if (catalog === this.schema.catalog) this.#json.set(form, json);
    return json;
  }
}

/**
 * A view keeps who makes it, or says anew when it is refreshed, and is refreshed in his name; a
 * trigger keeps who makes it and fires so. What root alters stays whose it was: it would get his
 * rights.
 */
function owned(command: SchemaCommand, user: string | undefined): SchemaCommand {
  if (command.kind === 'create-trigger') {
    return {...command, trigger: {...command.trigger, owner: user ?? rootName}};
  }
  if (user === undefined) return command;
  if (command.kind === 'alter-view') return {...command, owner: user};
  if (command.kind !== 'create-view') return command;
  return {...command, view: {...command.view, owner: user}};
}
