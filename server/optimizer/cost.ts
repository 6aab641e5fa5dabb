/**
 * What the work of a plan costs, in steps of one: a record passed over in a scan.
 *
 * The figures are ratios, measured on one machine with the data in memory. They need not be exact:
 * a plan is chosen for being several times cheaper, and what is close may go either way.
 */
export const cost = {
  /** A record in a scan: its condition is decided on packed bytes where it lies. */
  scanned: 1,
  /** A row that is handed on, and an expression or two over it. */
  row: 0.5,
  /** The beginning of a scan, at a key that must be looked for. */
  seek: 10,
  /** An entry of an index in the order of its keys. */
  entry: 1,
  /** A record fetched by its id, many at a time. */
  fetch: 5,
  /** The edges of a vertex, looked for among those of a batch; and each of them. */
  hop: 8,
  edge: 1,
  /** Whether two vertices are connected. */
  pair: 8,
  /** A row put into a table of keys, and a look into it. */
  kept: 3,
  probe: 1.5,
  /** An id put into a set of ids, or looked for there. */
  matched: 0.5,
  /** A plan begun for one row. */
  applied: 8,
  /** A record made, changed or taken away. */
  written: 40,
  /** A comparison of two rows. */
  compared: 0.5,
} as const;

/** The work of putting rows into an order. */
export function sortCost(rows: number): number {
  return rows * (cost.kept + cost.compared * Math.log2(rows + 1));
}
