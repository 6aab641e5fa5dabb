/**
 * How well a term fits a record: BM25 and Lucene's classic similarity, from the frequency of the
 * term in a field and the length of the field.
 *
 * BM25 has the factor (k1 + 1), which the recorded exchanges show and Lucene 9 leaves out (its
 * LegacyBM25Similarity has it); it changes no order. Lengths count as the byte that Lucene makes of
 * them: exact up to 40, then with four significant bits (SmallFloat.intToByte4). A term's score is
 * rounded to 32 bits, as what is stored and shown of it.
 */

import type {SimilarityName} from '#server/catalog/text-options.ts';

export interface Similarity {
  readonly name: SimilarityName;
  readonly k1: number;
  readonly b: number;
}

/** Figures of one field over all records that have it. */
export interface FieldStatistics {
  /** Records with at least one term in the field. */
  readonly documents: number;
  /** Terms of all of them, repeated ones counted. */
  readonly terms: number;
}

/** Scores one term: larger frequencies and smaller norms never score less. */
export interface TermScorer {
  /** @param norm - The byte of `normOfLength`. */
  score(frequency: number, norm: number): number;
}

const {fround} = Math;
/** Lengths below have a byte of their own (255 less the byte of the greatest 32-bit integer). */
const exactLengths = 24;

/** The byte that stands for a length. */
export function normOfLength(length: number): number {
  return length < exactLengths ? length : exactLengths + toFourBits(length - exactLengths);
}

/** The length that a byte stands for. */
export function lengthOfNorm(norm: number): number {
  return norm < exactLengths ? norm : exactLengths + fromFourBits(norm - exactLengths);
}

function toFourBits(value: number): number {
  const bits = 32 - Math.clz32(value);
  if (bits < 4) return value;
  const shift = bits - 4;
  return ((value >>> shift) & 0x07) | ((shift + 1) << 3);
}

function fromFourBits(bits: number): number {
  const shift = (bits >>> 3) - 1;
  return shift < 0 ? bits : ((bits & 0x07) | 0x08) * 2 ** shift;
}

/**
 * @param boost - Of the query's clause and of the field, multiplied.
 * @param documentsWithTerm - At most `field.documents`.
 */
export function termScorer(
  similarity: Similarity,
  field: FieldStatistics,
  documentsWithTerm: number,
  boost: number,
): TermScorer {
  if (similarity.name === 'CLASSIC') {
    return new ClassicScorer(classicIdf(field.documents, documentsWithTerm), fround(boost));
  }
  return new Bm25Scorer(similarity, field, bm25Idf(field.documents, documentsWithTerm), boost);
}

function bm25Idf(documents: number, withTerm: number): number {
  return Math.log(1 + (documents - withTerm + 0.5) / (withTerm + 0.5));
}

/** Scores a phrase, whose terms count as one. */
export function phraseScorer(
  similarity: Similarity,
  field: FieldStatistics,
  documentsWithTerms: readonly number[],
  boost: number,
): TermScorer {
  const {documents} = field;
  const idf = similarity.name === 'CLASSIC' ? classicIdf : bm25Idf;
  let sum = 0;
  for (const withTerm of documentsWithTerms) sum += idf(documents, withTerm);
  if (similarity.name === 'CLASSIC') return new ClassicScorer(fround(sum), fround(boost));
  return new Bm25Scorer(similarity, field, sum, boost);
}

class Bm25Scorer implements TermScorer {
  readonly #weight: number;
  /** What each norm adds to the frequency in the divisor. */
  readonly #added = new Float64Array(256);

  constructor({k1, b}: Similarity, field: FieldStatistics, idf: number, boost: number) {
    const [saturation, share] = [fround(k1), fround(b)];
    const lengthMean = field.terms / Math.max(field.documents, 1);
    this.#weight = boost * idf * (saturation + 1);
    for (let norm = 0; norm < 256; norm += 1) {
      const length = lengthOfNorm(norm) / lengthMean;
      this.#added[norm] = saturation * (1 - share + share * length);
    }
  }

  score(frequency: number, norm: number): number {
    return fround((this.#weight * frequency) / (frequency + (this.#added[norm] as number)));
  }
}

function classicIdf(documents: number, withTerm: number): number {
  return fround(Math.log((documents + 1) / (withTerm + 1)) + 1);
}

class ClassicScorer implements TermScorer {
  readonly #weight: number;
  readonly #norms = new Float32Array(256);

  constructor(idf: number, boost: number) {
    this.#weight = fround(boost * idf);
    for (let norm = 1; norm < 256; norm += 1) this.#norms[norm] = 1 / Math.sqrt(lengthOfNorm(norm));
    this.#norms[0] = 1;
  }

  score(frequency: number, norm: number): number {
    return fround(
      fround(fround(Math.sqrt(frequency)) * this.#weight) * (this.#norms[norm] as number),
    );
  }
}
