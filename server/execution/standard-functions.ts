/** Every function of the server as one registry; made once, in the wiring. */
import {FunctionRegistry} from './function-registry.ts';
import {families} from './functions/families.ts';

export function createFunctionRegistry(): FunctionRegistry {
  return new FunctionRegistry(families);
}
