/**
 * Replacing by regular expressions, bounded before it runs.
 *
 * The platform's engine backtracks. A choice inside a repeated group can cost exponential time
 * and is refused; n repetitions and alternatives in a row cost at most the (n + 1)-th power of
 * the text's length, so texts are limited by how many the pattern has. A pattern that ends with
 * its only repetition never goes back and takes any text.
 */
import {Refusal} from '#server/base/errors.ts';
import {parsePattern, type PatternNode} from '#server/model/pattern-syntax.ts';
import {refuse, textLengthMax} from './arguments.ts';

const patternLengthMax = 2_000;
/** Steps in the worst case: some tens of milliseconds. */
const stepsMax = 50_000_000;

/** Every match replaced; `$1` in `by` stands for the first group. */
export function replaceByPattern(text: string, pattern: string, by: string): string {
  const expression = boundedExpression(pattern, text);
  let length = text.length;
  return text.replace(expression, (...parts: unknown[]) => {
    const groups = parts.slice(
      0,
      parts.findIndex(part => typeof part === 'number'),
    );
    const part = by.replace(/\$(\d)/g, (_, digit: string) => {
      const group = groups[Number(digit)];
      return typeof group === 'string' ? group : '';
    });
    length += part.length;
    return length > textLengthMax ? refuse('the text would be too long') : part;
  });
}

/** @throws {Refusal} `argument` for a pattern that could take for ever on this text. */
function boundedExpression(pattern: string, text: string): RegExp {
  if (pattern.length > patternLengthMax) {
    refuse(`a pattern has at most ${patternLengthMax} characters`);
  }
  const ignoreCase = pattern.startsWith('(?i)');
  const source = ignoreCase ? pattern.slice(4) : pattern;
  const {root} = parsePattern(source);
  const open = countOpen(root, false);
  const lengthMax =
    open === 0 || (open === 1 && endsOpen(root))
      ? textLengthMax
      : Math.floor(stepsMax ** (1 / (open + 1)));
  if (text.length > lengthMax) {
    refuse(`this pattern takes texts of up to ${lengthMax} characters, not ${text.length}`);
  }
  try {
    return new RegExp(source, ignoreCase ? 'giu' : 'gu');
  } catch (error) {
    throw new Refusal('argument', `'${pattern.slice(0, 80)}' is not a regular expression`, {
      cause: error,
    });
  }
}

/** Alternatives, and repetitions whose number is not fixed; one inside another is refused. */
function countOpen(node: PatternNode, repeated: boolean): number {
  switch (node.kind) {
    case 'repeat': {
      const many = node.max === undefined || node.max > 1;
      if (repeated && node.min !== node.max) {
        refuse('the pattern has a repetition in a repetition, which can take for ever');
      }
      return countOpen(node.of, repeated || many) + (node.min === node.max ? 0 : 1);
    }
    case 'choice':
      if (repeated) refuse('the pattern has alternatives in a repetition, which can take for ever');
      return node.parts.reduce((count, part) => count + countOpen(part, repeated), 1);
    case 'sequence':
      return node.parts.reduce((count, part) => count + countOpen(part, repeated), 0);
    default:
      return 0;
  }
}

function endsOpen(node: PatternNode): boolean {
  if (node.kind === 'repeat') return true;
  const last = node.kind === 'sequence' ? node.parts.at(-1) : undefined;
  return last !== undefined && endsOpen(last);
}
