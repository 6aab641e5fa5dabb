/**
 * A cursor's rows as an answer: one buffer with its length where it fits, else chunks.
 *
 * Rows arrive as JSON bytes and are copied once, between a head and a tail. Beyond `bufferedMax`
 * (or when all answers together hold too much) the answer goes out in chunks as the reader takes
 * them; a failure after that breaks the connection, so half a result never looks whole.
 */
import type {ResultCursor, ResultSummary} from '#server/session/session.ts';
import type {ResponseWriter} from '../raw-http/response-buffer.ts';
import {jsonType} from './exchange.ts';

const chunkBytes = 64 * 1024;

export interface ResultOptions {
  /** Shown in front of the rows; undefined shows none. */
  readonly user: string | undefined;
  /** The result is one JSON value, not rows. */
  readonly isDocument: boolean;
}

/** Answers 200 with the rows of `cursor` and closes it; a promise only when it has to wait. */
export function answerResult(
  writer: ResponseWriter,
  cursor: ResultCursor,
  options: ResultOptions,
): Promise<void> | void {
  const {whole} = cursor;
  if (whole === undefined) return answerPieces(writer, cursor, options);
  const {isDocument} = options;
  const output = writer.bytes();
  output.bytes(surroundings.start(options));
  if (whole.length > 0) output.bytes(whole);
  else if (isDocument) output.text('null');
  output.bytes(surroundings.end(cursor.summary, isDocument));
  const sent = writer.answerBytes(output);
  cursor.close();
  return sent;
}

async function answerPieces(
  writer: ResponseWriter,
  cursor: ResultCursor,
  options: ResultOptions,
): Promise<void> {
  const {isDocument} = options;
  const output = writer.bytes();
  try {
    output.bytes(surroundings.start(options));
    let streams = false;
    let pieces = 0;
    for (;;) {
      const piece = await cursor.next();
      if (piece === undefined) break;
      pieces++;
      output.bytes(piece);
      if (!streams && !output.mayGrow) {
        streams = true;
        writer.startRows(jsonType);
      }
      if (streams && output.length >= chunkBytes) await writer.write(output.take());
    }
    if (isDocument && pieces === 0) output.text('null');
    output.bytes(surroundings.end(cursor.summary, isDocument));
    await (streams ? writer.endStream(output.take()) : writer.answerBytes(output));
  } finally {
    output.release();
    cursor.close();
  }
}

/** What stands around the rows, as of the answer before: most are like that one. */
class ResponseEnvelope {
  #options: ResultOptions | undefined;
  #start: Buffer = Buffer.alloc(0);
  #plain: ResultSummary | undefined;
  #hasRows = false;
  #end: Buffer = Buffer.alloc(0);

  start(options: ResultOptions): Buffer {
    const {user, isDocument} = options;
    if (this.#options?.user === user && this.#options?.isDocument === isDocument) {
      return this.#start;
    }
    const start = user === undefined ? '{' : `{"user":${JSON.stringify(user)},`;
    this.#options = options;
    this.#start = Buffer.from(isDocument ? `${start}"result":` : `${start}"result":[`);
    return this.#start;
  }

  end(summary: ResultSummary, isDocument: boolean): Buffer {
    const last = this.#plain;
    const isAlike =
      last?.limit === summary.limit &&
      last.returned === summary.returned &&
      last.truncated === summary.truncated &&
      this.#hasRows !== isDocument &&
      isPlain(summary);
    if (isAlike) return this.#end;
    const end = Buffer.from(`${isDocument ? '' : ']'}${summaryText(summary)}}`);
    if (!isPlain(summary)) return end;
    this.#plain = summary;
    this.#hasRows = !isDocument;
    this.#end = end;
    return end;
  }
}

const surroundings = new ResponseEnvelope();

/** Says nothing of the plan and of what was changed. */
function isPlain({stats, explain, explainPlan, profile}: ResultSummary): boolean {
  return (
    stats === undefined &&
    explain === undefined &&
    explainPlan === undefined &&
    profile === undefined
  );
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
