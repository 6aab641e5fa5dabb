/**
 * How far two texts are from each other. Texts are bounded, since the work is the product of
 * their lengths; a row of it is reported to the budget.
 */
import {makeDouble} from '#server/model/number.ts';
import type {Value} from '#server/model/value.ts';
import type {CallContext} from '../context.ts';
import {refuse} from './arguments.ts';

const lengthMax = 20_000;
const pairsMax = 10_000_000;

function requireShort(left: string, right: string): void {
  if (Math.max(left.length, right.length) > lengthMax) {
    refuse(`texts of up to ${lengthMax} characters can be compared`);
  }
}

/** Each character of one with each of the other: some tens of milliseconds at most. */
function requireFew(left: string, right: string): void {
  requireShort(left, right);
  if (left.length * right.length > pairsMax) {
    refuse(`texts whose lengths multiply to more than ${pairsMax} cannot be compared`);
  }
}

/** Least number of characters inserted, taken out or replaced. */
export function levenshteinDistance(left: string, right: string, call: CallContext): number {
  requireFew(left, right);
  let above = Uint32Array.from({length: right.length + 1}, (_, at) => at);
  let current = new Uint32Array(right.length + 1);
  for (let row = 1; row <= left.length; row++) {
    const code = left.charCodeAt(row - 1);
    current[0] = row;
    for (let at = 1; at <= right.length; at++) {
      const replaced = (above[at - 1] ?? 0) + (code === right.charCodeAt(at - 1) ? 0 : 1);
      const shorter = Math.min(above[at] ?? 0, current[at - 1] ?? 0) + 1;
      current[at] = Math.min(replaced, shorter);
    }
    [above, current] = [current, above];
    call.budget.spend(1 + right.length / 200);
  }
  return above[right.length] ?? 0;
}

export function levenshteinSimilarity(left: string, right: string, call: CallContext): Value {
  const longest = Math.max(left.length, right.length);
  if (longest === 0) return makeDouble(1);
  return makeDouble(1 - levenshteinDistance(left, right, call) / longest);
}

/** Positions that differ; the texts must be equally long. */
export function hammingDistance(left: string, right: string): number {
  if (left.length !== right.length) refuse('the two texts must be equally long');
  let distance = 0;
  for (let at = 0; at < left.length; at++) {
    if (left.charCodeAt(at) !== right.charCodeAt(at)) distance++;
  }
  return distance;
}

/** Twice the common pairs of neighbouring letters over all pairs. */
export function sorensenDice(left: string, right: string): Value {
  requireShort(left, right);
  const [a, b] = [pairsOf(left), pairsOf(right)];
  const total = sizeOf(a) + sizeOf(b);
  if (total === 0) return makeDouble(left === right ? 1 : 0);
  let common = 0;
  for (const [pair, count] of a) common += Math.min(count, b.get(pair) ?? 0);
  return makeDouble((2 * common) / total);
}

function pairsOf(text: string): Map<string, number> {
  const lower = text.toLowerCase();
  const pairs = new Map<string, number>();
  for (let at = 0; at + 1 < lower.length; at++) {
    const pair = lower.slice(at, at + 2);
    if (!/\s/.test(pair)) pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  }
  return pairs;
}

function sizeOf(pairs: ReadonlyMap<string, number>): number {
  let size = 0;
  for (const count of pairs.values()) size += count;
  return size;
}

/** 1 for the same text, 0 for nothing in common; a common beginning counts more. */
export function jaroWinkler(left: string, right: string, call: CallContext): Value {
  requireFew(left, right);
  const likeness = jaro(left, right, call);
  let prefix = 0;
  while (prefix < 4 && prefix < left.length && left[prefix] === right[prefix]) prefix++;
  return makeDouble(likeness + prefix * 0.1 * (1 - likeness));
}

function jaro(left: string, right: string, call: CallContext): number {
  if (left === right) return 1;
  const reach = Math.max(Math.floor(Math.max(left.length, right.length) / 2) - 1, 0);
  const taken = new Uint8Array(right.length);
  const matched: number[] = [];
  for (let at = 0; at < left.length; at++) {
    const end = Math.min(at + reach + 1, right.length);
    for (let other = Math.max(at - reach, 0); other < end; other++) {
      if (taken[other] === 1 || left.charCodeAt(at) !== right.charCodeAt(other)) continue;
      taken[other] = 1;
      matched.push(left.charCodeAt(at));
      break;
    }
    call.budget.spend(1 + reach / 200);
  }
  if (matched.length === 0) return 0;
  let moved = 0;
  let next = 0;
  for (let other = 0; other < right.length; other++) {
    if (taken[other] === 1 && right.charCodeAt(other) !== matched[next++]) moved++;
  }
  const count = matched.length;
  return (count / left.length + count / right.length + (count - moved / 2) / count) / 3;
}
