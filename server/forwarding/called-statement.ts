/** A statement on its way to the leader, and its rows on their way back. */
import {ByteWriter} from '#server/base/byte-writer.ts';
import {Refusal} from '#server/base/errors.ts';
import {TypedRowReader, typedRows} from '#server/execution/query-result.ts';
import type {RowEncoder, RowEncoding} from '#server/model/row-encoding.ts';
import type {ResultCursor, ResultSummary, RunRequest} from '#server/session/session.ts';
import type {CalledStatement, Frame} from './leader-call.ts';
import type {CallAnswer} from './leader-channel.ts';

/** @param timeoutMs - What is left of its time; undefined: it has none of its own. */
export function calledStatement(
  request: RunRequest,
  timeoutMs: number | undefined,
): CalledStatement {
  const {connection: _connection, signal: _signal, receivedAt: _at, format, ...rest} = request;
  return {...rest, timeoutMs, format: typeof format === 'string' ? format : 'typed'};
}

/** The same on the leader. */
export function statementOf(
  {format, ...rest}: CalledStatement,
  signal: AbortSignal | undefined,
): RunRequest {
  return {
    ...emptyRequest,
    ...rest,
    format: format === 'typed' ? typedRows : format,
    signal,
  };
}

/** What JSON leaves out. */
const emptyRequest = {
  limit: undefined,
  profile: undefined,
  transactionId: undefined,
  retries: undefined,
  requestId: undefined,
  tag: undefined,
};

/** What an answer begins and ends with. */
export interface CalledSummary {
  readonly summary: ResultSummary;
  /** Bookmark of what it shows. */
  readonly index: number;
}

/**
 * The rows of an answer in the format that was asked for, no faster than they are taken.
 *
 * @param note - Told of the bookmark of an answer to what changed something.
 */
export function cursorOver(
  answer: CallAnswer,
  format: RunRequest['format'],
  note: (index: number) => void,
): ResultCursor {
  const {summary, index} = summaryIn(answer.first);
  if (summary.wrote) note(index);
  const cursor = new CalledCursor(answer, summary, note);
  if (typeof format === 'string' || format === typedRows) return cursor;
  return new EncodedCursor(cursor, format);
}

function summaryIn({bytes}: Frame): CalledSummary {
  const {summary, index} = JSON.parse(bytes.toString('utf8')) as CalledSummary;
  return {summary: {...emptySummary, ...summary}, index};
}

const emptySummary = {
  stats: undefined,
  explain: undefined,
  explainPlan: undefined,
  profile: undefined,
  columns: undefined,
};

class CalledCursor implements ResultCursor {
  readonly summary: ResultSummary;
  readonly #answer: CallAnswer;
  readonly #note: (index: number) => void;
  #hasEnded = false;

  constructor(answer: CallAnswer, summary: ResultSummary, note: (index: number) => void) {
    this.#answer = answer;
    this.#note = note;
    this.summary = summary;
  }

  async next(): Promise<Buffer | undefined> {
    if (this.#hasEnded) return undefined;
    const frame = await this.#frame();
    if (frame?.kind === 'rows') return frame.bytes;
    this.#hasEnded = true;
    if (frame === undefined) return undefined;
    const {summary, index} = summaryIn(frame);
    if (summary.wrote) this.#note(index);
    Object.assign(this.summary, summary);
    return undefined;
  }

  /** What was written before the rows broke off is not to be asked for again. */
  async #frame(): Promise<Frame | undefined> {
    try {
      return await this.#answer.next();
    } catch (error) {
      const isLost = error instanceof Refusal && error.code === 'cluster.no-leader';
      if (!isLost || !this.summary.wrote) throw error;
      throw new Refusal(
        'commit.unknown',
        'it was carried out, and its rows did not come from the leader: read before writing again',
        {cause: error},
      );
    }
  }

  close(): void {
    this.#hasEnded = true;
    this.#answer.close();
  }
}

/** Rows in an encoding of this server's own, whose name the leader need not know. */
class EncodedCursor implements ResultCursor {
  readonly #cursor: ResultCursor;
  readonly #encoder: RowEncoder;

  constructor(cursor: ResultCursor, encoding: RowEncoding) {
    this.#cursor = cursor;
    this.#encoder = encoding.begin(cursor.summary.columns);
  }

  get summary(): ResultSummary {
    return this.#cursor.summary;
  }

  async next(): Promise<Buffer | undefined> {
    const piece = await this.#cursor.next();
    if (piece === undefined) return undefined;
    const out = new ByteWriter();
    const rows = new TypedRowReader(piece);
    for (let row = rows.next(); row !== undefined; row = rows.next()) this.#encoder.row(out, row);
    return Buffer.from(out.take());
  }

  close(): void {
    this.#cursor.close();
  }
}
