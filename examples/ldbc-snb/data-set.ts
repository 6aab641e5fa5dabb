/**
 * The social network as tables of cells, under the names and with the columns of LDBC's CSV files.
 * They come from the files themselves (files.ts) or from a seed (generated/); source.ts decides.
 *
 * The converter and the independent answers read the tables through this file and share nothing
 * else, so that a mistake of one is seen by the other.
 */
/** The cells of one line. */
export type Cells = readonly string[];

/** Values of the parameters of a query, by name. */
export type Params = Readonly<Record<string, string | number>>;

export interface DataSet {
  /** What a person calls it: a folder, or the seed. */
  readonly name: string;
  /**
   * The lines of one table, given without an ending (`dynamic/person`), in their order.
   *
   * @throws {Error} when the data set has no such table.
   */
  rows(table: string): readonly Cells[];
  /** Values that come with the data for a complex read (`IC1`); none with a generated network. */
  paramsOf(read: string): readonly Params[];
}

/** One cell; a line that is too short is a broken table. */
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
