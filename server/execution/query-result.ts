/**
 * The answer of a statement as pieces of bytes in the format asked for.
 *
 * `record` and `counts`: JSON rows with commas between them, none at the ends; `ndjson`: whole
 * lines `{"record":...}`; `graph` and `studio`: one piece, the whole document; an encoding of a
 * protocol: whole rows as it writes them, nothing between them. Pieces are about
 * 64 KB; the first line of `ndjson` leaves at once, later ones every 8 KB or 50 ms.
 * One row beyond the cap is looked at, so `truncated` is true only when something was left out.
 */
import {Refusal} from '#server/base/errors.ts';
import type {RecordJson} from '#server/layout/record-json.ts';
import type {RowEncoding} from '#server/model/row-encoding.ts';
import {type Batch, type Pause, pause, unitBatch} from './batch.ts';
import type {ExecutionContext} from './context.ts';
import {ThreadNeeded} from './missing-prerequisites.ts';
import type {PlanRun} from './run.ts';
import {GraphDocument} from './result/graph-document.ts';
import {columnNames, type PreparedOutput, rowValue} from './output.ts';
import {RowWriter} from './result/record-rows.ts';

export {estimateValue} from './expressions/value-size.ts';
export {TypedRowReader, typedRows} from './result/typed-rows.ts';

/** Shapes of JSON (docs/http.md); `ndjson` is one `{"record":...}` a line. */
export type JsonRowFormat = 'record' | 'graph' | 'studio' | 'counts' | 'ndjson';
/** A shape of JSON, or an encoding that the protocol brings (model/row-encoding.ts). */
export type RowFormat = JsonRowFormat | RowEncoding;

export interface ResultOptions {
  readonly format: RowFormat;
  readonly typeHints: boolean;
  /** A record that is the only column of a row is shown in the row's place. */
  readonly loneRecords: boolean;
  /** Rows of the answer at most; what is beyond is left out. Undefined: no cap. */
  readonly rowsMax: number | undefined;
  /** Rows that no answer exceeds, whatever was asked. */
  readonly ceilingRows: number;
  /** What is done with rows beyond the ceiling: refuse (the client asked for more) or leave out. */
  readonly beyondCeiling: 'refuse' | 'truncate';
  /** The plan writes: it runs to its end, whatever of its rows is answered. */
  readonly writes: boolean;
}

const pieceBytes = 64 << 10;
const linePieceBytes = 8 << 10;
const linePieceMs = 50;
const lineStart = '{"record":';

export class QueryResult {
  /** Rows written so far; final when `next` has answered undefined. */
  returned = 0;
  truncated = false;
  readonly #run: PlanRun;
  readonly #context: ExecutionContext;
  readonly #options: ResultOptions;
  readonly #output: PreparedOutput;
  readonly #writer: RowWriter;
  readonly #document: GraphDocument | undefined;
  readonly #rowsMax: number;
  readonly #isJson: boolean;
  #batch: Batch | undefined;
  #row = 0;
  #ended = false;
  #documentDone: boolean;
  #connecting: Iterator<Pause, void> | undefined;
  /** A pause came before the piece was whole. */
  #resumes = false;
  /** Bytes of the piece up to the last whole row. */
  #wholeRows = 0;
  /** What ended the run, while rows before it are on their way. */
  #failure: {readonly error: unknown} | undefined;
  /** Undefined before the first piece. */
  #lastPieceAt: number | undefined;

  constructor(parts: {
    readonly run: PlanRun;
    readonly context: ExecutionContext;
    readonly output: PreparedOutput;
    readonly json: RecordJson;
    readonly options: ResultOptions;
  }) {
    const {run, context, output, json, options} = parts;
    const {format} = options;
    const edgeCounts = format === 'counts' || format === 'studio';
    this.#run = run;
    this.#context = context;
    this.#options = options;
    this.#output = output;
    const {typeHints, loneRecords} = options;
    this.#isJson = typeof format === 'string';
    const encoder = typeof format === 'string' ? undefined : format.begin(columnNames(output));
    const rowOptions = {edgeCounts, typeHints, loneRecords, encoder};
    this.#writer = new RowWriter({output, options: rowOptions, json, context, batch: unitBatch});
    const whole = format === 'graph' || format === 'studio';
    this.#document = whole ? new GraphDocument(context, json.format) : undefined;
    this.#documentDone = !whole;
    this.#rowsMax = Math.min(options.rowsMax ?? Number.POSITIVE_INFINITY, options.ceilingRows);
  }

  /**
   * The next piece, or undefined at the end. The bytes are the caller's until its next call.
   *
   * @throws {Refusal} what the plan refuses, `query.result-too-large` beyond the ceiling; rows
   * written before that come first.
   */
  async next(): Promise<Buffer | undefined> {
    for (;;) {
      const piece = this.pull();
      if (piece !== pause) return piece;
      await this.rest();
    }
  }

  /**
   * Works like `next` without giving the thread away: `pause` when the slice of time is used up;
   * then `rest` and pull again. Short answers are whole after one call.
   */
  pull(): Buffer | Pause | undefined {
    const {out} = this.#writer;
    if (this.#document === undefined && !this.#resumes) {
      out.clear();
      this.#wholeRows = 0;
    }
    this.#resumes = false;
    try {
      if (this.#failure !== undefined) throw this.#failure.error;
      while (!this.#ended) {
        const step = this.#step();
        if (step === 'piece') return this.#piece();
        if (step === 'pause') return this.#interrupt();
      }
      if (this.#document !== undefined) return this.#finishDocument(this.#document);
    } catch (error) {
      this.close();
      this.#documentDone = true;
      if (this.#failure !== undefined || this.#document !== undefined || this.#wholeRows === 0) {
        throw error;
      }
      // It begins anew: its rows come from there.
      if (error instanceof ThreadNeeded) throw error;
      // The row that failed may be half written.
      out.length = this.#wholeRows;
      this.#failure = {error};
    }
    return out.length > 0 ? this.#piece() : undefined;
  }

  /** Lets others have their turn, after `pull` answered `pause`. */
  rest(): Promise<void> {
    return this.#run.rest();
  }

  /** Rows of the answer at most; -1 for no cap. */
  get limit(): number {
    return this.#options.rowsMax ?? -1;
  }

  /** Nothing comes behind the piece that was pulled last. */
  get isWhole(): boolean {
    return this.#ended && this.#failure === undefined && this.#documentDone;
  }

  #interrupt(): Pause {
    this.#resumes = true;
    return pause;
  }

  #finishDocument(document: GraphDocument): Buffer | Pause | undefined {
    if (this.#documentDone) return undefined;
    const withRows = this.#options.format !== 'graph';
    if (withRows) {
      this.#connecting ??= document.connect();
      if (this.#connecting.next().done !== true) return this.#interrupt();
    }
    this.#documentDone = true;
    return bufferOf(document.finish(withRows ? this.#writer.out : undefined));
  }

  #piece(): Buffer {
    if (this.#options.format === 'ndjson') this.#lastPieceAt = this.#context.clock.monotonic();
    return bufferOf(this.#writer.out);
  }

  /** Writes rows of the current batch, or gets the next one. */
  #step(): 'piece' | 'pause' | 'more' {
    const batch = this.#batch;
    if (batch === undefined) {
      const pulled = this.#run.pull();
      if (pulled === pause) return this.#waitingLines() ? 'piece' : 'pause';
      if (pulled === undefined) this.#ended = true;
      // Rows beyond the cap are made for what they write.
      this.#batch = this.truncated ? undefined : pulled;
      this.#row = 0;
      return 'more';
    }
    while (this.#row < batch.rowCount) {
      if (this.returned >= this.#rowsMax) return this.#reachCap();
      this.#write(batch, this.#row++);
      this.#wholeRows = this.#writer.out.length;
      this.returned++;
      if (this.#isPiece()) return 'piece';
      if (this.#context.budget.spend(2)) return 'pause';
    }
    this.#batch = undefined;
    return 'more';
  }

  #reachCap(): 'more' {
    const options = this.#options;
    if (this.#rowsMax === options.ceilingRows && options.beyondCeiling === 'refuse') {
      throw new Refusal(
        'query.result-too-large',
        `the result has more than ${options.ceilingRows} rows, which no answer may carry`,
        {detail: {limit: options.ceilingRows, args: String(options.ceilingRows)}},
      );
    }
    this.truncated = true;
    if (this.#options.writes) {
      this.#batch = undefined;
      return 'more';
    }
    this.#ended = true;
    this.#run.close();
    return 'more';
  }

  #write(batch: Batch, row: number): void {
    const {out} = this.#writer;
    if (this.#document !== undefined) {
      this.#document.add(rowValue(this.#output, batch, row, this.#context));
      if (this.#options.format === 'graph') return;
      const before = out.length;
      if (this.returned > 0) out.byte(0x2c);
      this.#writer.append(batch, row);
      this.#context.budget.keep(out.length - before);
      return;
    }
    if (this.#options.format === 'ndjson') {
      out.ascii(lineStart);
      this.#writer.append(batch, row);
      out.ascii('}\n');
      return;
    }
    if (this.returned > 0 && this.#isJson) out.byte(0x2c);
    this.#writer.append(batch, row);
  }

  #isPiece(): boolean {
    if (this.#document !== undefined) return false;
    const {length} = this.#writer.out;
    if (this.#options.format !== 'ndjson') return length >= pieceBytes;
    return length >= linePieceBytes || this.returned === 1;
  }

  /** Whether lines that are written have waited long enough. */
  #waitingLines(): boolean {
    if (this.#options.format !== 'ndjson' || this.#writer.out.length === 0) return false;
    const since = this.#lastPieceAt;
    return since === undefined || this.#context.clock.monotonic() - since >= linePieceMs;
  }

  /** Ends the run; idempotent. */
  close(): void {
    this.#ended = true;
    this.#run.close();
  }
}

function bufferOf(out: {readonly bytes: Uint8Array; readonly length: number}): Buffer {
  return Buffer.from(out.bytes.buffer, out.bytes.byteOffset, out.length);
}
