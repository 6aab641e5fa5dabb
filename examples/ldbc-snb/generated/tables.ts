/**
 * The tables of the generated network while it grows: rows of cells by the name that the file of
 * the table has with LDBC.
 */
import type {Cells} from '../data-set.ts';

export class Tables {
  readonly #rows = new Map<string, Cells[]>();

  add(table: string, ...values: readonly (string | number)[]): void {
    const cells = values.map(String);
    const rows = this.#rows.get(table);
    if (rows === undefined) this.#rows.set(table, [cells]);
    else rows.push(cells);
  }

  /** How many rows the table has so far. */
  count(table: string): number {
    return this.#rows.get(table)?.length ?? 0;
  }

  /** @throws {Error} when there is no such table. */
  rows(table: string): readonly Cells[] {
    const rows = this.#rows.get(table);
    if (rows === undefined) throw new Error(`the generated network has no table ${table}`);
    return rows;
  }
}
