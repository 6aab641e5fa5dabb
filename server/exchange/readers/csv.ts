/**
 * CSV: a header and rows, which become documents, vertices or edges as the options say.
 *
 * A cell in quotes is a text, over several lines too; others become booleans and numbers where they
 * read as such, unless the schema declares another type, so that nothing of `1.10` is lost. The
 * number of columns and the size of a cell are bounded, so that a file of quotes does not become
 * one cell of its size.
 * Source: RFC 4180; docs/import-export.md.
 */
import {numberArrayTypes} from '#server/model/array-conversion.ts';
import type {DataType} from '#server/model/data-type.ts';
import {parseDecimal} from '#server/model/decimal.ts';
import {makeDouble, normalInteger} from '#server/model/number.ts';
import type {Value} from '#server/model/value.ts';
import {
  type DeclaredTypes,
  type ExchangedItem,
  type ExchangedRecord,
  itemOrBad,
  malformed,
} from '../exchanged-record.ts';
import type {ImportOptions} from '../import-options.ts';
import {jsonIn} from '../json-text.ts';
import {textOf} from '../lines.ts';
import {propertyNamed, typeOfRows, withoutEnd} from '../plain-record.ts';

interface Cell {
  readonly text: string;
  readonly isQuoted: boolean;
}

/** What is known of a column before the first row. */
interface Column {
  /** Undefined: its cells are left out. */
  readonly property: string | undefined;
  readonly end: 'from' | 'to' | undefined;
  readonly dataType: DataType | undefined;
}

export async function* readCsv(
  bytes: AsyncIterable<Buffer>,
  options: ImportOptions,
  declared: DeclaredTypes,
): AsyncGenerator<ExchangedItem> {
  let columns = options.header && columnsOf(options.header, options, declared);
  let skipped = 0;
  let row = 0;
  for await (const cells of rowsOf(bytes, options)) {
    row += 1;
    if (cells.length === 1 && cells[0]?.text === '' && !cells[0].isQuoted) continue;
    if (columns === undefined) {
      columns = columnsOf(namesIn(cells, row), options, declared);
      continue;
    }
    if (skipped < options.skipEntries) {
      skipped += 1;
      continue;
    }
    const [known, at] = [columns, row];
    yield itemOrBad(() => recordOf(known, cells, options, at), at);
  }
}

function namesIn(cells: readonly Cell[], row: number): readonly string[] {
  const names = cells.map(({text}) => text.trim());
  if (names[0]?.startsWith('\ufeff') === true) names[0] = names[0].slice(1);
  if (names.includes('')) throw malformed(row, 'a column has no name');
  const twice = names.find((name, at) => names.indexOf(name) < at);
  if (twice === undefined) return names;
  throw malformed(
    row,
    `the column '${twice}' is there twice: name the columns by the option header`,
  );
}

function columnsOf(
  names: readonly string[],
  options: ImportOptions,
  declared: DeclaredTypes,
): readonly Column[] {
  const isEdge = options.rows === 'edge';
  const left = {property: undefined, end: undefined, dataType: undefined};
  return names.map(name => {
    if (isEdge && name === options.edgeFromField) return {...left, end: 'from'};
    if (isEdge && name === options.edgeToField) return {...left, end: 'to'};
    const property = propertyNamed(name, options);
    if (property === undefined) return left;
    return {...left, property, dataType: declared(typeOfRows(options), property)};
  });
}

function recordOf(
  columns: readonly Column[],
  cells: readonly Cell[],
  options: ImportOptions,
  place: number,
): ExchangedRecord {
  if (cells.length > columns.length) {
    throw malformed(place, `it has ${cells.length} cells, its header ${columns.length}`);
  }
  const {rows: kind, trimText} = options;
  const type = typeOfRows(options);
  const properties = new Map<string, Value>();
  let from: string | undefined;
  let to: string | undefined;
  for (const [at, {text, isQuoted}] of cells.entries()) {
    const {property, end, dataType} = columns[at] as Column;
    if (end === 'from') from = text.trim();
    else if (end === 'to') to = text.trim();
    if (property === undefined || (text === '' && !isQuoted)) continue;
    properties.set(property, cellValue(text, {isQuoted, trimText, dataType, place}));
  }
  // All rows of a source are of one kind: no edge of it names a vertex of it.
  if (kind !== 'edge') return {kind, type, properties, place};
  // An empty cell names nothing.
  if (!from || !to) throw withoutEnd(from ? options.edgeToField : options.edgeFromField, place);
  return {kind, type, from, to, endsMayBeRecords: true, properties, place};
}

/** Values of these are written as JSON. */
const jsonTypes: ReadonlySet<DataType | undefined> = new Set<DataType | undefined>([
  'LIST',
  'MAP',
  'EMBEDDED',
  ...numberArrayTypes,
]);

interface CellOptions {
  readonly isQuoted: boolean;
  readonly trimText: boolean;
  readonly dataType: DataType | undefined;
  readonly place: number;
}

function cellValue(text: string, {isQuoted, trimText, dataType, place}: CellOptions): Value {
  if (jsonTypes.has(dataType)) return jsonIn(text, place);
  return isQuoted ? text : valueOf(trimText ? text.trim() : text, dataType);
}

/** Values of these are told by how they are written; others are converted from their text. */
const toldTypes: ReadonlySet<DataType | undefined> = new Set([
  undefined,
  'ANY',
  'BOOLEAN',
  'BYTE',
  'SHORT',
  'INTEGER',
  'LONG',
  'FLOAT',
  'DOUBLE',
]);

const integerPattern = /^-?(?:0|[1-9]\d{0,18})$/;
const doublePattern = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

function valueOf(text: string, dataType: DataType | undefined): Value {
  if (!toldTypes.has(dataType)) return text;
  // As PostgreSQL writes them.
  if (dataType === 'BOOLEAN' && (text === 't' || text === 'f')) return text === 't';
  const first = text.charCodeAt(0);
  const isNumeric = first === 0x2d || (first >= 0x30 && first <= 0x39);
  if (!isNumeric) return text === 'true' ? true : text === 'false' ? false : text;
  if (text.length < 16 && integerPattern.test(text) && text !== '-0') return Number(text);
  if (integerPattern.test(text)) {
    const integer = BigInt(text);
    const fits = BigInt.asIntN(64, integer) === integer;
    return fits ? normalInteger(integer) : (parseDecimal(text) ?? text);
  }
  if (!doublePattern.test(text)) return text;
  const double = Number(text);
  return Number.isFinite(double) ? makeDouble(double) : text;
}

/** The rows, cell by cell; a quoted cell may hold ends of lines. */
async function* rowsOf(
  bytes: AsyncIterable<Buffer>,
  options: ImportOptions,
): AsyncGenerator<readonly Cell[]> {
  const splitter = new RowSplitter(options);
  for await (const text of textOf(bytes)) {
    splitter.add(text);
    for (let row = splitter.next(false); row !== undefined; row = splitter.next(false)) yield row;
  }
  for (let row = splitter.next(true); row !== undefined; row = splitter.next(true)) yield row;
}

class RowSplitter {
  readonly #delimiter: string;
  readonly #cellsMax: number;
  readonly #cellMax: number;
  #text = '';
  #at = 0;
  #row = 0;

  constructor({delimiter, maxProperties, maxPropertySize}: ImportOptions) {
    this.#delimiter = delimiter;
    this.#cellsMax = maxProperties;
    this.#cellMax = maxPropertySize;
  }

  add(text: string): void {
    this.#text = this.#at === 0 ? this.#text + text : this.#text.slice(this.#at) + text;
    this.#at = 0;
  }

  /** Undefined when the rest is no whole row; with `isLast` it is the last one. */
  next(isLast: boolean): readonly Cell[] | undefined {
    if (this.#at >= this.#text.length) return undefined;
    const cells: Cell[] = [];
    let at = this.#at;
    for (;;) {
      const cell = this.#cell(at, isLast);
      if (cell === undefined) return this.#unfinished(cells.length);
      cells.push(cell.cell);
      if (cells.length > this.#cellsMax) {
        throw malformed(this.#row + 1, `it has more than ${this.#cellsMax} cells (maxProperties)`);
      }
      at = cell.end;
      if (this.#text[at] !== this.#delimiter) break;
      at += 1;
    }
    if (at < this.#text.length) {
      if (this.#text[at] === '\r' && at + 1 >= this.#text.length && !isLast) return undefined;
      if (this.#text[at] === '\r' && this.#text[at + 1] === '\n') at += 1;
      at += 1;
    } else if (!isLast) return undefined;
    this.#at = at;
    this.#row += 1;
    return cells;
  }

  /** More must come; what is there already is bounded. */
  #unfinished(cells: number): undefined {
    const bytes = this.#text.length - this.#at;
    if (bytes > this.#cellMax * (cells + 1) + this.#cellsMax * this.#cellMax) {
      throw malformed(this.#row + 1, 'its row does not end');
    }
    return undefined;
  }

  #cell(from: number, isLast: boolean): {readonly cell: Cell; readonly end: number} | undefined {
    const text = this.#text;
    if (text[from] === '"') return this.#quoted(from, isLast);
    let end = from;
    for (; end < text.length; end++) {
      const character = text[end];
      if (character === this.#delimiter || character === '\n' || character === '\r') break;
    }
    this.#checkSize(end - from);
    if (end >= text.length && !isLast) return undefined;
    return {cell: {text: text.slice(from, end), isQuoted: false}, end};
  }

  #quoted(from: number, isLast: boolean): {readonly cell: Cell; readonly end: number} | undefined {
    const text = this.#text;
    let at = from + 1;
    for (;;) {
      const quote = text.indexOf('"', at);
      if (quote < 0) {
        this.#checkSize(text.length - from);
        if (!isLast) return undefined;
        throw malformed(this.#row + 1, 'a quote is not closed');
      }
      if (quote + 1 >= text.length && !isLast) return undefined;
      if (text[quote + 1] !== '"') {
        this.#checkSize(quote - from);
        const end = quote + 1;
        const next = text[end];
        if (next !== undefined && next !== this.#delimiter && next !== '\n' && next !== '\r') {
          throw malformed(this.#row + 1, 'a delimiter is expected behind a closing quote');
        }
        const inner = text.slice(from + 1, quote);
        return {cell: {text: inner.replaceAll('""', '"'), isQuoted: true}, end};
      }
      at = quote + 2;
    }
  }

  #checkSize(characters: number): void {
    if (characters <= this.#cellMax) return;
    throw malformed(
      this.#row + 1,
      `a cell has more than ${this.#cellMax} characters (maxPropertySize)`,
    );
  }
}
