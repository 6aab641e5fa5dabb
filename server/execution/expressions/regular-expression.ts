/**
 * MATCHES: a regular expression that describes the whole text, without the risk of one that
 * takes for ever.
 *
 * The engine of the platform backtracks, and users bring the patterns. Two bounds keep it in
 * hand: a repetition inside a repeated group (the shape of exponential patterns), alternatives
 * inside a repeated group and back references are refused; and since n open repetitions may
 * cost the n-th power of the text's length, texts are limited by how many the pattern has.
 */
import {Refusal} from '#server/base/errors.ts';
import type {TextTest} from './text-pattern.ts';

const patternLengthMax = 2_000;
/** Steps that one match may take in the worst case: some tens of milliseconds. */
const stepsMax = 50_000_000;
const plainTextLengthMax = 4_000_000;

interface Shape {
  /** Repetitions without an upper bound (or a large one) that can compete for characters. */
  readonly openRepetitions: number;
  readonly risk: string | undefined;
}

/** @throws {Refusal} `argument` for a pattern that is malformed or too risky. */
export function regularExpressionTest(pattern: string): TextTest {
  if (pattern.length > patternLengthMax) {
    throw new Refusal('argument', `a pattern has at most ${patternLengthMax} characters`);
  }
  const shape = shapeOf(pattern);
  if (shape.risk !== undefined) {
    throw new Refusal('argument', `the pattern has ${shape.risk}, which can take for ever`);
  }
  const expression = compile(pattern);
  const power = Math.max(shape.openRepetitions, 1);
  const lengthMax = Math.min(plainTextLengthMax, Math.floor(stepsMax ** (1 / power)));
  return text => {
    if (text.length > lengthMax) {
      throw new Refusal(
        'argument',
        `this pattern takes texts of up to ${lengthMax} characters, not ${text.length}`,
      );
    }
    return expression.test(text);
  };
}

function compile(pattern: string): RegExp {
  const insensitive = pattern.startsWith('(?i)');
  const source = `^(?:${insensitive ? pattern.slice(4) : pattern})$`;
  const flags = insensitive ? 'i' : '';
  for (const unicode of ['u', '']) {
    try {
      return new RegExp(source, flags + unicode);
    } catch {
      // Escapes that the strict form refuses (`\-`) are tried in the lenient one.
    }
  }
  throw new Refusal('argument', `'${pattern.slice(0, 80)}' is not a regular expression`);
}

interface Group {
  repeats: boolean;
  alternatives: boolean;
}

/** One pass over the pattern; knows groups, classes, escapes and quantifiers. */
function shapeOf(pattern: string): Shape {
  const groups: Group[] = [{repeats: false, alternatives: false}];
  let closed: Group | undefined;
  let openRepetitions = 0;
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern[at] as string;
    const group = groups[groups.length - 1] as Group;
    if (character === '\\') {
      at++;
      if (/[1-9k]/.test(pattern[at] ?? '')) return {openRepetitions, risk: 'a back reference'};
      closed = undefined;
    } else if (character === '[') {
      at = classEnd(pattern, at);
      closed = undefined;
    } else if (character === '(') {
      groups.push({repeats: false, alternatives: false});
      closed = undefined;
      if (pattern[at + 1] === '?') at = groupHeadEnd(pattern, at);
    } else if (character === ')') {
      if (groups.length > 1) groups.pop();
      closed = group;
      const outer = groups[groups.length - 1] as Group;
      outer.repeats ||= group.repeats;
      outer.alternatives ||= group.alternatives;
    } else if (character === '|') {
      group.alternatives = true;
      closed = undefined;
    } else {
      const repetition = repetitionAt(pattern, at);
      if (repetition !== undefined) {
        at = repetition.end;
        if (repetition.many) {
          if (closed?.repeats === true) return {openRepetitions, risk: 'nested repetitions'};
          if (closed?.alternatives === true) {
            return {openRepetitions, risk: 'alternatives in a repeated group'};
          }
          group.repeats = true;
          openRepetitions++;
        }
      }
      closed = undefined;
    }
  }
  return {openRepetitions, risk: undefined};
}

function classEnd(pattern: string, start: number): number {
  for (let at = start + 1; at < pattern.length; at++) {
    if (pattern[at] === '\\') at++;
    else if (pattern[at] === ']') return at;
  }
  return pattern.length;
}

/** Behind `(?:`, `(?=`, `(?!`, `(?<name>`: at the last character of the head. */
function groupHeadEnd(pattern: string, start: number): number {
  const head = /^\(\?(?:[:=!]|<[=!]|<[^>]*>)/.exec(pattern.slice(start));
  return start + (head === null ? 1 : head[0].length - 1);
}

/** A quantifier at this place; `many` when it can take more than a few dozen. */
function repetitionAt(
  pattern: string,
  at: number,
): {readonly end: number; readonly many: boolean} | undefined {
  const character = pattern[at];
  if (character === '*' || character === '+') return {end: at, many: true};
  if (character === '?') return {end: at, many: false};
  if (character !== '{') return undefined;
  const bounds = /^\{(\d+)(,?)(\d*)\}/.exec(pattern.slice(at));
  if (bounds === null) return undefined;
  const open = bounds[2] === ',' && bounds[3] === '';
  const most = Number(bounds[3] === '' ? bounds[1] : bounds[3]);
  return {end: at + bounds[0].length - 1, many: open || most > 16};
}
