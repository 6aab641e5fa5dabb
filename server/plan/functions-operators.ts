/**
 * Signatures of the operators that expressions are made of; `execution/expressions/` runs them.
 *
 * An operator whose `nulls` says so answers null for a null operand before it is called, which
 * is how the three-valued logic of comparisons comes about. Where null has a meaning of its own
 * (null-safe equality, `??`, concatenation) the operator handles it.
 */
import type {FunctionSignature} from './functions.ts';

interface OperatorOptions {
  readonly nulls?: FunctionSignature['nulls'];
  readonly cost?: number;
  readonly argsMax?: number;
}

function operator(
  name: string,
  argsMin: number,
  says: string,
  options: OperatorOptions = {},
): FunctionSignature {
  return {
    name: `op:${name}`,
    kind: 'operator',
    argsMin,
    argsMax: options.argsMax ?? argsMin,
    nulls: options.nulls ?? 'null-in-null-out',
    deterministic: true,
    needs: 'nothing',
    cost: options.cost ?? 20,
    says,
  };
}

const handled = {nulls: 'handled'} as const;

export const operators: readonly FunctionSignature[] = [
  operator('equal', 2, 'Whether both are the same value; numbers of any kind by their value.'),
  operator('notEqual', 2, 'Whether the two differ.'),
  operator('less', 2, 'Whether the left comes before the right; null unless comparable.'),
  operator('lessOrEqual', 2, 'Whether the left does not come after the right.'),
  operator('greater', 2, 'Whether the left comes after the right.'),
  operator('greaterOrEqual', 2, 'Whether the left does not come before the right.'),
  operator('nullSafeEqual', 2, 'As equal, and null equals null.', handled),
  operator('between', 3, 'Whether the first lies between the others, both included.'),
  operator('in', 2, 'Whether the right (a list, set or single value) has the left.', {cost: 60}),
  operator('like', 2, 'Whether a text fits a pattern: % any text, ? one character.', {cost: 100}),
  operator('ilike', 2, 'As like, with upper and lower case the same.', {cost: 150}),
  operator('matches', 2, 'Whether a regular expression describes the whole text.', {cost: 300}),
  operator('contains', 2, 'Whether a list has the value, or a map the key.', {cost: 60}),
  operator('containsAll', 2, 'Whether a list has every value of the right.', {cost: 120}),
  operator('containsAny', 2, 'Whether a list has a value of the right.', {cost: 120}),
  operator('containsKey', 2, 'Whether a map or record has the key.', {cost: 40}),
  operator('containsValue', 2, 'Whether a map or record has the value.', {cost: 80}),
  operator('containsText', 2, 'Whether a text occurs inside the left.', {cost: 60}),
  operator('instanceOf', 2, 'Whether a record is of a type or a subtype of it.', {cost: 60}),
  operator('isList', 1, 'Whether a value is a list.', {cost: 10}),
  operator('add', 2, 'The sum; joins texts, and appends to lists.', handled),
  operator('subtract', 2, 'The difference; takes items out of a list.'),
  operator('multiply', 2, 'The product.'),
  operator('divide', 2, 'The quotient; of integers an integer where it is exact, else a double.'),
  operator('modulo', 2, 'The remainder, with the sign of the dividend.'),
  operator('negate', 1, 'The number with the other sign.'),
  operator('shiftLeft', 2, 'The bits moved left.'),
  operator('shiftRight', 2, 'The bits moved right, the sign kept.'),
  operator('shiftRightUnsigned', 2, 'The bits moved right, zeros moved in.'),
  operator('bitAnd', 2, 'The bits that both have.'),
  operator('bitOr', 2, 'The bits that either has.'),
  operator('bitXor', 2, 'The bits that exactly one has.'),
  operator('concatenate', 2, 'One list of the items of both; null is no item.', handled),
  operator('coalesce', 1, 'The first operand that is not null.', {nulls: 'handled', argsMax: 255}),
  operator('item', 2, 'An item by position, key or attribute; several answer a list.', {
    argsMax: 255,
  }),
  operator(
    'slice',
    3,
    'The items from a position up to before another (null: to the end).',
    handled,
  ),
];
