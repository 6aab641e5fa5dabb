/**
 * Requests to run a statement, from the body of a POST or the path of a GET, as a `RunRequest`.
 *
 * A field of a wrong type is refused before anything runs; fields that nobody knows are ignored,
 * as drivers of several versions send them.
 */
import {sessionHeader} from '../protocol-names.ts';
import {Refusal} from '#server/base/errors.ts';
import type {MapValue} from '#server/model/value.ts';
import {readConsistencies, type ReadConsistency} from '#server/cluster/read-consistency-gate.ts';
import type {ResultFormat, RunRequest} from '#server/session/session.ts';
import {type Exchange, ndjsonType} from '../message/exchange.ts';
import {PlainFailure} from '../message/failure.ts';
import {booleanField, integerField, isInt32, textField} from '../message/json-body.ts';
import {parseParameters} from '../message/parameters.ts';

export interface Statement {
  readonly request: RunRequest;
  /** The client waits for the outcome. */
  readonly awaitsResponse: boolean;
  /** Rows as lines, sent as they come. */
  readonly isStream: boolean;
}

/** What a statement takes from a request besides the body. */
export interface StatementHead {
  readonly database: string;
  readonly isStream: boolean;
  readonly transactionId: string | undefined;
  readonly consistency: ReadConsistency | undefined;
  readonly tag: string | undefined;
  readonly clientName?: string | undefined;
  /** The connection itself, which tells clients apart. */
  readonly connection: object;
  readonly signal: AbortSignal;
  /** When the request had come, of the monotonic clock. */
  readonly receivedAt?: number;
}

/** @throws {Refusal} `request.field`. */
export function statementHead(exchange: Exchange): StatementHead {
  return {
    database: exchange.segments[1] ?? '',
    isStream: wantsStream(exchange),
    transactionId: exchange.header(sessionHeader),
    consistency: requestedConsistency(exchange),
    ...contextOf(exchange),
    receivedAt: exchange.begunAt,
  };
}

/** What goes along with everything that a request asks for. @throws {Refusal} `request.field`. */
export function contextOf(exchange: Exchange) {
  return {
    tag: told(exchange, 'X-Svc-Query-Tag'),
    clientName: told(exchange, 'X-Svc-Client-Name'),
    connection: exchange.request.socket,
    signal: exchange.signal,
  };
}

/** Whether a route only reads; a stream always does. */
export type Access = 'read-only' | 'read-write';

/** Reads a statement from the body. @throws {PlainFailure | Refusal} 400. */
export function statementOfBody(
  head: StatementHead,
  body: MapValue | undefined,
  access: Access,
): Statement {
  if (body === undefined) throw new PlainFailure(400, 'Command text is null');
  const language = textField(body, 'language');
  if (language === undefined) throw new PlainFailure(400, 'Language is null');
  const text = textField(body, 'command');
  if (text === undefined) throw new Refusal('request.field', 'command missing');
  const retries = integerField(body, 'retries');
  if (retries !== undefined && retries < 0) {
    throw new Refusal('request.field', "Field 'retries' must not be negative");
  }
  booleanField(body, 'autoCommit');
  const {isStream} = head;
  return {
    request: {
      database: head.database,
      language: language.toLowerCase(),
      text: text.trim(),
      parameters: parseParameters(body.get('params')),
      readOnly: access === 'read-only' || isStream,
      limit: integerField(body, 'limit'),
      format: resultFormat(textField(body, 'serializer'), isStream),
      typeHints: booleanField(body, 'typeHints') ?? false,
      profile: profileOf(textField(body, 'profileExecution')),
      transactionId: head.transactionId,
      consistency: head.consistency,
      retries,
      requestId: undefined,
      tag: head.tag,
      clientName: head.clientName,
      connection: head.connection,
      signal: head.signal,
      receivedAt: head.receivedAt,
    },
    awaitsResponse: booleanField(body, 'awaitResponse') ?? true,
    isStream,
  };
}

/** Reads one from `/query/{database}/{language}/{command}`. @throws {Refusal} 400. */
export function statementOfPath(exchange: Exchange): Statement {
  const [, database = '', language = '', ...rest] = exchange.segments;
  const isStream = wantsStream(exchange);
  const limit = exchange.parameter('limit');
  if (limit !== undefined && !(/^-?\d{1,10}$/.test(limit) && isInt32(Number(limit)))) {
    throw new Refusal('request.field', "Field 'limit' must be an integer in 32 bits");
  }
  return {
    request: {
      database,
      language: language.toLowerCase(),
      text: rest.join('/').trim(),
      parameters: parseParameters(undefined),
      readOnly: true,
      limit: limit === undefined ? undefined : Number(limit),
      format: resultFormat(exchange.parameter('serializer'), isStream),
      typeHints: exchange.parameter('typeHints') === 'true',
      profile: undefined,
      transactionId: exchange.header(sessionHeader),
      consistency: requestedConsistency(exchange),
      retries: undefined,
      requestId: undefined,
      ...contextOf(exchange),
      receivedAt: exchange.begunAt,
    },
    awaitsResponse: true,
    isStream,
  };
}

const toldLengthMax = 256;

function told(exchange: Exchange, name: string): string | undefined {
  const text = exchange.header(name.toLowerCase());
  if (text === undefined || text === '') return undefined;
  if (text.length <= toldLengthMax && /^[\u0020-\u007e\u00a0-\u00ff]+$/.test(text)) return text;
  const message = `${name} takes at most ${toldLengthMax} printable characters`;
  throw new Refusal('request.field', message);
}

/**
 * What a request says about the freshness of what it reads; `X-Svc-Commit-Index` stands for the
 * bookmark of clients that send none.
 *
 * @throws {Refusal} `request.field` for an unknown word or a bookmark that is no number.
 */
export function requestedConsistency(exchange: Exchange): ReadConsistency {
  return {
    consistency: readConsistency(exchange.header('x-svc-read-consistency')),
    after:
      bookmark('X-Svc-Read-After', exchange.header('x-svc-read-after')) ??
      bookmark('X-Svc-Commit-Index', exchange.header('x-svc-commit-index')),
  };
}

/** @throws {Refusal} `request.field`. */
export function readConsistency(word: string | undefined): ReadConsistency['consistency'] {
  if (word === undefined) return undefined;
  const known = readConsistencies.find(name => name === word.toLowerCase());
  if (known !== undefined) return known;
  const names = readConsistencies.join(', ');
  throw new Refusal('request.field', `X-Svc-Read-Consistency must be one of ${names}`);
}

/** @throws {Refusal} `request.field`. */
export function bookmark(header: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^-?\d{1,19}$/.test(text)) return Number(text);
  throw new Refusal('request.field', `The bookmark in ${header} is not a number`);
}

function wantsStream(exchange: Exchange): boolean {
  return exchange.header('accept')?.includes(ndjsonType) ?? false;
}

function resultFormat(serializer: string | undefined, isStream: boolean): ResultFormat {
  if (isStream) {
    if (serializer !== 'graph' && serializer !== 'studio') return 'ndjson';
    throw new Refusal(
      'request.field',
      `Serializer '${serializer}' gathers the whole result in one document and cannot be ` +
        `streamed: ask for it with 'Accept: application/json', or stream 'record'`,
    );
  }
  if (serializer === undefined || serializer === 'record') return 'record';
  return serializer === 'graph' || serializer === 'studio' ? serializer : 'counts';
}

function profileOf(word: string | undefined): RunRequest['profile'] {
  if (word === undefined) return undefined;
  return word === 'detailed' ? 'detailed' : 'plan';
}
