/** Procedures that are brought along, beside the server's own. */
import type {FunctionRegistry, TableFunction} from '#server/execution/function-registry.ts';
import {createFunctionRegistry} from '#server/execution/standard-functions.ts';
import {
  type Procedure,
  type Procedures,
  proceduresWith,
} from '#server/languages/cypher/procedures.ts';

/** What CALL knows a procedure by, and what carries it out. */
export interface CustomProcedure {
  readonly signature: Procedure;
  readonly table: TableFunction;
}

/** Functions and procedures of all languages, with those that are brought along. */
export function functionsWith(brought: readonly CustomProcedure[]): {
  readonly functions: FunctionRegistry;
  readonly procedures: Procedures;
} {
  const tables = brought.map(({signature, table}) => [signature.name, table] as const);
  return {
    functions: createFunctionRegistry([{tables: Object.fromEntries(tables)}]),
    procedures: proceduresWith(brought.map(({signature}) => signature)),
  };
}
