/**
 * Signatures of the operators that expressions are made of; `execution/expressions/` runs them.
 *
 * An operator whose `nulls` says so answers null for a null operand before it is called, which
 * is how the three-valued logic of comparisons comes about. Where null has a meaning of its own
 * (null-safe equality, `??`, concatenation) the operator handles it.
 */
import type {FunctionSignature} from '../functions.ts';

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
    parameters: [],
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
  operator('in', 2, 'Whether the right (a list, set or single value) has the left.', {
    nulls: 'handled',
    cost: 60,
  }),
  operator('like', 2, 'Whether a text fits a pattern: % any text, ? one character.', {cost: 100}),
  operator('ilike', 2, 'As like, with upper and lower case the same.', {cost: 150}),
  operator('matches', 2, 'Whether a regular expression describes the whole text.', {cost: 300}),
  operator('contains', 2, 'Whether a list has the value, or a map the key.', {
    nulls: 'handled',
    cost: 60,
  }),
  operator('containsAll', 2, 'Whether a list has every value of the right.', {cost: 120}),
  operator('containsAny', 2, 'Whether a list has a value of the right.', {cost: 120}),
  operator('containsKey', 2, 'Whether a map or record has the key.', {cost: 40}),
  operator('containsValue', 2, 'Whether a map or record has the value.', {cost: 80}),
  operator('containsText', 2, 'Whether a text occurs inside the left.', {cost: 60}),
  operator('instanceOf', 2, 'Whether a record is of a type or a subtype of it.', {cost: 60}),
  operator('references', 1, 'The ids that a record holds, and where it does.', {cost: 1_000}),
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

/**
 * Operators without conversions: values of different classes differ and have no order, what is
 * unknown inside a list makes the list unknown, and what has no meaning is refused. Why there are
 * two families: docs/design/0007-strict-operators.md.
 */
export const strictOperators: readonly FunctionSignature[] = [
  operator('same', 2, 'Whether both are equal; null where a part of either is unknown.'),
  operator('differs', 2, 'Whether both are not equal; null where that is unknown.'),
  operator('before', 2, 'Whether the left is less; null for values without an order.'),
  operator('notAfter', 2, 'Whether the left is not greater; null for values without an order.'),
  operator('after', 2, 'Whether the left is greater; null for values without an order.'),
  operator('notBefore', 2, 'Whether the left is not less; null for values without an order.'),
  operator('member', 2, 'Whether a list has the value; null where that is unknown.', handled),
  operator('xor', 2, 'Whether exactly one of two conditions holds.'),
  operator('plus', 2, 'The sum; joins texts and lists, appends to lists, moves times.'),
  operator('minus', 2, 'The difference; moves times back.'),
  operator('times', 2, 'The product; of a duration and a number too.'),
  operator('over', 2, 'The quotient; of integers the integer without its fraction.'),
  operator('rest', 2, 'The remainder, with the sign of the dividend.'),
  operator('power', 2, 'The left to the power of the right, a float.'),
  operator('minusOf', 1, 'The number with the other sign.'),
  operator('joined', 2, 'Two texts or two lists as one.'),
  operator('startsWith', 2, 'Whether a text begins with another.', {cost: 30}),
  operator('endsWith', 2, 'Whether a text ends with another.', {cost: 30}),
  operator('hasPart', 2, 'Whether a text has another inside.', {cost: 60}),
  operator('describedBy', 2, 'Whether a regular expression describes the whole text.', {cost: 300}),
  operator('field', 2, 'A property of a record or map, a part of a time or point.'),
  operator('at', 2, 'An item of a list by position (from the end if negative), or a property.'),
  operator('cut', 3, 'The items between two positions, negative ones from the end.'),
  operator('items', 1, 'The list as it is.', {cost: 10}),
  operator('each', 1, 'The items of a list; another value as the only item.', {cost: 10}),
  operator('path', 1, 'The path of vertices and edges (or lists of edges) in turn.', {
    argsMax: 4_096,
    cost: 400,
  }),
  operator('ofType', 2, 'Whether a record has the type or label; none: no label at all.'),
  operator('disjoint', 2, 'Whether two edges or lists of edges have none in common.'),
  operator('current', 1, 'The record as it is now.', {cost: 2_000}),
  operator('existing', 1, 'The record, if it was not deleted.', {cost: 2_000}),
  operator('endpoint', 1, 'The vertex that an edge may begin or end at.', handled),
  operator('storable', 1, 'The value, if a property can hold it.', {cost: 30}),
  operator('notNull', 2, 'The value of a named property that must not be null.', handled),
  operator('content', 1, 'The map, or the properties of the record.', handled),
  operator('withoutNulls', 1, 'A map without its null values.', handled),
  operator('entry', 2, 'A map of one key and its value.', handled),
  operator('typed', 3, 'The value, if it is of a type; null is unless said otherwise.', handled),
  operator('rowCount', 2, 'A number of rows, which is whole and not negative.', handled),
];
