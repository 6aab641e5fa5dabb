/**
 * Everything a session keeps about one open database: its schema, its prepared statements, the
 * queue of its schema commands, and how its values print.
 */
import type {Settings} from '#server/base/setting-values.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import type {FunctionRegistry} from '#server/execution/function-registry.ts';
import {
  createRecordJson,
  type RecordJson,
  type ServerPatterns,
} from '#server/execution/record-format.ts';
import type {Procedures} from '#server/languages/cypher/procedures.ts';
import type {ParseLimits} from '#server/languages/limits.ts';
import type {AnswerForm} from '#server/plan/statement.ts';
import type {Clock, Timers} from '#server/platform/clock.ts';
import type {Database} from '#server/transactions/database.ts';
import {DatabaseSchema} from '#server/transactions/database-schema.ts';
import type {DefaultEvaluator, RecordContext} from '#server/transactions/records-context.ts';
import {KeptVariables} from './kept-variables.ts';
import {languages, type Prepared, prepareText} from './prepared.ts';
import {SchemaExecutor} from './schema-executor.ts';
import {StatementCache} from './statement-cache.ts';
import {WorkBoard} from './work-progress.ts';

const statementsMax = 1_000;
const statementLengthMax = 16 << 10;

export interface DatabaseSessionOptions {
  readonly functions: FunctionRegistry;
  readonly procedures: Procedures;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly settings: () => Settings;
  readonly limits: ParseLimits;
  readonly recordBytesMax: number;
  readonly indexKeyBytesMax: number;
  readonly staleReadCheck: boolean;
  readonly patterns: ServerPatterns;
  readonly defaultsOf: (catalog: Catalog) => DefaultEvaluator;
}

export class DatabaseSession {
  readonly database: Database;
  readonly schema: DatabaseSchema;
  readonly executor: SchemaExecutor;
  readonly globals = new KeptVariables();
  readonly work: WorkBoard;
  readonly #options: DatabaseSessionOptions;
  /** By language: a key put together from language and text would cost more than the look-up. */
  readonly #statements: ReadonlyMap<string, StatementCache<Prepared>> = new Map(
    languages.map(language => [
      language,
      new StatementCache({entriesMax: statementsMax, textLengthMax: statementLengthMax}),
    ]),
  );
  readonly #json = new WeakMap<AnswerForm, RecordJson>();

  constructor(database: Database, options: DatabaseSessionOptions) {
    this.database = database;
    this.#options = options;
    const {clock, timers, settings} = options;
    this.schema = new DatabaseSchema(database, options);
    this.work = new WorkBoard(clock);
    const {schema, work} = this;
    this.executor = new SchemaExecutor({database, schema, clock, timers, settings, work});
    void this.executor.resume();
  }

  get procedures(): Procedures {
    return this.#options.procedures;
  }

  get functions(): FunctionRegistry {
    return this.#options.functions;
  }

  get limits(): ParseLimits {
    return this.#options.limits;
  }

  /** The statement under a catalog; kept when that is the newest. */
  prepare(language: string, text: string, {catalog} = this.schema.context): Prepared {
    const {functions, procedures, limits} = this.#options;
    const databaseName = this.database.name;
    const options = {catalog, functions, procedures, limits, databaseName};
    const make = (): Prepared => prepareText(language, text, options);
    const kept = this.#statements.get(language) ?? this.#statements.get(language.toLowerCase());
    if (kept === undefined || catalog !== this.schema.catalog) return make();
    // What holds a password is not kept.
    return kept.get(catalog.version, text, make, made => made.kind !== 'user');
  }

  /** How records print under a catalog; made once for each form of answers. */
  jsonOf({schema, catalog}: RecordContext, form: AnswerForm): RecordJson {
    const kept = this.#json.get(form);
    if (kept?.schema === schema) return kept;
    const json = createRecordJson(schema, catalog, this.#options.patterns, form);
    if (catalog === this.schema.catalog) this.#json.set(form, json);
    return json;
  }
}
