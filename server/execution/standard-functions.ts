/** Every function of the server as one registry; made once, in the wiring. */
import {type FunctionFamily, FunctionRegistry} from './function-registry.ts';
import {families} from './functions/families.ts';

/** @param more - Families beside the server's own. */
export function createFunctionRegistry(more: readonly FunctionFamily[] = []): FunctionRegistry {
  return new FunctionRegistry([...families, ...more]);
}
