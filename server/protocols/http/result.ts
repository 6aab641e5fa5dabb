/**
 * A cursor's rows as an answer: one buffer with its length where it fits, else chunks.
 *
 * Rows arrive as JSON bytes and are copied once, between a head and a tail. Beyond `bufferedMax`
 * (or when all answers together hold too much) the answer goes out in chunks as the reader takes
 * them; a failure after that breaks the connection, so half a result never looks whole.
 */
import type {ResultCursor, ResultSummary} from '#server/session/session.ts';
import type {HttpContext} from './context.ts';
import {type Exchange, jsonType} from './exchange.ts';

const bufferedMax = 16 * 1024 * 1024;
const heldBytesMax = 256 * 1024 * 1024;
const tailReserve = 256;
const chunkBytes = 64 * 1024;

/**
 * Answers 200 with the rows of `cursor` and closes it.
 *
 * @param user - Shown in front of the rows; undefined shows none.
 * @param isDocument - The result is one JSON value, not rows.
 */
export async function answerResult(
  exchange: Exchange,
  cursor: ResultCursor,
  options: {readonly user: string | undefined; readonly isDocument: boolean},
): Promise<void> {
  const {isDocument, user} = options;
  const start = user === undefined ? '{' : `{"user":${JSON.stringify(user)},`;
  const output = new Output(exchange.context);
  try {
    output.text(isDocument ? `${start}"result":` : `${start}"result":[`);
    let streams = false;
    let pieces = 0;
    for (;;) {
      const piece = await cursor.next();
      if (piece === undefined) break;
      pieces++;
      output.bytes(piece);
      if (!streams && !output.mayGrow) {
        streams = true;
        exchange.startStream(200, jsonType);
      }
      if (streams && output.length >= chunkBytes) await exchange.write(output.take());
    }
    if (isDocument && pieces === 0) output.text('null');
    output.text(`${isDocument ? '' : ']'}${summaryText(cursor.summary)}}`);
    if (streams) exchange.endStream(output.take());
    else exchange.answer(200, output.take());
  } finally {
    output.release();
    cursor.close();
  }
}

/** Members of the answer behind `result`, with a comma in front. */
function summaryText(summary: ResultSummary): string {
  const {stats, explain, explainPlan, profile, limit, returned, truncated} = summary;
  let text = '';
  if (stats !== undefined) text += `,"stats":${stats}`;
  if (explain !== undefined) text += `,"explain":${JSON.stringify(explain)}`;
  if (explainPlan !== undefined) text += `,"explainPlan":${explainPlan}`;
  if (profile !== undefined) text += `,"profile":${profile}`;
  return `${text},"limit":${limit},"returned":${returned},"truncated":${truncated}`;
}

/** One growing buffer, counted against what all answers may hold. */
class Output {
  readonly #context: HttpContext;
  #buffer = Buffer.allocUnsafe(2_048);
  #length = 0;
  #held = 0;

  constructor(context: HttpContext) {
    this.#context = context;
  }

  get length(): number {
    return this.#length;
  }

  get mayGrow(): boolean {
    return this.#length <= bufferedMax && this.#context.heldBytes <= heldBytesMax;
  }

  text(text: string): void {
    // 3 bytes a unit suffice for UTF-8.
    this.#reserve(text.length * 3);
    this.#length += this.#buffer.write(text, this.#length, 'utf8');
  }

  bytes(piece: Buffer): void {
    this.#reserve(piece.length + tailReserve);
    piece.copy(this.#buffer, this.#length);
    this.#length += piece.length;
  }

  /** What was written since the last take; the caller's. */
  take(): Buffer {
    const taken = this.#buffer.subarray(0, this.#length);
    this.#buffer = Buffer.allocUnsafe(tailReserve);
    this.#length = 0;
    this.release();
    return taken;
  }

  release(): void {
    this.#context.heldBytes -= this.#held;
    this.#held = 0;
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
    this.#context.heldBytes += grown.length - this.#held;
    this.#held = grown.length;
  }
}
