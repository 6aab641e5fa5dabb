/**
 * A cursor's rows as an answer: one buffer with its length where it fits, else chunks.
 *
 * Rows arrive as JSON bytes and are copied once, between a head and a tail. Beyond `bufferedMax`
 * (or when all answers together hold too much) the answer goes out in chunks as the reader takes
 * them; a failure after that breaks the connection, so half a result never looks whole.
 */
import type {ResultCursor, ResultSummary} from '#server/session/session.ts';
import type {AnswerWriter} from './answer-bytes.ts';
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
  writer: AnswerWriter,
  cursor: ResultCursor,
  options: ResultOptions,
): Promise<void> | void {
  const {whole} = cursor;
  if (whole === undefined) return answerPieces(writer, cursor, options);
  const {isDocument} = options;
  const output = writer.bytes();
  output.text(startText(options));
  if (whole.length > 0) output.bytes(whole);
  else if (isDocument) output.text('null');
  output.text(endText(cursor.summary, isDocument));
  writer.answerBytes(output);
  cursor.close();
}

async function answerPieces(
  writer: AnswerWriter,
  cursor: ResultCursor,
  options: ResultOptions,
): Promise<void> {
  const {isDocument} = options;
  const output = writer.bytes();
  try {
    output.text(startText(options));
    let streams = false;
    let pieces = 0;
    for (;;) {
      const piece = await cursor.next();
      if (piece === undefined) break;
      pieces++;
      output.bytes(piece);
      if (!streams && !output.mayGrow) {
        streams = true;
        writer.startStream(200, jsonType);
      }
      if (streams && output.length >= chunkBytes) await writer.write(output.take());
    }
    if (isDocument && pieces === 0) output.text('null');
    output.text(endText(cursor.summary, isDocument));
    if (streams) writer.endStream(output.take());
    else writer.answerBytes(output);
  } finally {
    output.release();
    cursor.close();
  }
}

function startText({user, isDocument}: ResultOptions): string {
  const start = user === undefined ? '{' : `{"user":${JSON.stringify(user)},`;
  return isDocument ? `${start}"result":` : `${start}"result":[`;
}

function endText(summary: ResultSummary, isDocument: boolean): string {
  return `${isDocument ? '' : ']'}${summaryText(summary)}}`;
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
