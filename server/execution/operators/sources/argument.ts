/** `argument`: the row of the enclosing apply, repeat or sub-plan, its slots as they are. */
import type {Operator} from '../../operator.ts';

export function prepareArgument(): Operator {
  return function* enclosingRow(_context, argument) {
    if (argument.rowCount > 0) yield argument;
  };
}
