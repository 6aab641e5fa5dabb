/**
 * The families of functions that the server has.
 *
 * A family is a plain record in a file of its own; this list is the only place that knows them
 * all. Invariant, held by a test: their names are those of `plan/function-table.ts`, less the
 * operators (which `expressions/` runs) and the names reserved for later work.
 */
import type {FunctionFamily} from '../function-registry.ts';

export const families: readonly FunctionFamily[] = [];
