/**
 * Tokens of the full-text query language (Lucene's classic syntax), each with its place.
 *
 * A backslash takes the next character as it is; tokens keep their backslashes, because a
 * wildcard needs to know which `*` was meant.
 */
import {refuseQuery} from './query-refusal.ts';

export type QueryToken =
  | {readonly kind: 'and' | 'or' | 'not' | 'plus' | 'minus' | 'open' | 'close' | 'all'}
  /** What is followed by a colon. */
  | {readonly kind: 'field'; readonly text: string}
  /** `isPattern`: has a `*` or `?` that is not escaped. */
  | {readonly kind: 'word'; readonly text: string; readonly isPattern: boolean}
  | {readonly kind: 'quoted'; readonly text: string}
  | {
      readonly kind: 'range';
      readonly from: string;
      readonly to: string;
      readonly fromInclusive: boolean;
      readonly toInclusive: boolean;
    }
  /** `text`: the number behind it; empty: none. */
  | {readonly kind: 'boost' | 'tilde'; readonly text: string};

const space = /\s/u;
const special = new Set('()[]{}":^~');
const range = /^[[{]\s*("[^"]*"|\S+)\s+TO\s+("[^"]*"|[^\s\]}]+)\s*[\]}]/u;
const number = /^\d+(?:\.\d+)?|^\.\d+/u;
const words: Readonly<Record<string, 'and' | 'or' | 'not'>> = {
  AND: 'and',
  '&&': 'and',
  OR: 'or',
  '||': 'or',
  NOT: 'not',
};

/** @throws {Refusal} for a quote or a bracket that nothing closes. */
export function queryTokens(text: string): readonly QueryToken[] {
  const tokens: QueryToken[] = [];
  let at = 0;
  while (at < text.length) {
    const character = text[at] as string;
    if (space.test(character)) {
      at += 1;
      continue;
    }
    const [token, end] = tokenAt(text, at, character);
    tokens.push(token);
    at = end;
  }
  return tokens;
}

function tokenAt(text: string, at: number, character: string): readonly [QueryToken, number] {
  switch (character) {
    case '(':
      return [{kind: 'open'}, at + 1];
    case ')':
      return [{kind: 'close'}, at + 1];
    case '+':
      return [{kind: 'plus'}, at + 1];
    case '-':
      return [{kind: 'minus'}, at + 1];
    case '!':
      return [{kind: 'not'}, at + 1];
    case '"':
      return quoted(text, at);
    case '^':
    case '~':
      return numbered(text, at, character === '^' ? 'boost' : 'tilde');
    case '[':
    case '{':
      return rangeAt(text, at);
    case ']':
    case '}':
    case ':':
      return refuseQuery(text, `'${character}' at ${at + 1} belongs to nothing`);
    default:
      return word(text, at);
  }
}

function quoted(text: string, at: number): readonly [QueryToken, number] {
  let end = at + 1;
  while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
  if (end >= text.length) refuseQuery(text, `the quote at ${at + 1} is not closed`);
  return [{kind: 'quoted', text: text.slice(at + 1, end)}, end + 1];
}

function numbered(
  text: string,
  at: number,
  kind: 'boost' | 'tilde',
): readonly [QueryToken, number] {
  const found = number.exec(text.slice(at + 1, at + 32))?.[0] ?? '';
  return [{kind, text: found}, at + 1 + found.length];
}

function rangeAt(text: string, at: number): readonly [QueryToken, number] {
  const found = range.exec(text.slice(at));
  if (found === null) return refuseQuery(text, `the range at ${at + 1} is not [a TO b]`);
  const [whole, from = '', to = ''] = found;
  const token: QueryToken = {
    kind: 'range',
    from: unquoted(from),
    to: unquoted(to),
    fromInclusive: whole.startsWith('['),
    toInclusive: whole.endsWith(']'),
  };
  return [token, at + whole.length];
}

function unquoted(text: string): string {
  return text.startsWith('"') ? text.slice(1, -1) : text;
}

function word(text: string, at: number): readonly [QueryToken, number] {
  let end = at;
  let isPattern = false;
  while (end < text.length) {
    const character = text[end] as string;
    if (character === '\\') {
      if (end + 1 >= text.length) refuseQuery(text, 'a backslash at the end escapes nothing');
      end += 2;
      continue;
    }
    if (space.test(character) || special.has(character)) break;
    if (character === '*' || character === '?') isPattern = true;
    end += 1;
  }
  const found = text.slice(at, end);
  if (found === '*' && text.slice(end, end + 2) === ':*') return [{kind: 'all'}, end + 2];
  if (text[end] === ':') return [{kind: 'field', text: unescaped(found)}, end + 1];
  const operator = Object.hasOwn(words, found) ? words[found] : undefined;
  if (operator !== undefined) return [{kind: operator}, end];
  return [{kind: 'word', text: found, isPattern}, end];
}

/** The text without the backslashes that escape. */
export function unescaped(text: string): string {
  return text.includes('\\') ? text.replaceAll(/\\(.)/gsu, '$1') : text;
}
