/**
 * The real service of a server, asked in words: `rows 3`, `write`, `late 7`, `hang`. Each word
 * stands for a statement (`statements` below) that is parsed, planned and run as anybody's, so a
 * test of a protocol says in one word what the database does and looks at what the client sees.
 *
 * What no statement can bring about happens at the door of the service: `fail CODE` is refused
 * with that code, `break` is a defect, `wait` waits for the test. There is no log between the
 * members of a test's cluster, so what is applied where is what the test says.
 */
import {Refusal, type RefusalCode} from '#server/base/errors.ts';
import type {ShownSchema} from '#server/catalog/shown-schema.ts';
import type {AlignedMember} from '#server/cluster/align.ts';
import type {Principal} from '#server/security/principal.ts';
import type {WorkProgress} from '#server/session/database/work-progress.ts';
import type {
  ChangesRequest,
  ClientConnection,
  ClientContext,
  ChangeSubscription,
  LoadRequest,
  RecordLoad,
  ResultCursor,
  RowCursor,
  RowsRequest,
  StatementDescription,
  RunningQuery,
  RunningTransaction,
  RunRequest,
  Service,
} from '#server/session/session.ts';
import type {KeptHolder} from '#server/session/kept-memory.ts';
import {statementRequest} from '#server/session/statement-request.ts';
import {root} from './service-world.ts';

const wideCharacters = 100_000;
const longSleepMs = 600_000;

type Statement = readonly [language: 'sql' | 'cypher', text: string];

/** The statement of a word with its number; beside each row may stand a text of so many letters. */
const statements: Readonly<Record<string, (count: number, letters: number) => Statement>> = {
  rows: (count, letters) => [
    'cypher',
    `UNWIND range(0, ${count - 1}) AS n RETURN n${textOf(letters)}`,
  ],
  write: () => ['cypher', 'MATCH (w:Written) SET w.n = w.n + 1 RETURN w.n AS write'],
  wide: () => ['sql', `SELECT text.lpad('x', ${wideCharacters}, 'x') AS n`],
  /** Fails with the row behind `count` others. */
  late: (count, letters) => [
    'cypher',
    `UNWIND range(0, ${count}) AS n RETURN n + 0 / (${count} - n) AS n${textOf(letters)}`,
  ],
  hang: () => ['sql', `SELECT util.sleep(${longSleepMs}) AS n`],
  /** Begins to answer, and never ends. */
  stall: () => [
    'cypher',
    // A condition on `a` alone would be asked before the second list is opened.
    `UNWIND range(0, 100000) AS a UNWIND range(0, 100000) AS n
     WITH a, n WHERE a * 100001 + n < 3000 RETURN n`,
  ],
  slow: millis => ['sql', `SELECT CASE WHEN util.sleep(${millis}) IS NULL THEN 0 ELSE 0 END AS n`],
};

export class WordService implements Service {
  appliedIndex = 42;
  ready = true;
  /** Statements that wrote. */
  writes = 0;
  /** Statements cut short because their client went away. */
  aborted = 0;
  /** Results that nobody has closed yet. */
  openCursors = 0;
  /** Called before a write happens; may refuse it. */
  beforeWrite: () => Promise<void> = async () => {};
  /** What `wait` waits for. */
  readonly waiting = Promise.withResolvers<void>();
  readonly requests: RunRequest[] = [];
  /** What the server is busy with on the database `db`. */
  work: readonly WorkProgress[] = [];
  readonly #real: Service;

  private constructor(real: Service) {
    this.#real = real;
  }

  /** Makes the database `db`, which the words are about, unless it is there. */
  static async over(real: Service): Promise<WordService> {
    const service = new WordService(real);
    if (real.databaseExists(root, 'db')) return service;
    await real.createDatabase(root, 'db');
    for (const text of ['CREATE VERTEX TYPE Written', 'INSERT INTO Written SET n = 0']) {
      const cursor = await real.run(root, statementRequest('db', text));
      while ((await cursor.next()) !== undefined);
      cursor.close();
    }
    return service;
  }

  connect(context?: ClientContext): ClientConnection {
    return this.#real.connect(context);
  }

  rows(principal: Principal, request: RowsRequest): Promise<RowCursor> {
    return this.#real.rows(principal, request);
  }

  keep(principal: Principal | undefined): KeptHolder {
    return this.#real.keep(principal);
  }

  prepare(principal: Principal, request: RowsRequest): Promise<StatementDescription> {
    return this.#real.prepare(principal, request);
  }

  changes(principal: Principal, request: ChangesRequest): Promise<ChangeSubscription> {
    return this.#real.changes(principal, request);
  }

  get readableIndex(): number {
    return this.appliedIndex;
  }

  /** What runs, by id. */
  get running(): ReadonlyMap<string, RunningQuery> {
    return new Map(this.#real.queries(root).map(query => [query.id, query]));
  }

  /** Open transactions, by id. */
  get open(): ReadonlyMap<string, RunningTransaction> {
    return new Map(this.#real.transactions(root).map(one => [one.id, one]));
  }

  get databases(): ReadonlySet<string> {
    return new Set(this.#real.databaseNames(root));
  }

  async run(principal: Principal, request: RunRequest): Promise<ResultCursor> {
    this.requests.push(request);
    const [word = '', argument = ''] = request.text.split(' ');
    if (word === 'fail') throw new Refusal(argument as RefusalCode, `it was ${argument}`);
    if (word === 'break') throw new TypeError('a defect');
    if (word === 'write' && !request.readOnly) await this.beforeWrite();
    if (word === 'wait') await this.waiting.promise;
    try {
      const cursor = await this.#real.run(principal, translated(request));
      if (word === 'write') this.writes += 1;
      return this.#watched(cursor, request);
    } catch (error) {
      this.#sawEnd(request, error);
      throw error;
    }
  }

  needsLeader(who: Principal, request: RunRequest): boolean | Promise<boolean> {
    return this.#real.needsLeader(who, translated(request));
  }

  #watched(cursor: ResultCursor, request: RunRequest): ResultCursor {
    this.openCursors += 1;
    let isClosed = false;
    return {
      get summary() {
        return cursor.summary;
      },
      next: async () => {
        try {
          return await cursor.next();
        } catch (error) {
          this.#sawEnd(request, error);
          throw error;
        }
      },
      close: () => {
        if (!isClosed) this.openCursors -= 1;
        isClosed = true;
        cursor.close();
      },
    };
  }

  #sawEnd({signal}: RunRequest, error: unknown): void {
    if (signal?.aborted !== true || !(error instanceof Refusal)) return;
    if (error.code === 'query.terminated') this.aborted += 1;
  }

  begin(...given: Parameters<Service['begin']>): Promise<string> {
    return this.#real.begin(...given);
  }

  commit(...given: Parameters<Service['commit']>): Promise<void> {
    return this.#real.commit(...given);
  }

  rollback(...given: Parameters<Service['rollback']>): Promise<void> {
    return this.#real.rollback(...given);
  }

  transactionIsLive(...given: Parameters<Service['transactionIsLive']>): boolean {
    return this.#real.transactionIsLive(...given);
  }

  databaseNames(who: Principal): string[] {
    return this.#real.databaseNames(who);
  }

  searchFigures(principal: Principal): ReturnType<Service['searchFigures']> {
    return this.#real.searchFigures(principal);
  }

  loadRecords(who: Principal, request: LoadRequest): Promise<RecordLoad> {
    return this.#real.loadRecords(who, request);
  }

  databaseExists(who: Principal, name: string): boolean {
    return this.#real.databaseExists(who, name);
  }

  createDatabase(who: Principal, name: string): Promise<void> {
    return this.#real.createDatabase(who, name);
  }

  dropDatabase(who: Principal, name: string): Promise<void> {
    return this.#real.dropDatabase(who, name);
  }

  openDatabase(who: Principal, name: string): Promise<void> {
    return this.#real.openDatabase(who, name);
  }

  closeDatabase(who: Principal, name: string): Promise<void> {
    return this.#real.closeDatabase(who, name);
  }

  alignDatabase(who: Principal, name: string): Promise<readonly AlignedMember[]> {
    return this.#real.alignDatabase(who, name);
  }

  schemaOf(who: Principal, database: string): ShownSchema {
    return this.#real.schemaOf(who, database);
  }

  progress(who: Principal, database: string): readonly WorkProgress[] {
    return database === 'db' ? this.work : this.#real.progress(who, database);
  }

  queries(who: Principal): RunningQuery[] {
    return this.#real.queries(who);
  }

  terminateQuery(who: Principal, id: string): boolean {
    return this.#real.terminateQuery(who, id);
  }

  terminateTagged(who: Principal, tag: string): number {
    return this.#real.terminateTagged(who, tag);
  }

  transactions(who: Principal): RunningTransaction[] {
    return this.#real.transactions(who);
  }

  terminateTransaction(who: Principal, id: string): Promise<boolean> {
    return this.#real.terminateTransaction(who, id);
  }

  endSessionsOf(user: string, reason?: Refusal): void {
    this.#real.endSessionsOf(user, reason);
  }
}

/** A text that is no word is a statement as it is. */
function translated(request: RunRequest): RunRequest {
  const [word = '', count = '1', letters = '0'] = request.text.split(' ');
  const statement = statements[word === 'wait' ? 'rows' : word];
  if (statement === undefined) return request;
  const [language, text] = statement(Number(count), Number(letters));
  return {...request, language, text};
}

function textOf(letters: number): string {
  return letters === 0 ? '' : `, '${'x'.repeat(letters)}' AS text`;
}
