/** The procedures that CALL knows: table functions of the server, with their columns. */

export interface Procedure {
  /** Of the table function. */
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly outputs: readonly string[];
}

const procedures: readonly Procedure[] = [];

const byName = new Map(procedures.map(procedure => [procedure.name.toLowerCase(), procedure]));

/** Ignoring case; undefined when there is none. */
export function procedureOf(name: string): Procedure | undefined {
  return byName.get(name.toLowerCase());
}
