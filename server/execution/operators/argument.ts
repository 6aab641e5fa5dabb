/** `argument`: the row of the enclosing apply, repeat or sub-plan, its slots as they are. */
import type {Operator} from '../operator.ts';

export function prepareArgument(): Operator {
  return function* enclosingRow(_context, argument) {
    yield argument;
  };
}
