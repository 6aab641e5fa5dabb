/**
 * The leader's answer on its way to the client: whole when it is short, else piece by piece, no
 * faster than the client reads it.
 *
 * A short one that breaks off was not begun to be answered, so the request may yet be judged; a
 * long one breaks the client's connection, so that half an answer never looks whole.
 */
import type {IncomingMessage} from 'node:http';
import type {NoAnswer} from '#server/forwarding/leader-attempts.ts';
import type {Timers} from '#server/platform/clock.ts';
import type {RelayedExchange} from './relayed-exchange.ts';
import {lateMark, relayedHeaders} from './forwarded-headers.ts';

/** What became of one attempt. `answered`: the client was; the index is that of a change. */
export type Relayed =
  | {readonly kind: 'answered'; readonly commitIndex: number | undefined}
  | NoAnswer;

export interface AnswerOptions {
  readonly timers: Timers;
  /** How long the leader may be silent. */
  readonly silenceMs: number;
  /** No more of the request's body is sent. */
  readonly stop: () => void;
}

/** Bytes of an answer that is taken whole. */
const shortBytes = 64 * 1024;
/** Milliseconds for which a client may still be sending when the leader has answered all. */
const lingerMs = 500;
/** Bytes of an answer's end that are looked at. */
const endBytes = 1_024;

/** Relays the answer whose head has come. */
export async function relayAnswer(
  exchange: RelayedExchange,
  answer: IncomingMessage,
  options: AnswerOptions,
): Promise<Relayed> {
  const {method, complete} = exchange.request;
  const length = answer.headers['content-length'];
  const isShort = answer.statusCode === 204 || Number(length ?? shortBytes + 1) <= shortBytes;
  const isLate = isShort && answer.headers[lateMark] !== undefined;
  let end: Buffer | undefined;
  if (isShort && (complete || isLate)) {
    end = await wholeOf(answer, options);
    if (end === undefined) return {kind: 'broken', reason: 'its answer broke off'};
  }
  if (isLate) await exchange.heldBack();
  if (end !== undefined && complete) {
    exchange.relayWhole(answer.statusCode ?? 502, headersOf(answer), end);
  } else end = await relayPieces(exchange, answer, end, options);
  if (method === 'GET' || method === 'HEAD') return {kind: 'answered', commitIndex: undefined};
  const last = exchange.streamsBody ? commitIndexIn(end) : undefined;
  const index = Number(last ?? answer.headers['x-svc-commit-index']);
  return {kind: 'answered', commitIndex: Number.isSafeInteger(index) ? index : undefined};
}

/** Undefined when it broke off. */
function wholeOf(
  answer: IncomingMessage,
  {silenceMs, timers}: AnswerOptions,
): Promise<Buffer | undefined> {
  return new Promise(resolve => {
    const pieces: Buffer[] = [];
    const cancel = timers.after(silenceMs, () => answer.destroy());
    answer.on('data', (piece: Buffer) => void pieces.push(piece));
    answer.on('end', () => {
      cancel();
      const [only] = pieces;
      resolve(only !== undefined && pieces.length === 1 ? only : Buffer.concat(pieces));
    });
    answer.on('error', () => undefined);
    answer.on('close', () => {
      cancel();
      resolve(undefined);
    });
  });
}

/** Resolves with the last bytes. @param whole - All of the body, if it has come. */
async function relayPieces(
  exchange: RelayedExchange,
  answer: IncomingMessage,
  whole: Buffer | undefined,
  {silenceMs, stop, timers}: AnswerOptions,
): Promise<Buffer> {
  const {response, request} = exchange;
  exchange.relayHead(answer.statusCode ?? 502, headersOf(answer));
  const listen = (): (() => void) => timers.after(silenceMs, () => answer.destroy());
  let cancelSilence = listen();
  let end: Buffer = Buffer.alloc(0);
  try {
    const pieces = whole === undefined ? (answer as AsyncIterable<Buffer>) : [whole];
    for await (const piece of pieces) {
      // While the client reads, the silence is ours.
      cancelSilence();
      await exchange.write(piece);
      end = piece.length < endBytes ? Buffer.concat([end, piece]).subarray(-endBytes) : piece;
      cancelSilence = listen();
    }
  } catch {
    response.destroy();
    return end;
  } finally {
    cancelSilence();
  }
  if (request.complete) {
    await exchange.endStream();
    return end;
  }
  stop();
  request.resume();
  const cancel = timers.after(lingerMs, () => response.end());
  request.once('end', () => {
    cancel();
    response.end();
  });
  return end;
}

function headersOf(answer: IncomingMessage): string[] {
  const headers = relayedHeaders(answer);
  const length = answer.headers['content-length'];
  if (length !== undefined) headers.push('Content-Length', length);
  return headers;
}

/** The last line of a streamed bulk load tells the index that its head could not know yet. */
function commitIndexIn(end: Buffer): string | undefined {
  return /"commitIndex":(\d{1,16})[^\n]*\n?$/.exec(end.subarray(-endBytes).toString('latin1'))?.[1];
}
