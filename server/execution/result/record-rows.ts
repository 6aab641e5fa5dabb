/**
 * Rows as JSON objects: the shape of the `record` serializer, straight from slots to bytes.
 *
 * A whole record begins with `@rid, @type, @cat` (edges then `@in, @out`) and is stitched from
 * its stored bytes, as a column is that is one of its properties; a record inside a row has `@cat`
 * last (model/json.ts). A value that is no record and no map becomes `{"value": ...}`. With edge
 * counts, vertices have `@out` and `@in` as numbers behind `@cat` (docs/http.md).
 */
import {ByteWriter} from '#server/base/byte-writer.ts';
import {appendRid, type RecordJson} from '#server/layout/record-json.ts';
import {StoredRecord} from '#server/layout/stored-record.ts';
import {
  categoryOf,
  entriesText,
  type JsonFormat,
  jsonString,
  jsonText,
} from '#server/model/json.ts';
import {ridText} from '#server/model/rid.ts';
import type {RowEncoder} from '#server/model/row-encoding.ts';
import {EmbeddedValue, RecordValue, Rid, type Value} from '#server/model/value.ts';
import type {Batch} from '../batch.ts';
import type {ExecutionContext} from '../context.ts';
import {RowCursor} from '../closure.ts';
import {mergedRow, type PreparedColumn, type PreparedOutput, rowValue} from '../output.ts';
import {degreeOf} from '../stored/hop-counts.ts';
import {typeHints} from './type-hints.ts';

export interface RowOptions {
  /** Vertices get the numbers of their edges. */
  readonly edgeCounts: boolean;
  /** Rows that are no records say what JSON loses: `"@props":"l:9"`. */
  readonly typeHints: boolean;
  /** A record that is the only column of a row is shown in the row's place. */
  readonly loneRecords: boolean;
  /** Writes the rows in the place of JSON; undefined: JSON. */
  readonly encoder: RowEncoder | undefined;
}

export class RowWriter {
  readonly out: ByteWriter = new ByteWriter(Buffer.allocUnsafe(512));
  readonly #output: PreparedOutput;
  readonly #options: RowOptions;
  readonly #json: RecordJson;
  readonly #format: JsonFormat;
  readonly #context: ExecutionContext;
  readonly #cursor: RowCursor;

  constructor(parts: {
    readonly output: PreparedOutput;
    readonly options: RowOptions;
    readonly json: RecordJson;
    readonly context: ExecutionContext;
    readonly batch: Batch;
  }) {
    this.#output = parts.output;
    this.#options = parts.options;
    this.#json = parts.json;
    this.#format = parts.json.format;
    this.#context = parts.context;
    this.#cursor = new RowCursor(parts.context, parts.batch);
  }

  /** Appends one row: as one JSON object, or as the encoder writes it. */
  append(batch: Batch, row: number): void {
    const output = this.#output;
    const {encoder} = this.#options;
    if (encoder !== undefined) {
      const before = this.out.length;
      encoder.row(this.out, this.#values(batch, row));
      this.#context.budget.checkRow(this.out.length - before);
      return;
    }
    if (output.kind === 'element') {
      this.element(batch.get(output.slot, row));
      return;
    }
    this.#cursor.columns = batch.columns;
    this.#cursor.row = row;
    this.#columns(output.columns);
  }

  /** A value for each column, or the one that the row is. */
  #values(batch: Batch, row: number): readonly Value[] {
    const output = this.#output;
    if (output.kind === 'columns' && output.columns.every(column => 'name' in column)) {
      this.#cursor.columns = batch.columns;
      this.#cursor.row = row;
      return output.columns.map(column => column.value(this.#cursor));
    }
    return [rowValue(output, batch, row, this.#context)];
  }

  /** A record, map or other value as a row of its own. */
  element(value: Value): void {
    const known = value instanceof Rid ? (this.#context.graph.record(value) ?? value) : value;
    if (known instanceof RecordValue) {
      this.#record(known);
      return;
    }
    if (known instanceof Map) {
      const {out} = this;
      out.byte(0x7b);
      out.text(entriesText(known, this.#format));
      this.#hints(known, known.size);
      out.byte(0x7d);
      return;
    }
    if (known instanceof EmbeddedValue) {
      this.out.text(jsonText(known, this.#format));
      return;
    }
    this.out.ascii('{"value":');
    this.out.text(jsonText(known, this.#format));
    this.out.byte(0x7d);
  }

  #record(record: RecordValue): void {
    const {out} = this;
    const counts = this.#options.edgeCounts && record.kind === 'vertex';
    if (record instanceof StoredRecord && !counts) {
      const {bytes, offset, length, rid} = record.whole();
      this.#json.append(out, bytes, offset, length, rid);
      return;
    }
    out.byte(0x7b);
    this.#header(record, counts);
    this.#properties(record);
    out.byte(0x7d);
  }

  /** `"@rid":"#1:0","@type":"Person","@cat":"v"` and an edge's ends or a vertex's counts. */
  #header(record: RecordValue, counts: boolean): void {
    const {out} = this;
    out.ascii('"@rid":"');
    appendRid(out, record.rid);
    out.text(`","@type":${jsonString(record.typeName)},"@cat":"${categoryOf[record.kind]}"`);
    if (record.from !== undefined && record.to !== undefined) {
      out.ascii(`,"@in":"${ridText(record.to)}","@out":"${ridText(record.from)}"`);
    }
    if (!counts) return;
    const {graph} = this.#context;
    out.ascii(`,"@out":${degreeOf(graph, record.rid, {direction: 'out', types: undefined})}`);
    out.ascii(`,"@in":${degreeOf(graph, record.rid, {direction: 'in', types: undefined})}`);
  }

  /** `,"name":value` for each property. */
  #properties(record: RecordValue): void {
    if (record instanceof StoredRecord) {
      const {bytes, offset, length} = record.whole();
      this.#json.appendProperties(this.out, bytes, offset, length);
      return;
    }
    for (const [name, value] of record.properties()) {
      this.out.text(`,${jsonString(name)}:${jsonText(value, this.#format)}`);
    }
  }

  /** The record that stands for the whole row: a single column's. */
  #loneRecord(columns: readonly PreparedColumn[]): RecordValue | undefined {
    const [only] = columns;
    if (only === undefined || columns.length > 1) return undefined;
    const isWhole =
      'spread' in only ? only.attributes && only.except.size === 0 : this.#options.loneRecords;
    if (!isWhole) return undefined;
    const value = 'spread' in only ? only.spread(this.#cursor) : only.value(this.#cursor);
    return value instanceof RecordValue ? value : undefined;
  }

  #columns(columns: readonly PreparedColumn[]): void {
    const {out} = this;
    const lone = this.#loneRecord(columns);
    if (lone !== undefined) {
      this.#record(lone);
      return;
    }
    if (columns.some(column => 'spread' in column) || this.#options.typeHints) {
      this.element(mergedRow(columns, this.#cursor));
      return;
    }
    const start = out.length;
    out.byte(0x7b);
    columns.forEach((column, at) => {
      if ('spread' in column) return;
      if (at > 0) out.byte(0x2c);
      out.raw(column.key);
      if (!this.#stored(column)) this.#value(column.value(this.#cursor));
      this.#context.budget.checkRow(out.length - start);
    });
    out.byte(0x7d);
  }

  /** Copies a property of a stored record; false where the column is something else. */
  #stored({stored}: Extract<PreparedColumn, {readonly name: string}>): boolean {
    if (stored === undefined) return false;
    const {columns, row} = this.#cursor;
    const record = columns[stored.slot]?.[row];
    if (!(record instanceof StoredRecord) || record.isCompressed) return false;
    const id = record.schema.propertyId(stored.name);
    if (id === undefined) return false;
    const {bytes, offset, length} = record;
    this.#json.appendProperty(this.out, bytes, {offset, length, id});
    return true;
  }

  #value(value: Value): void {
    const {out} = this;
    if (typeof value === 'number' && Number.isFinite(value)) out.ascii(String(value));
    else out.text(jsonText(value, this.#format));
  }

  #hints(row: ReadonlyMap<string, Value>, size: number): void {
    if (!this.#options.typeHints || row.has('@rid')) return;
    const hints = typeHints(row);
    if (hints !== '') this.out.text(`${size > 0 ? ',' : ''}"@props":${jsonString(hints)}`);
  }
}
