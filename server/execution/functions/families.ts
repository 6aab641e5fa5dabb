/**
 * The families of functions that the server has, as one registry.
 *
 * A family is a plain record in a file of its own; this list is the only place that knows them
 * all. Invariant, held by a test: their names are those of `plan/function-table.ts`, less the
 * operators (which `expressions/` runs) and the names reserved for later work.
 */
import type {FunctionFamily} from './registry.ts';
import {FunctionRegistry} from './registry.ts';

const families: readonly FunctionFamily[] = [];

/** A registry of every family; made once, in the wiring. */
export function createFunctionRegistry(): FunctionRegistry {
  return new FunctionRegistry(families);
}
