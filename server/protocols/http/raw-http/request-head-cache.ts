/**
 * What the raw HTTP path remembers of requests that repeat: the bytes of a head with what they say,
 * and the bytes in front of a body's parameters with the statement that they are.
 *
 * Programs send the same statement again and again and change its parameters only. A head, or the
 * start of a body, that is the same to the byte is not read again. Only a body that ends with its
 * parameters is remembered, and only once the same statement came twice in a row.
 * Invariant H4: what is remembered never reads a body differently than the parser reads it whole.
 */
import {Refusal} from '#server/base/errors.ts';
import type {JsonParser} from '#server/model/json-parser.ts';
import type {RunRequest} from '#server/session/session.ts';
import type {RequestHead} from './request-head.ts';
import {forwardedHead, type PeerCredentials} from '../relay/forwarded-headers.ts';
import {parseParameters} from '../message/parameters.ts';
import type {DurationHistogram} from '#server/monitoring/duration-histogram.ts';

const field = Buffer.from('"params":', 'latin1');
const substitute = Buffer.from('null}', 'latin1');
const headEnd = '\r\n\r\n';
const closing = 0x7d;
const startBytesMax = 4 * 1024;

/** Whose a request is, and what ends with its connection. */
type RequestClient = Pick<RunRequest, 'connection' | 'signal'>;

/** One head, the same to the byte. */
export class CachedRequestHead {
  readonly head: RequestHead;
  /** The whole head with the empty line behind it. */
  readonly bytes: Buffer;
  /** Where its last answer was counted. */
  timed: {readonly status: number; readonly histogram: DurationHistogram} | undefined;
  #start: CachedBodyPrefix | undefined;
  #lastText = '';
  #forwarded: {readonly words: PeerCredentials; readonly bytes: Buffer} | undefined;

  constructor(head: RequestHead, bytes: Buffer) {
    this.head = head;
    this.bytes = bytes;
  }

  /** Whether `bytes` begin with this head. */
  begins(bytes: Buffer): boolean {
    const {length} = this.bytes;
    return bytes.length >= length && bytes.compare(this.bytes, 0, length, 0, length) === 0;
  }

  /** The head under which the leader is asked for the user, from a place in a trace or none. */
  forwarded(words: PeerCredentials, traceParent: string | undefined): Buffer {
    const known = traceParent === undefined ? this.#forwarded : undefined;
    if (known?.words.user === words.user && known.words.token === words.token) return known.bytes;
    const text = this.bytes.toString('latin1', 0, this.bytes.length - headEnd.length);
    const bytes = forwardedHead(text, words, traceParent);
    if (traceParent === undefined) this.#forwarded = {words, bytes};
    return bytes;
  }

  /** The statement of the body behind this head, when its start is remembered. */
  statement(bytes: Buffer, parser: JsonParser, client: RequestClient): RunRequest | undefined {
    return this.#start?.read(bytes, parser, client);
  }

  /** Tells of a statement that was read the long way from the body behind this head. */
  learn(bytes: Buffer, parser: JsonParser, request: RunRequest): void {
    if (request.text.length > startBytesMax) return;
    if (request.text === this.#lastText) {
      this.#start = CachedBodyPrefix.of(bytes, this.bytes.length, parser, request);
    }
    this.#lastText = request.text;
  }
}

/** The start of a body, up to the value of its last member, `params`. */
class CachedBodyPrefix {
  readonly #bodyAt: number;
  readonly #bytes: Buffer;
  readonly #request: RunRequest;

  private constructor(bodyAt: number, bytes: Buffer, request: RunRequest) {
    this.#bodyAt = bodyAt;
    this.#bytes = bytes;
    this.#request = request;
  }

  /** @returns undefined when the parameters are not there, not last, or not easily found. */
  static of(
    bytes: Buffer,
    bodyAt: number,
    parser: JsonParser,
    request: RunRequest,
  ): CachedBodyPrefix | undefined {
    const at = bytes.indexOf(field, bodyAt);
    if (at < 0 || at - bodyAt > startBytesMax || bytes.at(-1) !== closing) return undefined;
    const valueAt = at + field.length;
    const start = Buffer.from(bytes.subarray(bodyAt, valueAt));
    try {
      // Another value in its place still makes one object, so this is where a member's value is.
      const other = parser.parse(Buffer.concat([start, substitute]));
      if (!(other instanceof Map) || other.get('params') !== null) return undefined;
      // And what is there now is one value, so nothing follows it.
      parser.parse(bytes, valueAt, bytes.length - 1);
    } catch (error) {
      if (error instanceof Refusal) return undefined;
      throw error;
    }
    // Kept for long, so without what belongs to one request only.
    const none = {connection: undefined, signal: undefined};
    const kept = {...request, ...none, parameters: parseParameters(undefined)};
    return new CachedBodyPrefix(bodyAt, start, kept);
  }

  /** Undefined when the body begins differently, or its parameters are refused. */
  read(bytes: Buffer, parser: JsonParser, client: RequestClient): RunRequest | undefined {
    const valueAt = this.#bodyAt + this.#bytes.length;
    const last = bytes.length - 1;
    if (last <= valueAt || bytes[last] !== closing) return undefined;
    if (bytes.compare(this.#bytes, 0, this.#bytes.length, this.#bodyAt, valueAt) !== 0) {
      return undefined;
    }
    try {
      const parameters = parseParameters(parser.parse(bytes, valueAt, last));
      return withParameters(this.#request, parameters, client);
    } catch (error) {
      if (error instanceof Refusal) return undefined;
      throw error;
    }
  }
}

/** Written out, which is cheaper than a spread where every request passes. */
function withParameters(
  known: RunRequest,
  parameters: RunRequest['parameters'],
  {connection, signal}: RequestClient,
): RunRequest {
  return {
    database: known.database,
    language: known.language,
    text: known.text,
    parameters,
    readOnly: known.readOnly,
    limit: known.limit,
    format: known.format,
    typeHints: known.typeHints,
    profile: known.profile,
    transactionId: known.transactionId,
    consistency: known.consistency,
    retries: known.retries,
    requestId: known.requestId,
    tag: known.tag,
    clientName: known.clientName,
    connection,
    signal,
    receivedAt: undefined,
  };
}
