/**
 * Tests of terms: wildcards, and edit distance with neighbours that changed places (optimal string
 * alignment, which is what Lucene's fuzzy queries count), over code points.
 *
 * Each costs at most the term's length times the pattern's, whatever the pattern.
 */

/** Whether `*` (any text), `?` (one character) and escaped characters make the whole term. */
export function wildcardTest(pattern: string): (term: string) => boolean {
  const parts = patternParts(pattern);
  return term => matches(parts, [...term]);
}

type Part = string | typeof anyText | typeof anyOne;

const anyText = Symbol('*');
const anyOne = Symbol('?');

function patternParts(pattern: string): readonly Part[] {
  const parts: Part[] = [];
  let isEscaped = false;
  for (const character of pattern) {
    if (isEscaped) {
      parts.push(character);
      isEscaped = false;
    } else if (character === '\\') isEscaped = true;
    else if (character === '*') {
      if (parts.at(-1) !== anyText) parts.push(anyText);
    } else parts.push(character === '?' ? anyOne : character);
  }
  return parts;
}

/** What a pattern begins with before its first wildcard: all terms that pass begin so. */
export function patternHead(pattern: string): string {
  let head = '';
  for (const part of patternParts(pattern)) {
    if (typeof part !== 'string') break;
    head += part;
  }
  return head;
}

/** The last `*` takes one character more whenever what follows does not fit. */
function matches(parts: readonly Part[], term: readonly string[]): boolean {
  let [at, part, starAt, starTerm] = [0, 0, -1, 0];
  while (at < term.length) {
    const next = parts[part];
    if (next === anyText) {
      starAt = part++;
      starTerm = at;
    } else if (next !== undefined && (next === anyOne || next === term[at])) {
      at += 1;
      part += 1;
    } else if (starAt >= 0) {
      part = starAt + 1;
      at = ++starTerm;
    } else return false;
  }
  while (parts[part] === anyText) part += 1;
  return part === parts.length;
}

/**
 * Edits from `word` to a term, when they are at most `editsMax`; undefined beyond. Only the
 * diagonals that can be within are looked at.
 */
export function editsTest(word: string, editsMax: number): (term: string) => number | undefined {
  const wanted = [...word];
  return term => {
    const found = [...term];
    if (Math.abs(found.length - wanted.length) > editsMax) return undefined;
    const edits = alignment(wanted, found, editsMax);
    return edits <= editsMax ? edits : undefined;
  };
}

function alignment(from: readonly string[], to: readonly string[], editsMax: number): number {
  const beyond = editsMax + 1;
  let older: number[] = [];
  let row = Array.from({length: to.length + 1}, (_cell, at) => at);
  for (let i = 1; i <= from.length; i += 1) {
    const next = new Array<number>(to.length + 1).fill(beyond);
    next[0] = i;
    let least = i;
    const first = Math.max(1, i - editsMax);
    const last = Math.min(to.length, i + editsMax);
    for (let j = first; j <= last; j += 1) {
      const isSame = from[i - 1] === to[j - 1];
      let edits = (row[j - 1] as number) + (isSame ? 0 : 1);
      edits = Math.min(edits, (row[j] as number) + 1, (next[j - 1] as number) + 1);
      const isSwap = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      if (isSwap) edits = Math.min(edits, (older[j - 2] as number) + 1);
      next[j] = edits;
      least = Math.min(least, edits);
    }
    if (least > editsMax) return beyond;
    older = row;
    row = next;
  }
  return row[to.length] as number;
}
