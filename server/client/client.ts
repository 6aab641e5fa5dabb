/**
 * The HTTP client of Svc: what the command line, the examples and the outside tests speak with.
 *
 * A `Client` is one endpoint and one user; it keeps connections open until `close()`. A `Session`
 * is a transaction: the same calls with the session's header. Refusals of the server are
 * `ServerError`s; a lost answer is `UnknownOutcome`, an absent server `NotConnected`.
 * Invariant: no write that may have happened is ever sent again by this file; that decision belongs
 * to the caller, who can make it harmless with a `requestId`.
 */
import {setTimeout as pause} from 'node:timers/promises';
import {
  type Answer,
  type Endpoint,
  endpoint,
  exchange,
  exchangeStream,
  linesOf,
  type Outgoing,
  readAll,
  type StreamedAnswer,
} from './exchange.ts';
import {parseJson, printJson} from './json-text.ts';
import {errorBodyFrom, errorBodyOf, placeOf, ServerError, UnknownOutcome} from './server-error.ts';

/** How a client proves who it is. */
export type Credentials =
  | {readonly kind: 'basic'; readonly user: string; readonly password: string}
  | {readonly kind: 'bearer'; readonly token: string}
  | {readonly kind: 'none'};

/** Where and as whom. */
export interface ClientOptions {
  readonly url: string;
  readonly credentials: Credentials;
  /** Connections kept at most; further requests wait. Default 64. */
  readonly connectionsMax?: number;
  /** Silence on a connection after which a request counts as lost. Default 10 minutes. */
  readonly timeoutMillis?: number;
  /** How often, and after which pause, to ask again while a cluster elects; default: never. */
  readonly electionRetries?: {readonly count: number; readonly delayMillis: number};
  /** The header that carries a transaction. Default `svc-session-id`. */
  readonly sessionHeader?: string;
}

/** One row of a result, as JSON gives it; 64-bit integers beyond 2^53 are `bigint`. */
export type Row = Readonly<Record<string, unknown>>;

/** Parameters by name, or by position. */
export type Parameters = Readonly<Record<string, unknown>> | readonly unknown[];

/** What a statement may be sent with. */
export interface StatementOptions {
  readonly language?: string;
  readonly params?: Parameters;
  readonly limit?: number;
  readonly serializer?: string;
  /** Sent as `X-Request-Id`: on a write it makes a repetition harmless for 60 s. */
  readonly requestId?: string;
  /** Free text by which the running statement is listed and ended. */
  readonly tag?: string;
  /** Gives up waiting: the outcome is not known then. The server stops what nobody waits for. */
  readonly signal?: AbortSignal;
}

/** The answer to a statement. */
export interface Result {
  readonly result: readonly Row[];
  readonly limit: number | undefined;
  readonly returned: number | undefined;
  readonly truncated: boolean;
  /** Every field of the answer: `stats`, `explain`, and what a serializer adds. */
  readonly fields: Row;
}

/** The words of one front end: `languages` are the names by which statements ask for it. */
export interface LanguageWords {
  readonly languages: readonly string[];
  readonly keywords: readonly string[];
  /** Keywords that a statement begins with, up to the first thing that is none. */
  readonly beginnings: readonly string[];
  readonly functions: readonly CallableWord[];
}

/** Something that a statement may call; the name of a method is written without its dot. */
export interface CallableWord {
  readonly name: string;
  readonly kind: 'function' | 'method' | 'aggregate' | 'table' | 'procedure';
  readonly says?: string;
}

/** What the server counted while it loaded a stream. */
export interface BatchCounts {
  readonly verticesCreated: number;
  readonly edgesCreated: number;
  readonly linesRead: number;
  readonly linesSkipped: number;
  readonly bytesRead: number;
  readonly fields: Row;
}

/** How a stream is loaded. */
export interface BatchOptions {
  readonly contentType?: 'application/x-ndjson' | 'text/csv';
  /** Parameters of the route: `wal`, `commitEvery`, `lightEdges`, ... */
  readonly query?: Readonly<Record<string, string | number | boolean>>;
  /** Called with the counts of every progress line; asking for it makes the answer a stream. */
  readonly onProgress?: (counts: BatchCounts) => void;
}

/** Calls that a client and a session share. */
abstract class Caller {
  /** One read-only statement. */
  query(database: string, statement: string, options: StatementOptions = {}): Promise<Result> {
    return this.statement('query', database, statement, options);
  }

  /** One statement that may write; outside a session it is committed when this resolves. */
  command(database: string, statement: string, options: StatementOptions = {}): Promise<Result> {
    return this.statement('command', database, statement, options);
  }

  private async statement(
    route: 'query' | 'command',
    database: string,
    statement: string,
    options: StatementOptions,
  ): Promise<Result> {
    const {language = 'sql', params, limit, serializer, requestId, tag, signal} = options;
    const body = printJson({language, command: statement, params, limit, serializer});
    const headers = {
      ...(requestId === undefined ? {} : {'X-Request-Id': requestId}),
      ...(tag === undefined ? {} : {'X-Svc-Query-Tag': tag}),
    };
    const path = `/api/v1/${route}/${encodeURIComponent(database)}`;
    return resultOf(await this.post(path, body, {again: route === 'query', headers, signal}));
  }

  protected abstract post(path: string, body: string, options: PostOptions): Promise<Answer>;
}

interface PostOptions {
  readonly again: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

/** What a transaction sees of those of others. */
export type IsolationLevel = 'READ_COMMITTED' | 'REPEATABLE_READ';

/** One user at one server. */
export class Client extends Caller {
  readonly #options: ClientOptions;
  readonly #endpoint: Endpoint;
  readonly #authorization: Readonly<Record<string, string>>;
  readonly #sessionHeader: string;
  readonly #electionRetries: {readonly count: number; readonly delayMillis: number};

  constructor(options: ClientOptions) {
    super();
    this.#electionRetries = options.electionRetries ?? {count: 0, delayMillis: 0};
    this.#options = options;
    this.#endpoint = endpoint(options.url, {
      connectionsMax: options.connectionsMax ?? 64,
      timeoutMillis: options.timeoutMillis ?? 600_000,
    });
    this.#authorization = authorizationOf(options.credentials);
    this.#sessionHeader = options.sessionHeader ?? 'svc-session-id';
  }

  get url(): string {
    return this.#endpoint.url.origin;
  }

  /** The same user at another server, as a client of its own. */
  at(url: string): Client {
    return new Client({...this.#options, url});
  }

  /** Ends the kept connections. Calls under way fail. */
  close(): void {
    this.#endpoint.agent.destroy();
  }

  /** True when the server says that it serves. An absent server is `false` too. */
  async ready(): Promise<boolean> {
    try {
      return (await this.send({method: 'GET', path: '/api/v1/ready', again: true})).status === 204;
    } catch {
      return false;
    }
  }

  /** Opens a transaction. */
  async begin(database: string, isolationLevel?: IsolationLevel): Promise<Session> {
    const body = isolationLevel === undefined ? '' : printJson({isolationLevel});
    const path = `/api/v1/begin/${encodeURIComponent(database)}`;
    const answer = accepted(await this.send({method: 'POST', path, body, again: false}));
    const id = answer.headers[this.#sessionHeader.toLowerCase()];
    if (typeof id !== 'string') throw new Error('the server opened no session: header missing');
    return new Session(this, database, {name: this.#sessionHeader, value: id});
  }

  /** Loads a stream of NDJSON or CSV and answers the server's counts. */
  async batch(
    database: string,
    body: string | Uint8Array | AsyncIterable<Uint8Array | string>,
    options: BatchOptions = {},
  ): Promise<BatchCounts> {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(options.query ?? {})) {
      search.set(name, String(value));
    }
    const suffix = search.size === 0 ? '' : `?${search.toString()}`;
    const headers: Record<string, string> = {
      'Content-Type': options.contentType ?? 'application/x-ndjson',
    };
    if (options.onProgress !== undefined) headers['Accept'] = 'application/x-ndjson';
    const answer = await this.sendStream({
      method: 'POST',
      path: `/api/v1/batch/${encodeURIComponent(database)}${suffix}`,
      headers,
      body,
      again: false,
    });
    const type = answer.headers['content-type'] ?? '';
    if (answer.status === 200 && type.startsWith('application/x-ndjson')) {
      return readProgress(answer, options.onProgress);
    }
    const text = await readAll(answer.body);
    return countsOf(fieldsOf(accepted({status: answer.status, headers: answer.headers, text})));
  }

  /** Runs a read-only statement and yields its rows as they arrive. */
  async *queryStream(
    database: string,
    statement: string,
    options: StatementOptions = {},
  ): AsyncGenerator<Row> {
    const {language = 'sql', params, limit} = options;
    const answer = await this.sendStream({
      method: 'POST',
      path: `/api/v1/query/${encodeURIComponent(database)}`,
      headers: {'Content-Type': 'application/json', Accept: 'application/x-ndjson'},
      body: printJson({language, command: statement, params, limit}),
      again: true,
    });
    if (answer.status !== 200) {
      accepted({...answer, text: await readAll(answer.body)});
    }
    let ended = false;
    for await (const line of linesOf(answer.body)) {
      const message = parseJson(line) as Row;
      if (message['record'] !== undefined) yield message['record'] as Row;
      else if (message['error'] !== undefined) throw streamedError(message['error'] as Row);
      else ended = true;
    }
    if (!ended) throw new UnknownOutcome('the answer broke off before its last line');
  }

  /** Sends a server command (`create database x`, `list databases`, ...), with fields beside it. */
  async serverCommand(command: string, fields: Row = {}): Promise<Row> {
    const body = printJson({command, ...fields});
    return fieldsOf(await this.post('/api/v1/server', body, {again: false}));
  }

  /** Works like `serverCommand`, of work that takes long: `onProgress` hears of it meanwhile. */
  async longCommand(command: string, fields: Row, onProgress: (event: Row) => void): Promise<Row> {
    const body = printJson({command, ...fields});
    return await this.#watched('/api/v1/server', {type: 'application/json', body}, onProgress);
  }

  /** Sends a file of any format that imports read; `query` has the options of the import. */
  async importFile(
    database: string,
    body: AsyncIterable<Uint8Array>,
    query: Readonly<Record<string, string>>,
    onProgress: (event: Row) => void,
  ): Promise<Row> {
    const search = new URLSearchParams(query).toString();
    const path = `/api/v1/import/${encodeURIComponent(database)}?${search}`;
    return await this.#watched(path, {type: 'application/octet-stream', body}, onProgress);
  }

  /** The bytes of an export, a `.tgz`. */
  async *exportFile(database: string, format: string): AsyncGenerator<Buffer> {
    const path = `/api/v1/export/${encodeURIComponent(database)}?format=${format}`;
    const answer = await this.sendStream({method: 'GET', path, headers: {}, again: true});
    if (answer.status !== 200) accepted({...answer, text: await readAll(answer.body)});
    const expected = Number(answer.headers['content-length']);
    let bytes = 0;
    for await (const piece of answer.body as AsyncIterable<Buffer>) {
      bytes += piece.length;
      yield piece;
    }
    if (bytes !== expected) throw new UnknownOutcome('the answer broke off before its end');
  }

  async #watched(
    path: string,
    {type: contentType, body}: {readonly type: string; readonly body: Outgoing['body']},
    onProgress: (event: Row) => void,
  ): Promise<Row> {
    const answer = await this.sendStream({
      method: 'POST',
      path,
      headers: {'Content-Type': contentType, Accept: 'text/event-stream'},
      ...(body !== undefined && {body}),
      again: false,
    });
    const type = answer.headers['content-type'] ?? '';
    if (answer.status !== 200 || !type.startsWith('text/event-stream')) {
      return fieldsOf(accepted({...answer, text: await readAll(answer.body)}));
    }
    for await (const line of linesOf(answer.body)) {
      if (!line.startsWith('data:')) continue;
      const event = parseJson(line.slice('data:'.length)) as Row;
      if (event['status'] === 'error') throw streamedError(event);
      if (event['status'] === 'completed') return event;
      onProgress(event);
    }
    throw new UnknownOutcome('the answer broke off before its last event');
  }

  /** What the server says of itself. `basic` is cheap, `default` adds metrics and settings. */
  async serverInfo(mode: 'basic' | 'default' = 'basic'): Promise<Row> {
    const path = `/api/v1/server?mode=${mode}`;
    return fieldsOf(accepted(await this.send({method: 'GET', path, again: true})));
  }

  /** The words of every language, for those who complete what somebody types. */
  async languages(): Promise<readonly LanguageWords[]> {
    const path = '/api/v1/languages';
    const fields = fieldsOf(accepted(await this.send({method: 'GET', path, again: true})));
    return (fields['result'] as LanguageWords[] | undefined) ?? [];
  }

  /** Long work on a database (builds of indexes, checks) and how far it is, as the server tells. */
  async progress(database: string): Promise<readonly Row[]> {
    const path = `/api/v1/progress/${encodeURIComponent(database)}`;
    const fields = fieldsOf(accepted(await this.send({method: 'GET', path, again: true})));
    return (fields['result'] as Row[] | undefined) ?? [];
  }

  /** The databases this user may see, in the server's order. */
  async databases(): Promise<readonly string[]> {
    const path = '/api/v1/databases';
    const fields = fieldsOf(accepted(await this.send({method: 'GET', path, again: true})));
    return (fields['result'] as string[] | undefined) ?? [];
  }

  /** A route of the cluster below `/cluster`, such as `/peer`; its answer, or a ServerError. */
  async cluster(method: 'GET' | 'POST' | 'DELETE', path: string, fields?: Row): Promise<Row> {
    const body = fields === undefined ? undefined : printJson(fields);
    const outgoing = {method, path: `/api/v1/cluster${path}`, again: method === 'GET'};
    return fieldsOf(
      accepted(await this.send({...outgoing, ...(body === undefined ? {} : {body})})),
    );
  }

  /** What agents may do, after a change of some fields if one is given. */
  async agentConfiguration(change?: Row): Promise<Row> {
    const path = '/api/v1/mcp/config';
    const outgoing =
      change === undefined
        ? ({method: 'GET', path, again: true} as const)
        : ({method: 'POST', path, again: false, body: printJson(change)} as const);
    return fieldsOf(accepted(await this.send(outgoing)));
  }

  /** Creates a database; refused when it exists. */
  async createDatabase(name: string): Promise<void> {
    await this.serverCommand(`create database ${name}`);
  }

  /** Drops a database; refused when there is none. */
  async dropDatabase(name: string): Promise<void> {
    await this.serverCommand(`drop database ${name}`);
  }

  /** Any other route, for callers who know it. Does not throw on a refusal. */
  send(outgoing: Omit<Outgoing, 'headers'> & {headers?: Outgoing['headers']}): Promise<Answer> {
    return exchange(this.#endpoint, this.#withAuthorization(outgoing));
  }

  private sendStream(outgoing: Outgoing): Promise<StreamedAnswer> {
    return exchangeStream(this.#endpoint, this.#withAuthorization(outgoing));
  }

  #withAuthorization(outgoing: Omit<Outgoing, 'headers'> & {headers?: Outgoing['headers']}) {
    return {...outgoing, headers: {...this.#authorization, ...outgoing.headers}};
  }

  protected async post(path: string, body: string, options: PostOptions): Promise<Answer> {
    const {again, signal} = options;
    const headers = {'Content-Type': 'application/json', ...options.headers};
    const {count, delayMillis} = this.#electionRetries;
    for (let attempt = 0; ; attempt++) {
      try {
        return accepted(await this.send({method: 'POST', path, headers, body, again, signal}));
      } catch (error) {
        if (attempt >= count || !saysNobodyLeads(error)) throw error;
        await pause(delayMillis, undefined, signal === undefined ? {} : {signal});
      }
    }
  }
}

/** A transaction on one database. Ends with `commit` or `rollback`; the server ends idle ones. */
export class Session extends Caller {
  readonly #client: Client;
  readonly #database: string;
  readonly #header: {readonly name: string; readonly value: string};

  constructor(
    client: Client,
    database: string,
    header: {readonly name: string; readonly value: string},
  ) {
    super();
    this.#client = client;
    this.#database = database;
    this.#header = header;
  }

  get id(): string {
    return this.#header.value;
  }

  /** Makes the writes durable and ends the session. */
  async commit(): Promise<void> {
    await this.post(`/api/v1/commit/${encodeURIComponent(this.#database)}`, '', {again: false});
  }

  /** Forgets the writes and ends the session. */
  async rollback(): Promise<void> {
    await this.post(`/api/v1/rollback/${encodeURIComponent(this.#database)}`, '', {again: false});
  }

  protected async post(path: string, body: string, options: PostOptions): Promise<Answer> {
    const headers = {
      'Content-Type': 'application/json',
      [this.#header.name]: this.#header.value,
      ...options.headers,
    };
    const outgoing = {method: 'POST', path, headers, body, again: false, signal: options.signal};
    return accepted(await this.#client.send(outgoing));
  }
}

function authorizationOf(credentials: Credentials): Record<string, string> {
  switch (credentials.kind) {
    case 'none':
      return {};
    case 'bearer':
      return {Authorization: `Bearer ${credentials.token}`};
    case 'basic': {
      const pair = Buffer.from(`${credentials.user}:${credentials.password}`, 'utf8');
      return {Authorization: `Basic ${pair.toString('base64')}`};
    }
  }
}

/** The request was not carried out, and will be by whoever is elected. */
function saysNobodyLeads(error: unknown): boolean {
  return (
    error instanceof ServerError &&
    error.status === 503 &&
    error.exceptionName === 'ServerIsNotTheLeaderException'
  );
}

function accepted(answer: Answer): Answer {
  if (answer.status >= 200 && answer.status < 300) return answer;
  const place = placeOf(answer.headers['x-svc-error-place']);
  throw new ServerError(answer.status, errorBodyOf(answer.text), place);
}

function fieldsOf(answer: Answer): Row {
  return answer.text === '' ? {} : (parseJson(answer.text) as Row);
}

function resultOf(answer: Answer): Result {
  const fields = fieldsOf(answer);
  const result = fields['result'];
  const number = (name: string): number | undefined => {
    const value = fields[name];
    return typeof value === 'number' ? value : undefined;
  };
  return {
    result: Array.isArray(result) ? (result as Row[]) : [],
    limit: number('limit'),
    returned: number('returned'),
    truncated: fields['truncated'] === true,
    fields,
  };
}

function countsOf(fields: Row): BatchCounts {
  const count = (name: string): number => {
    const value = fields[name];
    return typeof value === 'number' ? value : 0;
  };
  return {
    verticesCreated: count('verticesCreated'),
    edgesCreated: count('edgesCreated'),
    linesRead: count('linesRead'),
    linesSkipped: count('linesSkipped'),
    bytesRead: count('bytesRead'),
    fields,
  };
}

async function readProgress(
  answer: StreamedAnswer,
  onProgress: ((counts: BatchCounts) => void) | undefined,
): Promise<BatchCounts> {
  let summary: BatchCounts | undefined;
  for await (const line of linesOf(answer.body)) {
    const message = parseJson(line) as Row;
    if (message['progress'] !== undefined) onProgress?.(countsOf(message['progress'] as Row));
    else if (message['summary'] !== undefined) summary = countsOf(message['summary'] as Row);
    else if (message['error'] !== undefined) throw streamedError(message['error'] as Row);
  }
  if (summary === undefined) {
    throw new UnknownOutcome('the load broke off: the server ended its answer without a summary');
  }
  return summary;
}

function streamedError(fields: Row): ServerError {
  const status = fields['status'];
  return new ServerError(typeof status === 'number' ? status : 500, errorBodyFrom(fields));
}
