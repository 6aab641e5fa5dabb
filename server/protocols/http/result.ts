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

/**
 * Answers 200 with the rows of `cursor` and closes it.
 *
 * @param user - Shown in front of the rows; undefined shows none.
 * @param isDocument - The result is one JSON value, not rows.
 */
export async function answerResult(
  writer: AnswerWriter,
  cursor: ResultCursor,
  options: {readonly user: string | undefined; readonly isDocument: boolean},
): Promise<void> {
  const {isDocument, user} = options;
  const start = user === undefined ? '{' : `{"user":${JSON.stringify(user)},`;
  const output = writer.bytes();
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
        writer.startStream(200, jsonType);
      }
      if (streams && output.length >= chunkBytes) await writer.write(output.take());
    }
    if (isDocument && pieces === 0) output.text('null');
    output.text(`${isDocument ? '' : ']'}${summaryText(cursor.summary)}}`);
    if (streams) writer.endStream(output.take());
    else writer.answerBytes(output);
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
