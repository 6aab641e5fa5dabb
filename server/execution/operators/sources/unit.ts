/** `unit`: one row without slots of its own. */
import type {Operator} from '../../operator.ts';

export function prepareUnit(): Operator {
  return function* unit(_context, argument) {
    yield argument;
  };
}
