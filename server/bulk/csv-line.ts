/**
 * One line of CSV as a record: a header names the columns, `---` says that a new header follows.
 *
 * A cell in quotes is a text (quotes in it are doubled), an empty one is absent. Others become
 * booleans and numbers where they read as such, unless the schema declares a text, so that
 * nothing of `007` is lost. A cell does not go over several lines.
 */
import {isUtf8} from 'node:buffer';
import {Refusal} from '#server/base/errors.ts';
import {parseDecimal} from '#server/model/decimal.ts';
import {makeDouble, normalInteger} from '#server/model/number.ts';
import type {Value} from '#server/model/value.ts';
import type {BulkDraft} from './draft.ts';
import {readAttributes} from './json-line.ts';

const separator = '---';
const byteOrderMark = '\ufeff';

interface Cell {
  readonly text: string;
  readonly isQuoted: boolean;
}

export class CsvLineReader {
  readonly #draft: BulkDraft;
  #columns: readonly string[] | undefined;

  constructor(draft: BulkDraft) {
    this.#draft = draft;
  }

  /** True when the line was a record, which is in the draft then. @throws {Refusal} */
  read(bytes: Uint8Array, start: number, end: number, line: number): boolean {
    const cells = splitLine(textOf(bytes, start, end, line), line);
    if (cells.length === 1 && cells[0]?.text.trim() === separator) {
      this.#columns = undefined;
      return false;
    }
    if (this.#columns === undefined) {
      this.#columns = columnsOf(cells, line);
      return false;
    }
    this.#readRecord(this.#columns, cells, line);
    return true;
  }

  #readRecord(columns: readonly string[], cells: readonly Cell[], line: number): void {
    if (cells.length > columns.length) {
      throw malformed(line, `it has ${cells.length} cells, its header ${columns.length}`);
    }
    const record = new Map<string, Value>();
    for (const [at, {text, isQuoted}] of cells.entries()) {
      if (text !== '' || isQuoted) record.set(columns[at] as string, text);
    }
    const draft = this.#draft;
    draft.clear();
    readAttributes(draft, record, line);
    const {type} = draft;
    if (type === undefined) return;
    for (const [at, {text, isQuoted}] of cells.entries()) {
      const name = columns[at] as string;
      if (isQuoted || text === '' || name.startsWith('@')) continue;
      if (type.property(name).dataType !== 'STRING') record.set(name, valueOf(text));
    }
    draft.fill(type, record);
  }
}

function textOf(bytes: Uint8Array, start: number, end: number, line: number): string {
  const part = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start);
  if (!isUtf8(part)) throw malformed(line, 'its bytes are not UTF-8');
  return part.toString('utf8');
}

function columnsOf(cells: readonly Cell[], line: number): readonly string[] {
  const columns = cells.map(({text}) => text.trim());
  if (line === 1 && columns[0]?.startsWith(byteOrderMark)) columns[0] = columns[0].slice(1);
  for (const needed of ['@type', '@class']) {
    if (!columns.includes(needed)) throw malformed(line, `the header has no column ${needed}`);
  }
  if (new Set(columns).size < columns.length) throw malformed(line, 'a column is there twice');
  if (columns.includes('')) throw malformed(line, 'a column has no name');
  return columns;
}

/** Cells of a line; a quote within an unquoted cell is part of its text. */
function splitLine(text: string, line: number): readonly Cell[] {
  const cells: Cell[] = [];
  for (let at = 0; ; at++) {
    if (text.charCodeAt(at) === 0x22) {
      const end = closingQuote(text, at + 1);
      if (end < 0) throw malformed(line, 'a quote is not closed');
      if (end + 1 < text.length && text[end + 1] !== ',') {
        throw malformed(line, 'a comma is expected behind a closing quote');
      }
      cells.push({text: text.slice(at + 1, end).replaceAll('""', '"'), isQuoted: true});
      at = end + 1;
    } else {
      const comma = text.indexOf(',', at);
      const end = comma < 0 ? text.length : comma;
      cells.push({text: text.slice(at, end), isQuoted: false});
      at = end;
    }
    if (at >= text.length) return cells;
  }
}

function closingQuote(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 2)) {
    if (text[at + 1] !== '"') return at;
  }
  return -1;
}

const integerPattern = /^-?(?:0|[1-9]\d{0,18})$/;
const doublePattern = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

function valueOf(text: string): Value {
  if (text === 'true') return true;
  if (text === 'false') return false;
  if (integerPattern.test(text) && text !== '-0') {
    const integer = BigInt(text);
    return BigInt.asIntN(64, integer) === integer
      ? normalInteger(integer)
      : (parseDecimal(text) ?? text);
  }
  if (!doublePattern.test(text)) return text;
  const double = Number(text);
  return Number.isFinite(double) ? makeDouble(double) : text;
}

function malformed(line: number, what: string): Refusal {
  return new Refusal('batch.record', `Malformed CSV at line ${line}: ${what}`, {detail: {line}});
}
