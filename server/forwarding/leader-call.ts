/**
 * What a member of a cluster has its leader do for one of its clients, as bytes and back.
 *
 * A call is a head of JSON and the values that belong to it, as typed rows. Its answer is a run of
 * frames: a kind, the length of what follows (u32 LE), and that. Rows travel as the leader makes
 * them, a piece a frame. Members of two releases may speak with each other: a field that is not
 * known is passed over, and one that is missing is what it was before there was one.
 */
import type {JsonRowFormat} from '#server/execution/query-result.ts';
import {ByteWriter} from '#server/base/byte-writer.ts';
import {isRefusalCode, Refusal} from '#server/base/errors.ts';
import {TypedRowReader, typedRows} from '#server/execution/query-result.ts';
import type {MapValue, Value} from '#server/model/value.ts';
import type {LoadRequest, RunRequest, TransactionContext} from '#server/session/session.ts';

/** A statement without what has a meaning on the server of its client alone. */
export type CalledStatement = Omit<
  RunRequest,
  'format' | 'connection' | 'signal' | 'receivedAt'
> & {
  /** A shape of JSON, or rows as values. */
  readonly format: JsonRowFormat | 'typed';
};

/** A load without what has a meaning on the server of its client alone. */
export type CalledLoad = Omit<LoadRequest, 'connection' | 'signal'>;

/** What the leader does; each is one of `Service`, or a row of the administrative commands. */
export type LeaderCall =
  | {readonly kind: 'run'; readonly request: CalledStatement}
  | {readonly kind: 'prepare'; readonly request: CalledStatement}
  | {
      readonly kind: 'begin';
      readonly database: string;
      readonly isolation: TransactionContext['isolation'];
      readonly tag: string | undefined;
      /** Absent also where an older member asks. */
      readonly clientName?: string | undefined;
      readonly readOnly?: boolean | undefined;
    }
  | {
      readonly kind: 'commit' | 'rollback';
      readonly database: string;
      readonly transactionId: string;
      readonly requestId: string | undefined;
      /** What is left of its time; absent: it has no end. */
      readonly timeoutMs?: number | undefined;
    }
  /** What is loaded follows behind it (loaded-records.ts). */
  | {readonly kind: 'load'; readonly request: CalledLoad}
  | {
      readonly kind: 'administer';
      /** Its name in the table. */
      readonly command: string;
      readonly given: MapValue;
      readonly isPrivate: boolean;
    };

const lengthBytes = 4;

export function encodeCall(call: LeaderCall): Buffer {
  const {head, values} = split(call);
  const text = Buffer.from(JSON.stringify(head), 'utf8');
  const length = Buffer.alloc(lengthBytes);
  length.writeUInt32LE(text.length);
  const rows = new ByteWriter();
  typedRows.begin(undefined).row(rows, [values]);
  return Buffer.concat([length, text, rows.take()]);
}

/** The head as JSON has it: sets are lists, maps of values travel behind it. */
function split(call: LeaderCall): {readonly head: unknown; readonly values: Value} {
  switch (call.kind) {
    case 'run':
    case 'prepare': {
      const {parameters, permitted, ...request} = call.request;
      const head = {...request, permitted: permitted && [...permitted]};
      return {head: {kind: call.kind, request: head}, values: new Map(parameters)};
    }
    case 'administer':
      return {head: {...call, given: undefined}, values: call.given};
    default:
      return {head: call, values: new Map()};
  }
}

/** @throws {Refusal} `request.field` for bytes that are no call. */
export function decodeCall(bytes: Buffer): LeaderCall {
  try {
    const behind = lengthBytes + bytes.readUInt32LE(0);
    const head = JSON.parse(bytes.toString('utf8', lengthBytes, behind)) as LeaderCall;
    const values = new TypedRowReader(bytes.subarray(behind)).next()?.[0] as MapValue;
    switch (head.kind) {
      case 'run':
      case 'prepare': {
        const {permitted} = head.request;
        const request = {...head.request, permitted: permitted && new Set(permitted)};
        return {kind: head.kind, request: {...request, parameters: values}};
      }
      case 'administer':
        return {...head, given: values};
      case 'begin':
      case 'commit':
      case 'rollback':
      case 'load':
        return head;
      default:
        throw new Refusal('not-available', 'the leader knows no such call: upgrade its server');
    }
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal('request.field', 'the body is no call of another member', {cause: error});
  }
}

/**
 * A part of an answer. `head` comes first where there are rows, then `rows`, at the end `end`; what
 * has no rows is a `value`; `error` ends any of them. Records of a load travel the other way as
 * `rows` behind the call, with an `end`; each frame of them is answered by a `taken`.
 */
export type FrameKind = 'head' | 'rows' | 'end' | 'value' | 'error' | 'taken';

export interface Frame {
  readonly kind: FrameKind;
  readonly bytes: Buffer;
}

const frameKinds: readonly FrameKind[] = ['head', 'rows', 'end', 'value', 'error', 'taken'];
const frameHeadBytes = 1 + lengthBytes;
const none = Buffer.alloc(0);

export function frame(kind: FrameKind, content: Uint8Array | string = none): Buffer {
  const bytes = typeof content === 'string' ? Buffer.from(content, 'utf8') : content;
  const framed = Buffer.allocUnsafe(frameHeadBytes + bytes.length);
  framed[0] = frameKinds.indexOf(kind);
  framed.writeUInt32LE(bytes.length, 1);
  framed.set(bytes, frameHeadBytes);
  return framed;
}

/** Frames out of the pieces in which they arrive. */
export class FrameReader {
  #rest: Buffer = none;
  /** What came behind `#rest`; they are joined once a frame is whole, not piece by piece. */
  #pieces: Buffer[] = [];
  #bytes = 0;
  #wantedBytes = frameHeadBytes;

  add(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
  }

  /** The next whole one; undefined: more is needed. @throws {Error} for what is no frame. */
  next(): Frame | undefined {
    if (this.#bytes < this.#wantedBytes) return undefined;
    const rest = this.#joined();
    const kind = frameKinds[rest[0] ?? frameKinds.length];
    if (kind === undefined) throw new Error('the leader answered what is no answer');
    const end = frameHeadBytes + rest.readUInt32LE(1);
    this.#wantedBytes = end;
    if (rest.length < end) return undefined;
    this.#wantedBytes = frameHeadBytes;
    this.#rest = rest.subarray(end);
    this.#bytes -= end;
    return {kind, bytes: rest.subarray(frameHeadBytes, end)};
  }

  #joined(): Buffer {
    const [first] = this.#pieces;
    if (first === undefined) return this.#rest;
    const isAlone = this.#rest.length === 0 && this.#pieces.length === 1;
    this.#rest = isAlone ? first : Buffer.concat([this.#rest, ...this.#pieces]);
    this.#pieces = [];
    return this.#rest;
  }
}

/** An error as an answer has it; of what is no refusal the leader's log tells more. */
export function errorFrame(error: unknown): Buffer {
  if (!(error instanceof Refusal)) {
    return frame('error', JSON.stringify({message: 'the leader failed: its log tells more'}));
  }
  const {code, message, detail, place} = error;
  return frame('error', JSON.stringify({code, message, detail, place}));
}

/** The error of a frame, of its own class again. */
export function errorIn({bytes}: Frame): Error {
  const {code, message, detail, place} = JSON.parse(bytes.toString('utf8')) as {
    readonly code?: string;
    readonly message: string;
    readonly detail?: Refusal['detail'];
    readonly place?: Refusal['place'];
  };
  if (code === undefined || !isRefusalCode(code)) return new Error(message);
  return new Refusal(code, message, {...(detail && {detail}), place});
}
