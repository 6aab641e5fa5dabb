/**
 * Expressions as text: operators with their sign between operands, everything else as a call.
 *
 * For reading and for comparing plans, not for parsing: parentheses stand around every nested
 * operator, so the text is never ambiguous. `printer.ts` prints the plans inside.
 */
import {unreachable} from '#server/base/assert.ts';
import {jsonText} from '#server/model/json.ts';
import type {Value} from '#server/model/value.ts';
import type {Expression, MapEntry} from './expression.ts';
import {planLine} from './printer.ts';

const signs: Readonly<Record<string, string>> = {
  'op:equal': '=',
  'op:notEqual': '<>',
  'op:less': '<',
  'op:lessOrEqual': '<=',
  'op:greater': '>',
  'op:greaterOrEqual': '>=',
  'op:nullSafeEqual': '<=>',
  'op:in': 'in',
  'op:like': 'like',
  'op:ilike': 'ilike',
  'op:matches': 'matches',
  'op:contains': 'contains',
  'op:containsAll': 'containsAll',
  'op:containsAny': 'containsAny',
  'op:containsKey': 'containsKey',
  'op:containsValue': 'containsValue',
  'op:containsText': 'containsText',
  'op:instanceOf': 'instanceOf',
  'op:add': '+',
  'op:subtract': '-',
  'op:multiply': '*',
  'op:divide': '/',
  'op:modulo': '%',
  'op:shiftLeft': '<<',
  'op:shiftRight': '>>',
  'op:shiftRightUnsigned': '>>>',
  'op:bitAnd': '&',
  'op:bitOr': '|',
  'op:bitXor': '^',
  'op:concatenate': '||',
  'op:coalesce': '??',
};

export function expressionText(expression: Expression): string {
  switch (expression.kind) {
    case 'literal':
      return literalText(expression.value);
    case 'parameter':
      return `:${expression.name}`;
    case 'slot':
      return `$${expression.slot}`;
    case 'property':
      return `${inner(expression.of)}${expression.each ? '.*' : ''}.${expression.name}`;
    case 'defined':
      return `${inner(expression.of)}.${expression.name} is defined`;
    case 'attribute':
      return `${inner(expression.of)}@${expression.attribute}`;
    case 'call':
      return callText(expression);
    case 'routine':
      return `${expression.name}(${expression.args.map(expressionText).join(', ')})`;
    case 'and':
    case 'or':
      return expression.terms.map(inner).join(` ${expression.kind} `);
    case 'not':
      return `not ${inner(expression.of)}`;
    case 'is-null':
      return `${inner(expression.of)} is null`;
    case 'case': {
      const branches = expression.branches.map(
        branch => `when ${inner(branch.when)} then ${inner(branch.then)}`,
      );
      const otherwise = expression.otherwise ? ` else ${inner(expression.otherwise)}` : '';
      return `case ${branches.join(' ')}${otherwise} end`;
    }
    case 'list':
      return `[${expression.items.map(expressionText).join(', ')}]`;
    case 'map':
      return `{${expression.entries.map(entryText).join(', ')}}`;
    case 'comprehension':
      return comprehensionText(expression);
    case 'reduce': {
      const {accumulator, item} = expression;
      const start = `$${accumulator} = ${expressionText(expression.initial)}`;
      const over = `$${item} in ${expressionText(expression.list)}`;
      return `reduce(${start}, ${over} | ${expressionText(expression.step)})`;
    }
    case 'subplan': {
      const once = expression.correlated ? '' : ' once';
      const slot = expression.mode === 'exists' || expression.mode === 'count';
      const of = slot ? '' : ` $${expression.slot}`;
      return `${expression.mode}${once}${of} {${planLine(expression.plan)}}`;
    }
    default:
      return unreachable(expression);
  }
}

/** A list prints alike whether it is a value or made of parts. */
function literalText(value: Value): string {
  return Array.isArray(value) ? `[${value.map(literalText).join(', ')}]` : jsonText(value);
}

/** The text, in parentheses when it is made of several parts without any of its own. */
function inner(expression: Expression): string {
  const text = expressionText(expression);
  switch (expression.kind) {
    case 'and':
    case 'or':
    case 'not':
    case 'is-null':
    case 'defined':
      return `(${text})`;
    case 'call':
      return signs[expression.name] === undefined ? text : `(${text})`;
    default:
      return text;
  }
}

function callText(call: Expression & {readonly kind: 'call'}): string {
  const sign = signs[call.name];
  const [first, second] = call.args;
  if (sign !== undefined && first !== undefined && second !== undefined) {
    return call.args.map(inner).join(` ${sign} `);
  }
  if (call.name === 'op:negate' && first !== undefined) return `-${inner(first)}`;
  if (call.name === 'op:item' && first !== undefined) {
    return `${inner(first)}[${call.args.slice(1).map(expressionText).join(', ')}]`;
  }
  const name = call.name.startsWith('op:') ? call.name.slice(3) : call.name;
  if (name.startsWith('.') && first !== undefined) {
    return `${inner(first)}${name}(${call.args.slice(1).map(expressionText).join(', ')})`;
  }
  return `${name}(${call.args.map(expressionText).join(', ')})`;
}

function entryText(entry: MapEntry): string {
  if ('value' in entry) return `${JSON.stringify(entry.key)}: ${expressionText(entry.value)}`;
  const except = entry.except === undefined ? '' : ` except ${entry.except.join(', ')}`;
  return `...${expressionText(entry.spread)}${except}`;
}

function comprehensionText(expression: Expression & {readonly kind: 'comprehension'}): string {
  const {mode, item, index} = expression;
  const bound = index === undefined ? `$${item}` : `$${item}, $${index}`;
  const where = expression.where ? ` where ${expressionText(expression.where)}` : '';
  const yields = expression.yields ? ` | ${expressionText(expression.yields)}` : '';
  return `${mode}(${bound} in ${expressionText(expression.list)}${where}${yields})`;
}
