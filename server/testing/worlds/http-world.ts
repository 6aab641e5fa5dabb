/**
 * The real HTTP server over a socket, in front of a small database of words.
 *
 * `WordService` stands for the session layer at its interface: statements are words with one
 * meaning each (`rows 3`, `fail commit.conflict`, `write`, `hang`, `stall`), so a test says what
 * the database does and looks at what the client sees.
 */
import {Catalog} from '#server/catalog/catalog.ts';
import {emptyCatalogData} from '#server/catalog/definition.ts';
import {connect} from 'node:net';
import {Refusal, type RefusalCode} from '#server/base/errors.ts';
import {resolveSettings} from '#server/base/setting-values.ts';
import {createClock, createRandom, createTimers} from '#server/platform/real/clock.ts';
import {
  type BatchHandler,
  createHttpServer,
  type HttpServer,
} from '#server/protocols/http/server.ts';
import type {HttpOptions} from '#server/protocols/http/context.ts';
import {PeerClient} from '#server/protocols/http/relay/peer-client.ts';
import type {SettingKey} from '#server/base/settings.ts';
import type {Administration} from '#server/session/administration.ts';
import {type AlignedMember, alignedAlone} from '#server/cluster/align.ts';
import {Security, type SecurityDocument} from '#server/security/security.ts';
import type {Principal} from '#server/security/principal.ts';
import type {
  ResultCursor,
  RunningQuery,
  RunningTransaction,
  RunRequest,
  Service,
} from '#server/session/session.ts';
import type {WorkProgress} from '#server/session/database/work-progress.ts';

const rowsPerPiece = 1_000;

export const rootPassword = 'root:pass:word';

/** The session layer of a world of words. */
export class WordService implements Service {
  appliedIndex = 42;
  ready = true;
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
  readonly databases = new Set(['db']);
  readonly open = new Map<string, {user: string; tag: string | undefined}>();
  readonly running = new Map<string, RunningQuery & {stop: () => void}>();
  #next = 0;

  get readableIndex(): number {
    return this.appliedIndex;
  }

  async run(principal: Principal, request: RunRequest): Promise<ResultCursor> {
    this.requests.push(request);
    this.#check(principal, request.database);
    const {transactionId} = request;
    if (transactionId !== undefined && !this.open.has(transactionId)) {
      throw new Refusal('transaction.gone', `Remote transaction '${transactionId}' not found`);
    }
    const [word = '', argument = ''] = request.text.split(' ');
    if (word === 'fail') throw new Refusal(argument as RefusalCode, `it was ${argument}`);
    if (word === 'break') throw new TypeError('a defect');
    if (word === 'write' && request.readOnly) {
      throw new Refusal('query.not-idempotent', 'write writes');
    }
    if (word === 'write') await this.beforeWrite();
    if (word === 'write') this.writes++;
    if (word === 'wait') await this.waiting.promise;
    if (word === 'slow') await new Promise(resolve => setTimeout(resolve, Number(argument)));
    return this.#cursor(request, word, Number(argument || '1'));
  }

  needsLeader(_who: Principal, {text}: RunRequest): boolean {
    return text.startsWith('write');
  }

  #cursor(request: RunRequest, word: string, count: number): ResultCursor {
    const id = `q${++this.#next}`;
    this.openCursors++;
    let isClosed = false;
    let at = 0;
    let stopped = false;
    const stop = (): void => {
      stopped = true;
    };
    const rows = word === 'rows' || word === 'late' ? count : 1;
    if (word === 'hang' || word === 'stall') {
      const {database, language, text, tag} = request;
      const listed = {id, database, language, text, tag, user: 'x', startedAt: 0, elapsedMs: 0};
      this.running.set(id, {...listed, stop});
    }
    const next = async (): Promise<Buffer | undefined> => {
      if (word === 'late' && at === rows) throw new Refusal('arithmetic', 'late division by zero');
      while (word === 'hang' || (word === 'stall' && at > 0)) {
        if (request.signal?.aborted) this.aborted++;
        if (stopped || request.signal?.aborted) {
          throw new Refusal('query.terminated', 'The query was terminated');
        }
        await new Promise(resolve => setTimeout(resolve, 2));
      }
      if (at >= rows) return undefined;
      const isFirst = at === 0;
      const last = Math.min(at + rowsPerPiece, rows);
      const piece: string[] = [];
      while (at < last) piece.push(this.#row(request, word, at++));
      if (request.format === 'ndjson') return Buffer.from(piece.join(''));
      return Buffer.from(`${isFirst ? '' : ','}${piece.join(',')}`);
    };
    const close = (): void => {
      this.running.delete(id);
      if (!isClosed) this.openCursors--;
      isClosed = true;
    };
    return {
      next,
      close,
      summary: {
        returned: rows,
        truncated: false,
        limit: request.limit ?? 20_000,
        stats: undefined,
        explain: request.profile && '+ SCAN',
        explainPlan: request.profile && '{"type":"plan"}',
        profile: undefined,
        wrote: word === 'write',
      },
    };
  }

  #row(request: RunRequest, word: string, at: number): string {
    if (request.format === 'graph') return '{"vertices":[],"edges":[]}';
    const value = word === 'wide' ? `"${'x'.repeat(100_000)}"` : String(at);
    const row = word === 'write' ? `{"write":${this.writes}}` : `{"n":${value}}`;
    return request.format === 'ndjson' ? `{"record":${row}}\n` : row;
  }

  #check(principal: Principal, database: string): void {
    if (!principal.root && !principal.grants.has(database)) {
      const message = `User '${principal.name}' is not allowed to access database '${database}'`;
      throw new Refusal('security.denied', message);
    }
    if (this.databases.has(database)) return;
    throw new Refusal('database.not-found', `Database '${database}' is not available`);
  }

  async begin(who: Principal, database: string, level: string, tag?: string): Promise<string> {
    this.#check(who, database);
    const id = `AS-${level}-${++this.#next}`;
    this.open.set(id, {user: who.name, tag});
    return id;
  }

  async commit(_who: Principal, _database: string, id: string): Promise<void> {
    if (!this.open.delete(id)) throw new Refusal('transaction.gone', `'${id}' not found`);
  }

  async rollback(_who: Principal, _database: string, id: string): Promise<void> {
    this.open.delete(id);
  }

  transactionIsLive(_who: Principal, _database: string, id: string): boolean {
    return this.open.has(id);
  }

  databaseNames(who: Principal): string[] {
    return [...this.databases].filter(name => who.root || who.grants.has(name));
  }

  databaseExists(who: Principal, name: string): boolean {
    return this.databaseNames(who).includes(name);
  }

  async createDatabase(_who: Principal, name: string): Promise<void> {
    if (/[/\\]|\.\./.test(name)) throw new Refusal('database.name', `'${name}' is no name`);
    if (this.databases.has(name)) throw new Refusal('database.exists', `'${name}' exists`);
    this.databases.add(name);
  }

  alignDatabase(_who: Principal, name: string): Promise<readonly AlignedMember[]> {
    return Promise.resolve([alignedAlone(name)]);
  }

  async dropDatabase(_who: Principal, name: string): Promise<void> {
    if (!this.databases.delete(name)) throw new Refusal('database.missing', `no '${name}'`);
  }

  async openDatabase(_who: Principal, name: string): Promise<void> {
    if (!this.databases.has(name)) throw new Refusal('database.missing', `no '${name}'`);
  }

  async closeDatabase(who: Principal, name: string): Promise<void> {
    await this.openDatabase(who, name);
  }

  schemaOf(): Catalog {
    return new Catalog(emptyCatalogData);
  }

  progress(_principal: Principal, database: string): readonly WorkProgress[] {
    if (database !== 'db') return [];
    const step = {stepName: 'V[n]', stepIndex: 0, totalSteps: 2};
    return [
      {id: 1, operation: 'build index', ...step, done: 1, total: 3, startedAt: 5, elapsedMs: 7},
      {id: 2, operation: 'check', ...step, done: 1, total: undefined, startedAt: 5, elapsedMs: 7},
    ];
  }

  queries(): RunningQuery[] {
    return [...this.running.values()];
  }

  terminateQuery(_who: Principal, id: string): boolean {
    const query = this.running.get(id);
    query?.stop();
    return query !== undefined;
  }

  terminateTagged(): number {
    return 0;
  }

  transactions(who: Principal): RunningTransaction[] {
    return Array.from(this.open, ([id, {user, tag}]) => ({
      id,
      user,
      tag,
      database: 'db',
      isolation: 'READ_COMMITTED',
      startedAt: 0,
      elapsedMs: 0,
      idleMs: 0,
    })).filter(({user}) => who.root || user === who.name);
  }

  async terminateTransaction(_who: Principal, id: string): Promise<boolean> {
    return this.open.delete(id);
  }

  endSessionsOf(): void {}
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; undefined when it is none. */
  readonly json: unknown;
}

export interface Call {
  readonly method?: string;
  /** Written `user:password`; `none` sends nothing; anything with a blank is sent as it is. */
  readonly as?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text or bytes are sent as they are, anything else as JSON. */
  readonly body?: unknown;
}

export interface HttpWorld {
  readonly port: number;
  readonly service: WordService;
  readonly security: Security;
  readonly server: HttpServer;
  readonly logged: string[];
  isShutDown: () => boolean;
  /** Changes a setting while the server runs. */
  set(key: SettingKey, value: string | number | boolean): void;
  /** Sends a request below `/api/v1`, or to any path that starts with `//`. */
  call(path: string, call?: Call): Promise<HttpAnswer>;
  command(text: string, call?: Call): Promise<HttpAnswer>;
  /** Sends bytes as they are and gives all that came back until the connection ends. */
  raw(text: string): Promise<string>;
}

/** Starts a server on a free port. Close it at the end of the test. */
export async function httpWorld(
  settingValues: Readonly<Record<string, string | number | boolean>> = {},
  batch: BatchHandler = async exchange => exchange.answerJson(200, {batch: true}),
  member: Pick<HttpOptions, 'authorities' | 'cluster' | 'replicaHealth' | 'snapshots'> &
    Partial<Pick<HttpOptions, 'clock'>> = {},
): Promise<HttpWorld> {
  const values = {'svc.server.saltIterations': 1_000, ...settingValues};
  let {settings} = resolveSettings([{name: 'test', values}]);
  const documents = new Map<SecurityDocument, Uint8Array>();
  const {clock = createClock()} = member;
  const platform = {clock, random: createRandom(), timers: createTimers()};
  const service = new WordService();
  let shutDown = false;
  const security = new Security({
    store: {
      read: name => documents.get(name),
      write: async (name, bytes) => void documents.set(name, bytes),
    },
    ...platform,
    settings: () => settings,
    endSessionsOf: () => service.endSessionsOf(),
  });
  await security.ensureRoot(rootPassword);
  await security.createUser({name: 'anna', password: 'anna-pass', databases: {db: ['admin']}});
  let generation = 0;
  const administration: Administration = {
    identity: {serverName: 'svc_0', version: '1.0', instanceId: 'i', languages: ['sql']},
    settings: () => settings,
    setServerSetting: (key, value) => {
      settings = settings.with(key, value, 'command');
    },
    setDatabaseSetting: async () => {},
    metrics: () => ({}),
    events: () => [],
    fencedDatabases: () => [],
    databaseIdentity: name => `${name}-${service.databases.has(name) ? generation : ++generation}`,
    shutdown: () => {
      shutDown = true;
    },
  };
  const logged: string[] = [];
  const logger = {log: (_level: unknown, event: string) => void logged.push(event)};
  const {authorities = []} = member;
  const isSecure = (): boolean => settings.get('svc.ssl.enabled');
  const peerClient = new PeerClient({isSecure, authorities});
  const own = {service, security, administration, peerClient, batch};
  const parts = {...own, ...platform, logger, ...member};
  const server = createHttpServer(parts);
  const port = await server.listen('127.0.0.1', {from: 0, to: 0});
  const call = (path: string, options: Call = {}): Promise<HttpAnswer> =>
    send(
      `http://127.0.0.1:${port}${path.startsWith('//') ? path.slice(1) : `/api/v1${path}`}`,
      options,
    );
  return {
    port,
    service,
    security,
    server,
    logged,
    isShutDown: () => shutDown,
    set: (key, value) => administration.setServerSetting(key, String(value)),
    call,
    command: (text, options = {}) => call('/server', {body: {command: text}, ...options}),
    raw: text => exchangeRaw(port, text),
  };
}

async function send(url: string, call: Call): Promise<HttpAnswer> {
  const {as = `root:${rootPassword}`, body, headers = {}} = call;
  const authorization = as.includes(' ') ? as : `Basic ${Buffer.from(as).toString('base64')}`;
  const bytes = typeof body === 'string' || body instanceof Uint8Array;
  const response = await fetch(url, {
    method: call.method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {...(as === 'none' ? {} : {authorization}), ...headers},
    ...(body === undefined ? {} : {body: bytes ? (body as string) : JSON.stringify(body)}),
  });
  const text = await response.text();
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    json = undefined;
  }
  return {status: response.status, headers: response.headers, text, json};
}

function exchangeRaw(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    socket.on('data', data => {
      received += data;
    });
    socket.on('close', () => resolve(received));
    socket.on('error', reject);
  });
}
