/** Look-up in the one table of operators, functions and methods (functions.ts says more). */
import type {FunctionSignature} from './functions.ts';
import {aggregateFunctions} from './functions/aggregates.ts';
import {dateFunctions} from './functions/dates.ts';
import {generalFunctions} from './functions/general.ts';
import {graphFunctions} from './functions/graph.ts';
import {hashingFunctions} from './functions/hashing.ts';
import {laterFunctions} from './functions/later.ts';
import {libraryFunctions} from './functions/library.ts';
import {mathFunctions} from './functions/math.ts';
import {methods} from './functions/methods.ts';
import {operators, strictOperators} from './functions/operators.ts';
import {procedureFunctions} from './functions/procedures.ts';
import {searchFunctions} from './functions/search.ts';
import {schemaTables} from './functions/schema.ts';
import {standardFunctions} from './functions/standard.ts';
import {vectorFunctions} from './functions/vectors.ts';

/** Every row, in the order of the families. */
export const functionRows: readonly FunctionSignature[] = [
  ...operators,
  ...strictOperators,
  ...standardFunctions,
  ...generalFunctions,
  ...mathFunctions,
  ...methods,
  ...graphFunctions,
  ...aggregateFunctions,
  ...dateFunctions,
  ...libraryFunctions,
  ...hashingFunctions,
  ...vectorFunctions,
  ...searchFunctions,
  ...schemaTables,
  ...procedureFunctions,
  ...laterFunctions,
];

const byName = build(functionRows);

/** The row of a name or alias (case ignored), or undefined. */
export function functionSignature(name: string): FunctionSignature | undefined {
  return byName.get(name) ?? byName.get(name.toLowerCase());
}

function build(rows: readonly FunctionSignature[]): ReadonlyMap<string, FunctionSignature> {
  const map = new Map<string, FunctionSignature>();
  for (const row of rows) {
    for (const name of [row.name, ...(row.aliases ?? [])]) {
      map.set(name.toLowerCase(), row);
      // Plans spell names as the table does.
      map.set(name, row);
    }
  }
  return map;
}
