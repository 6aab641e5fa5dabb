/**
 * Cursors over what is at hand: rows made by a command, or the pieces of an answer that had to
 * be whole before its first byte may leave (a statement that commits).
 */
import {ByteWriter} from '#server/base/byte-writer.ts';
import {pause} from '#server/execution/batch.ts';
import {attributesOf} from '#server/execution/output.ts';
import type {QueryResult} from '#server/execution/query-result.ts';
import {jsonText} from '#server/model/json.ts';
import type {RowEncoding} from '#server/model/row-encoding.ts';
import {RecordValue, type Value} from '#server/model/value.ts';
import type {JsonRowFormat} from '#server/execution/query-result.ts';
import type {ResultCursor, ResultFormat, ResultSummary} from '../session.ts';

export function newSummary(limit: number): ResultSummary {
  return {
    returned: 0,
    truncated: false,
    limit,
    stats: undefined,
    explain: undefined,
    explainPlan: undefined,
    profile: undefined,
    wrote: false,
    columns: undefined,
  };
}

const nothing = Buffer.alloc(0);

/** An answer that lies in memory. */
export class PiecesCursor implements ResultCursor {
  readonly summary: ResultSummary;
  readonly #pieces: readonly Buffer[];
  #at = 0;

  constructor(pieces: readonly Buffer[], summary: ResultSummary) {
    this.#pieces = pieces;
    this.summary = summary;
  }

  get whole(): Buffer | undefined {
    return this.#at > 0 || this.#pieces.length > 1 ? undefined : (this.#pieces[0] ?? nothing);
  }

  next(): Promise<Buffer | undefined> {
    const piece = this.#pieces[this.#at];
    this.#at += 1;
    return Promise.resolve(piece);
  }

  close(): void {
    this.#at = this.#pieces.length;
  }
}

/** Rows that are maps or plain values, in the format asked for. */
export function rowsCursor(
  rows: readonly Value[],
  format: ResultFormat,
  summary: ResultSummary,
): ResultCursor {
  summary.returned = rows.length;
  const pieces =
    typeof format === 'string' ? rowPieces(rows.map(rowText), format) : encoded(rows, format);
  return new PiecesCursor(pieces, summary);
}

function encoded(rows: readonly Value[], encoding: RowEncoding): readonly Buffer[] {
  if (rows.length === 0) return [];
  const out = new ByteWriter();
  const encoder = encoding.begin(undefined);
  for (const row of rows) encoder.row(out, [row]);
  return [Buffer.from(out.take())];
}

/** A record begins with its attributes; a value that is no map is named `value`. */
function rowText(row: Value): string {
  if (row instanceof Map) return jsonText(row);
  if (!(row instanceof RecordValue)) return jsonText(new Map([['value', row]]));
  const map = attributesOf(row);
  for (const [name, value] of row.properties()) map.set(name, value);
  return jsonText(map);
}

function rowPieces(rows: readonly string[], format: JsonRowFormat): readonly Buffer[] {
  switch (format) {
    case 'ndjson':
      return rows.map(row => Buffer.from(`{"record":${row}}\n`));
    case 'graph':
      return [Buffer.from('{"vertices":[],"edges":[]}')];
    case 'studio':
      return [Buffer.from(`{"vertices":[],"edges":[],"records":[${rows.join(',')}]}`)];
    default:
      return rows.length === 0 ? [] : [Buffer.from(rows.join(','))];
  }
}

/** Takes all pieces; answers a promise only when the plan pauses. */
export function takePieces(result: QueryResult, into: Buffer[]): undefined | Promise<void> {
  for (;;) {
    const piece = result.pull();
    if (piece === undefined) return undefined;
    if (piece === pause) return result.rest().then(() => takePieces(result, into));
    // The result would use the bytes for its next piece again.
    into.push(result.isWhole ? piece : Buffer.from(piece));
    if (result.isWhole) return undefined;
  }
}
