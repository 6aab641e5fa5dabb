/**
 * The CSV files of the data set: where they lie, and how a row of them is read.
 *
 * The files have one header line, `|` between the cells, no quotes and no escapes. Both the
 * converter and the independent answers read them through this file and share nothing else.
 */
import {readFileSync} from 'node:fs';
import {join, resolve} from 'node:path';

/** The cells of one line. */
export type Cells = readonly string[];

/** The folder of the data set: under `SVC_SHARED`, or beside the repository. */
export function dataFolder(environment: Readonly<Record<string, string | undefined>>): string {
  const shared = environment['SVC_SHARED'] || resolve(import.meta.dirname, '../../../shared');
  return join(shared, 'data/ldbc-snb-mini/vanilla');
}

/**
 * Reads one file, given without its ending (`dynamic/person`), as cells by line.
 *
 * @throws {Error} naming the folder and the variable to set when the file is not there.
 */
export function readCsv(folder: string, name: string): Cells[] {
  const path = join(folder, `${name}_0_0.csv`);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`cannot read ${path}: set SVC_SHARED to the folder that holds data/`, {
      cause: error,
    });
  }
  const lines = text.split('\n').slice(1);
  return lines.filter(line => line !== '').map(line => line.split('|'));
}

/** One cell; a line that is too short is a broken file. */
export function cell(cells: Cells, index: number): string {
  const value = cells[index];
  if (value === undefined) throw new Error(`a line has no column ${index}: ${cells.join('|')}`);
  return value;
}

/** One cell as a number. */
export function numberCell(cells: Cells, index: number): number {
  const value = Number(cell(cells, index));
  if (!Number.isSafeInteger(value)) throw new Error(`not a number: ${cells.join('|')}`);
  return value;
}
