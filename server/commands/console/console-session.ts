/**
 * What a console is between its inputs: server, database, language, format, parameters, an open
 * transaction; and how a statement is carried out in it.
 *
 * It knows nothing of keys and screens: terminal.ts and script.ts bring the inputs. Methods throw
 * what fails (`ServerError`, `CommandError`, `UsageError`, ...), and whoever called says it.
 */
import {randomUUID} from 'node:crypto';
import type {Client, IsolationLevel, Result, Row} from '#server/client/client.ts';
import {nearest} from '../arguments.ts';
import {CommandError, type Output, print, UsageError} from '../command.ts';
import {countOf, planOf, printAnswer} from '../statement.ts';
import type {Format} from '../table.ts';
import {type SchemaNames, ServerNames} from './server-names.ts';
import {ConsoleTransaction} from './transaction.ts';
import {WaitingLine} from './waiting-line.ts';

/** How a console begins. */
export interface ConsoleOptions {
  readonly client: Client;
  readonly output: Output;
  readonly errors: Output;
  /** A person reads along: says what a command did, and what could be typed next. */
  readonly isInteractive: boolean;
  readonly format: Format;
  /** Most rows of an answer; undefined: as the server decides. */
  readonly limit: number | undefined;
  readonly params: Readonly<Record<string, unknown>>;
}

/** The time between two requests to end a statement: the first may have come before it. */
const stopMillis = 200;

/** A transaction of the console is begun by these statements too, as people are used to. */
const transactionWords =
  /^(?:(begin|start\s+transaction)(?:\s+isolation\s+(\w+))?|(commit)|(rollback))$/i;

interface Running {
  readonly tag: string;
  readonly abort: AbortController;
  isStopping: boolean;
}

export class ConsoleSession {
  readonly client: Client;
  readonly output: Output;
  readonly names: ServerNames;
  readonly params: Map<string, unknown>;
  format: Format;
  limit: number | undefined;
  timing: boolean;
  readonly #errors: Output;
  readonly #isInteractive: boolean;
  #database: string | undefined;
  #language = 'sql';
  #transaction: ConsoleTransaction | undefined;
  #running: Running | undefined;

  constructor(options: ConsoleOptions) {
    this.client = options.client;
    this.output = options.output;
    this.names = new ServerNames(options.client);
    this.params = new Map(Object.entries(options.params));
    this.format = options.format;
    this.limit = options.limit;
    this.timing = options.isInteractive;
    this.#errors = options.errors;
    this.#isInteractive = options.isInteractive;
  }

  get database(): string | undefined {
    return this.#database;
  }

  get language(): string {
    return this.#language;
  }

  get hasTransaction(): boolean {
    return this.#transaction !== undefined;
  }

  /** `music> `; other languages are named, `*` is an open transaction, `!` a failed one. */
  get prompt(): string {
    const language = this.#language === 'sql' ? '' : `:${this.#language}`;
    const transaction = this.#transaction;
    const mark = transaction === undefined ? '' : transaction.isFailed ? '!' : '*';
    return `${this.#database ?? 'svc'}${language}${mark}> `;
  }

  /** Tells a person what was done; a script is not disturbed. */
  async say(text: string): Promise<void> {
    if (this.#isInteractive) await print(this.output, `${text}\n`);
  }

  /** Prints rows that do not come from a statement. */
  async show(rows: readonly Row[]): Promise<void> {
    await this.#print({result: rows, fields: {}, truncated: false} as const, '');
  }

  /** Names of the chosen database; none without one. */
  async schemaNames(): Promise<SchemaNames> {
    const database = this.#database;
    return database === undefined ? {types: [], functions: []} : this.names.schema(database);
  }

  /** Rows that tell of the schema of the chosen database. */
  async schemaRows(
    statement: string,
    params: Readonly<Record<string, unknown>> = {},
  ): Promise<readonly Row[]> {
    const options = {params, limit: -1};
    return (await this.client.query(await this.#requireDatabase(), statement, options)).result;
  }

  /** @throws {CommandError} when there is no such database, or a transaction is open. */
  async use(name: string): Promise<void> {
    if (this.#transaction !== undefined) {
      throw new CommandError('a transaction is open: end it with :commit or :rollback first');
    }
    const names = await this.client.databases();
    if (!names.includes(name)) {
      const near = nearest(name, names);
      const hint = near === undefined ? `there are ${listed(names)}` : `did you mean ${near}?`;
      throw new CommandError(`there is no database '${name}': ${hint}`);
    }
    this.#database = name;
  }

  /** @throws {UsageError} for a language that the server does not speak. */
  async speak(name: string): Promise<void> {
    const language = name.toLowerCase();
    const known = await this.names.languages();
    if (known.length > 0 && !known.includes(language)) {
      throw new UsageError(`there is no language '${name}': choose one of ${known.join(', ')}`);
    }
    this.#language = language;
  }

  async begin(level: string | undefined): Promise<void> {
    if (this.#transaction !== undefined) {
      throw new CommandError('a transaction is open already: :commit or :rollback ends it');
    }
    const database = await this.#requireDatabase();
    this.#transaction = await ConsoleTransaction.begin(this.client, database, levelOf(level));
    await this.say('began a transaction; :commit or :rollback ends it');
  }

  async commit(): Promise<void> {
    await this.#requireTransaction().commit();
    this.#transaction = undefined;
    await this.say('committed');
  }

  async rollback(): Promise<void> {
    const transaction = this.#requireTransaction();
    this.#transaction = undefined;
    await transaction.rollback();
    await this.say('rolled back');
  }

  /** Carries out one statement and prints what it answers. */
  async run(statement: string): Promise<void> {
    const [, begin, level, commit, rollback] =
      this.#language === 'sqlscript' ? [] : (transactionWords.exec(statement) ?? []);
    if (begin !== undefined) return this.begin(level);
    if (commit !== undefined) return this.commit();
    if (rollback !== undefined) return this.rollback();
    const database = await this.#requireDatabase();
    const startedAt = performance.now();
    const answer = await this.#answer(database, statement);
    const millis = performance.now() - startedAt;
    this.names.ran(answer.result);
    await this.#print(answer, this.timing ? ` (${duration(millis)})` : '');
  }

  /** Ends the statement that runs, if one does: first by the server, then by going away. */
  interrupt(): boolean {
    const running = this.#running;
    if (running === undefined) return false;
    if (running.isStopping) {
      running.abort.abort();
    } else {
      running.isStopping = true;
      void this.#stop(running);
    }
    return true;
  }

  async #stop(running: Running): Promise<void> {
    while (this.#running === running) {
      await this.client.serverCommand(`terminate queries tag ${running.tag}`).catch(() => ({}));
      await new Promise(resolve => setTimeout(resolve, stopMillis).unref());
    }
  }

  async #answer(database: string, statement: string): Promise<Result> {
    const running = {
      tag: `console-${randomUUID()}`,
      abort: new AbortController(),
      isStopping: false,
    };
    const options = {
      language: this.#language,
      tag: running.tag,
      signal: running.abort.signal,
      ...(this.params.size === 0 ? {} : {params: Object.fromEntries(this.params)}),
      ...(this.limit === undefined ? {} : {limit: this.limit}),
    };
    this.#running = running;
    const waiting = new WaitingLine(this.#errors, () => running.isStopping);
    waiting.begin(() => this.client.progress(database));
    try {
      return this.#transaction === undefined
        ? await this.client.command(database, statement, options)
        : await this.#transaction.run(statement, options);
    } finally {
      this.#running = undefined;
      waiting.end();
    }
  }

  async #print(
    answer: Pick<Result, 'result' | 'fields' | 'truncated'>,
    note: string,
  ): Promise<void> {
    const {output, format} = this;
    await printAnswer(answer, output, format);
    if (planOf(answer) !== undefined) {
      if (note !== '') await print(output, `${note.trimStart()}\n`);
      return;
    }
    const more = answer.truncated ? ', and there are more: :limit N shows N' : '';
    const said = `${countOf(answer)}${more}${changesOf(answer)}${note}\n`;
    // Beside rows for a program only what it must know is said, and not among them.
    if (format === 'table') await print(output, said);
    else if (`${more}${note}` !== '') await print(this.#errors, said);
  }

  async #requireDatabase(): Promise<string> {
    if (this.#database !== undefined) return this.#database;
    const names = await this.client.databases();
    throw new CommandError(`no database is chosen: ':use NAME', there are ${listed(names)}`);
  }

  #requireTransaction(): ConsoleTransaction {
    if (this.#transaction !== undefined) return this.#transaction;
    throw new CommandError('no transaction is open: :begin opens one');
  }
}

/** What a statement without rows changed: `, nodesCreated 2`. */
function changesOf({fields}: Pick<Result, 'fields'>): string {
  const stats = fields['stats'];
  if (typeof stats !== 'object' || stats === null) return '';
  return Object.entries(stats)
    .filter(([, value]) => typeof value === 'number' && value > 0)
    .map(([name, value]) => `, ${name} ${String(value)}`)
    .join('');
}

function levelOf(word: string | undefined): IsolationLevel | undefined {
  if (word === undefined) return undefined;
  const level = word.toUpperCase();
  if (level === 'READ_COMMITTED' || level === 'REPEATABLE_READ') return level;
  throw new UsageError(`there is no isolation '${word}': choose READ_COMMITTED or REPEATABLE_READ`);
}

function listed(names: readonly string[]): string {
  if (names.length === 0) return "none yet: 'svc database create NAME' makes one";
  return names.length > 10 ? `${names.slice(0, 10).join(', ')}, ...` : names.join(', ');
}

function duration(millis: number): string {
  if (millis < 10) return `${millis.toFixed(1)} ms`;
  return millis < 1_000 ? `${Math.round(millis)} ms` : `${(millis / 1_000).toFixed(1)} s`;
}
