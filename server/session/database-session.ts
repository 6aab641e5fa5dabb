/**
 * Everything a session keeps about one open database: its schema, its prepared statements, the
 * queue of its schema commands, and how its values print.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import type {FunctionRegistry} from '#server/execution/function-registry.ts';
import {
  createRecordJson,
  type RecordJson,
  type ServerPatterns,
} from '#server/execution/record-format.ts';
import type {JavaScriptEngine} from '#server/platform/javascript.ts';
import type {Procedures} from '#server/languages/cypher/procedures.ts';
import type {ParseLimits} from '#server/languages/limits.ts';
import type {Timers} from '#server/platform/clock.ts';
import type {Database} from '#server/transactions/database.ts';
import {DatabaseSchema} from '#server/transactions/database-schema.ts';
import type {DefaultEvaluator, RecordContext} from '#server/transactions/records-context.ts';
import {checkJavaScript} from './javascript-programs.ts';
import {GlobalVariables} from './global-variables.ts';
import {
  bindText,
  checkSyntax,
  languages,
  type Prepared,
  type PrepareOptions,
  prepareText,
} from './prepared.ts';
import {Routines} from './routines.ts';
import {type NewRoutine, SchemaExecutor} from './schema-executor.ts';
import {StatementCache} from './statement-cache.ts';

const statementsMax = 1_000;
const statementLengthMax = 16 << 10;

export interface DatabaseSessionOptions {
  readonly functions: FunctionRegistry;
  readonly procedures: Procedures;
  readonly javascript: JavaScriptEngine;
  readonly timers: Timers;
  readonly limits: ParseLimits;
  readonly recordBytesMax: number;
  readonly staleReadCheck: boolean;
  readonly patterns: ServerPatterns;
  readonly defaultsOf: (catalog: Catalog) => DefaultEvaluator;
}

export class DatabaseSession {
  readonly database: Database;
  readonly schema: DatabaseSchema;
  readonly executor: SchemaExecutor;
  readonly globals = new GlobalVariables();
  readonly #options: DatabaseSessionOptions;
  /** By language: a key put together from language and text would cost more than the look-up. */
  readonly #statements: ReadonlyMap<string, StatementCache<Prepared>> = new Map(
    languages.map(language => [
      language,
      new StatementCache({entriesMax: statementsMax, textLengthMax: statementLengthMax}),
    ]),
  );
  readonly #routines = new WeakMap<Catalog, Routines>();
  #json: RecordJson | undefined;

  constructor(database: Database, options: DatabaseSessionOptions) {
    this.database = database;
    this.#options = options;
    const {recordBytesMax, staleReadCheck, defaultsOf, timers} = options;
    this.schema = new DatabaseSchema(database, {recordBytesMax, staleReadCheck, defaultsOf});
    this.executor = new SchemaExecutor({
      database,
      schema: this.schema,
      timers,
      checkCode: routine => this.#checkCode(routine),
    });
    void this.executor.resume();
  }

  get procedures(): Procedures {
    return this.#options.procedures;
  }

  get javascript(): JavaScriptEngine {
    return this.#options.javascript;
  }

  get functions(): FunctionRegistry {
    return this.#options.functions;
  }

  get limits(): ParseLimits {
    return this.#options.limits;
  }

  /** The statement under a catalog; kept when that is the newest. */
  prepare(language: string, text: string, {catalog} = this.schema.context): Prepared {
    const make = (): Prepared => prepareText(language, text, this.prepareOptions(catalog));
    const kept = this.#statements.get(language) ?? this.#statements.get(language.toLowerCase());
    if (kept === undefined || catalog !== this.schema.catalog) return make();
    // What holds a password is not kept.
    return kept.get(catalog.version, text, make, made => made.kind !== 'user');
  }

  /** What preparing under a catalog goes by. */
  prepareOptions(catalog: Catalog): PrepareOptions {
    const {functions, procedures, limits} = this.#options;
    const databaseName = this.database.name;
    const options = {catalog, functions, procedures, limits, databaseName};
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
      else checkSyntax(language, code, this.limits);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const {detail} = error;
      throw new Refusal(error.code, `in the code of '${name}': ${error.message}`, {detail});
    }
  }

  /** How records print under a catalog. */
  jsonOf({schema, catalog}: RecordContext): RecordJson {
    if (this.#json?.schema === schema) return this.#json;
    const json = createRecordJson(schema, catalog, this.#options.patterns);
    if (catalog === this.schema.catalog) this.#json = json;
    return json;
  }
}
