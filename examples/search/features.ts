/**
 * Vectors of texts, made here without a model.
 *
 * The dense vector of a text counts the runs of three letters of its words in 256 places that a
 * hash chooses: texts with words that are written alike lie near each other, whatever their
 * endings. That is no understanding of what they mean; vectors of a language model are loaded and
 * asked in the same way. The sparse vector has a dimension for each word and the root of its
 * number as its weight.
 */

export const dimensions = 256;
/** Dimensions of sparse vectors are below it. */
export const vocabulary = 1_000_003;

const word = /[a-z0-9]+/g;

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(word) ?? [];
}

/** FNV-1a, 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return hash >>> 0;
}

/** A vector of length 1; a text without a word has none. */
export function denseVector(text: string): readonly number[] | undefined {
  const counts = new Float64Array(dimensions);
  for (const one of wordsOf(text)) {
    const padded = ` ${one} `;
    for (let at = 0; at + 3 <= padded.length; at += 1) {
      const hash = hashOf(padded.slice(at, at + 3));
      const place = hash % dimensions;
      // Half of the runs count downwards, so that what falls on one place by chance cancels out.
      counts[place] = (counts[place] ?? 0) + (hash & 0x8000_0000 ? -1 : 1);
    }
  }
  const damped = Array.from(counts, count => Math.sign(count) * Math.sqrt(Math.abs(count)));
  const length = Math.hypot(...damped);
  return length === 0 ? undefined : damped.map(element => Math.fround(element / length));
}

export interface SparseFeatures {
  /** Ascending. */
  readonly ids: readonly number[];
  readonly weights: readonly number[];
}

export function sparseVector(text: string): SparseFeatures {
  const counts = new Map<number, number>();
  for (const one of wordsOf(text)) {
    const id = hashOf(one) % vocabulary;
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  const sorted = [...counts].sort(([one], [other]) => one - other);
  return {
    ids: sorted.map(([id]) => id),
    weights: sorted.map(([, count]) => Math.fround(Math.sqrt(count))),
  };
}
