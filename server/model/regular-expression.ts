/**
 * A regular expression that describes a whole text, in bounded time: MATCHES, `regexp` of a
 * property.
 *
 * The engine of the platform backtracks, and users bring the patterns. So a pattern goes to it
 * only when at most one choice inside can be taken back (an alternative, or a repetition outside
 * of any repeated group); every other pattern runs as an automaton that
 * holds all its states at once (pattern-automaton.ts). What an automaton cannot do (back
 * references, looking around) is refused, as are patterns that decompress too large.
 * Source: R. Cox, Regular Expression Matching Can Be Simple And Fast.
 */
import {Refusal} from '#server/base/errors.ts';
import {compileAutomaton} from './pattern-automaton.ts';
import {parsePattern} from './pattern-syntax.ts';

/** Whether a text is what it should be. */
export type TextTest = (text: string) => boolean;

const patternLengthMax = 2_000;

/** @throws {Refusal} `argument` for a pattern that is malformed, too large or not supported. */
export function regularExpressionTest(pattern: string): TextTest {
  if (pattern.length > patternLengthMax) {
    throw new Refusal('argument', `a pattern has at most ${patternLengthMax} characters`);
  }
  const ignoreCase = pattern.startsWith('(?i)');
  const source = ignoreCase ? pattern.slice(4) : pattern;
  const {root, choices} = parsePattern(source);
  if (choices <= 1) {
    const native = nativeExpression(source, ignoreCase);
    if (native !== undefined) return text => native.test(text);
  }
  const automaton = compileAutomaton(root, ignoreCase);
  return text => automaton.matches(text);
}

/** The platform's expression; undefined where it reads the pattern differently from us. */
function nativeExpression(source: string, ignoreCase: boolean): RegExp | undefined {
  try {
    return new RegExp(`^(?:${source})$`, ignoreCase ? 'iu' : 'u');
  } catch {
    return undefined;
  }
}
