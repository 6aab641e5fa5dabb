/**
 * Rows as people and programs read them: an aligned table, JSON, NDJSON, CSV (RFC 4180).
 *
 * Columns are those of all rows, in order of first appearance. In a table and in
 * JSON control characters are shown escaped (a stored value must not drive the terminal); long
 * cells of a table are cut with `…`.
 */
import type {Row} from '#server/client/client.ts';
import {printJson} from '#server/client/json-text.ts';

export const formats = ['table', 'json', 'ndjson', 'csv'] as const;
export type Format = (typeof formats)[number];

/** No column is cut below this, even if the lines become longer than the terminal is wide. */
const cellWidthMin = 12;

/** Whether `word` names a format. */
export function isFormat(word: string): word is Format {
  return (formats as readonly string[]).includes(word);
}

/** Prints rows in a format, with a line end after each line. `width` bounds a table's lines. */
export function printRows(rows: readonly Row[], format: Format, width: number): string {
  switch (format) {
    case 'table':
      return tableOf(rows, width);
    case 'json':
      return `${inert(printJson(rows, 2))}\n`;
    case 'ndjson':
      return rows.map(row => `${inert(printJson(row))}\n`).join('');
    case 'csv':
      return csvOf(rows);
  }
}

/** The same JSON, without the control characters that JSON lets stand as they are. */
function inert(json: string): string {
  return json.replace(/[\u007f-\u009f]/g, control => `\\u00${control.charCodeAt(0).toString(16)}`);
}

/** An aligned table with a head; without rows, nothing. Numbers stand to the right. */
export function tableOf(rows: readonly Row[], width: number): string {
  const columns = columnsOf(rows);
  if (columns.length === 0) return '';
  const heads = columns.map(visible);
  const whole = rows.map(row => columns.map(name => cellText(row[name])));
  const cellWidthMax = widthThatFits(
    heads.map((head, index) => widestOf(head, whole, index)),
    width,
  );
  const cells = whole.map(line => line.map(text => cut(text, cellWidthMax)));
  const widths = heads.map((head, index) => widestOf(head, cells, index));
  const numeric = columns.map(name =>
    rows.every(row => ['number', 'bigint', 'undefined'].includes(typeof row[name])),
  );
  const line = (texts: readonly string[]): string =>
    texts
      .map((text, index) => pad(text, widths[index] ?? 0, numeric[index] === true))
      .join('  ')
      .trimEnd();
  const rule = widths.map(count => '─'.repeat(count)).join('  ');
  return `${[line(heads), rule, ...cells.map(line)].join('\n')}\n`;
}

function widestOf(head: string, lines: readonly (readonly string[])[], index: number): number {
  return lines.reduce(
    (widest, line) => Math.max(widest, widthOf(line[index] ?? '')),
    widthOf(head),
  );
}

/** The widest that a cell may be for all columns to fit, if that is not too narrow to read. */
function widthThatFits(widths: readonly number[], width: number): number {
  const room = width - 2 * (widths.length - 1);
  let most = Math.max(cellWidthMin, Math.min(room, Math.max(...widths)));
  const taken = (): number => widths.reduce((sum, each) => sum + Math.min(each, most), 0);
  while (most > cellWidthMin && taken() > room) most -= 1;
  return most;
}

/** CSV with a head line; a missing or null cell is empty, a list or map is its JSON. */
export function csvOf(rows: readonly Row[]): string {
  const columns = columnsOf(rows);
  if (columns.length === 0) return '';
  const lines = rows.map(row => columns.map(name => quoted(plainText(row[name]))).join(','));
  return `${[columns.map(quoted).join(','), ...lines].join('\r\n')}\r\n`;
}

function columnsOf(rows: readonly Row[]): string[] {
  return [...new Set(rows.flatMap(row => Object.keys(row)))];
}

function plainText(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : printJson(value);
}

function cellText(value: unknown): string {
  if (value === null) return 'null';
  return visible(plainText(value));
}

/** Control characters written out, so that a text of others cannot drive the terminal. */
export function visible(text: string): string {
  return text.replace(/\p{Cc}/gu, control =>
    control === '\n' ? '⏎' : `\\x${control.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** How many cells of a terminal a text takes. */
export function widthOf(text: string): number {
  let width = 0;
  for (const letter of text) width += isWide(letter.codePointAt(0) ?? 0) ? 2 : 1;
  return width;
}

/** East Asian wide letters and emoji take two cells on a terminal. */
function isWide(code: number): boolean {
  return (
    (code >= 0x1100 && code <= 0x115f) ||
    (code >= 0x2e80 && code <= 0xa4cf) ||
    (code >= 0xac00 && code <= 0xd7a3) ||
    (code >= 0xf900 && code <= 0xfaff) ||
    (code >= 0xfe30 && code <= 0xfe6f) ||
    (code >= 0xff00 && code <= 0xff60) ||
    (code >= 0x1f300 && code <= 0x1faff) ||
    (code >= 0x20000 && code <= 0x3fffd)
  );
}

function cut(text: string, width: number): string {
  return widthOf(text) <= width ? text : `${[...text].slice(0, width - 1).join('')}…`;
}

function pad(text: string, width: number, right: boolean): string {
  const blanks = ' '.repeat(Math.max(0, width - widthOf(text)));
  return right ? blanks + text : text + blanks;
}
