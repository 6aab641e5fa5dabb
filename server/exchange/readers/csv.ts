/**
 * CSV: a header and rows, which become documents, vertices or edges as the options say.
 *
 * A cell in quotes is a text, over several lines too; others become booleans and numbers where they
 * read as such. How many columns and how large a cell may be is bounded, so that a file of quotes
 * does not become one cell of its size.
 * Source: RFC 4180; docs/import-export.md.
 */
import {parseDecimal} from '#server/model/decimal.ts';
import {makeDouble, normalInteger} from '#server/model/number.ts';
import type {Value} from '#server/model/value.ts';
import {
  type ExchangedItem,
  type ExchangedRecord,
  itemOrBad,
  malformed,
} from '../exchanged-record.ts';
import type {ImportOptions} from '../import-options.ts';
import {textOf} from '../lines.ts';

interface Cell {
  readonly text: string;
  readonly isQuoted: boolean;
}

export async function* readCsv(
  bytes: AsyncIterable<Buffer>,
  options: ImportOptions,
): AsyncGenerator<ExchangedItem> {
  let columns = options.header;
  let skipped = 0;
  let row = 0;
  for await (const cells of rowsOf(bytes, options)) {
    row += 1;
    if (cells.length === 1 && cells[0]?.text === '' && !cells[0].isQuoted) continue;
    if (columns === undefined) {
      columns = columnsOf(cells, row);
      continue;
    }
    if (skipped < options.skipEntries) {
      skipped += 1;
      continue;
    }
    const [names, at] = [columns, row];
    yield itemOrBad(() => recordOf(names, cells, options, at), at);
  }
}

function columnsOf(cells: readonly Cell[], row: number): readonly string[] {
  const columns = cells.map(({text}) => text.trim());
  if (columns[0]?.startsWith('\ufeff') === true) columns[0] = columns[0].slice(1);
  if (columns.includes('')) throw malformed(row, 'a column has no name');
  if (new Set(columns).size < columns.length) throw malformed(row, 'a column is there twice');
  return columns;
}

function recordOf(
  columns: readonly string[],
  cells: readonly Cell[],
  options: ImportOptions,
  place: number,
): ExchangedRecord {
  if (cells.length > columns.length) {
    throw malformed(place, `it has ${cells.length} cells, its header ${columns.length}`);
  }
  const {rows: kind, propertiesInclude, edgeFromField, edgeToField} = options;
  const key = options.typeIdProperty ?? options.idProperty;
  const properties = new Map<string, Value>();
  let id: string | undefined;
  let from: string | undefined;
  let to: string | undefined;
  for (const [at, {text, isQuoted}] of cells.entries()) {
    const name = columns[at] as string;
    if (kind === 'edge' && name === edgeFromField) from = text.trim();
    else if (kind === 'edge' && name === edgeToField) to = text.trim();
    else {
      if (name === key) id = text.trim();
      if (propertiesInclude?.has(name) === false || (text === '' && !isQuoted)) continue;
      properties.set(name, isQuoted ? text : valueOf(text, options.trimText));
    }
  }
  if (kind === 'document') return {kind, type: options.documentType, id, properties, place};
  if (kind === 'vertex') return {kind, type: options.vertexType, id, properties, place};
  if (from === undefined || to === undefined) {
    const missing = from === undefined ? edgeFromField : edgeToField;
    throw malformed(place, `it has no column '${missing}' (edgeFromField, edgeToField)`);
  }
  return {kind, type: options.edgeType, from, to, properties, place};
}

const integerPattern = /^-?(?:0|[1-9]\d{0,18})$/;
const doublePattern = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

function valueOf(cell: string, trims: boolean): Value {
  const text = trims ? cell.trim() : cell;
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
