/**
 * What is looked for when records like given texts are wanted: the words that say most about them.
 *
 * A word says more the more often the texts have it and the fewer records of the index do: its
 * weight is its frequency times ln((n + 1) / (d + 1)) + 1, for d of n records. The words of the
 * greatest weights are looked for, any of them, each counting as much as its weight.
 */
import {compareText} from '#server/base/utf8.ts';
import type {Effort} from '../ranked/effort.ts';
import type {TextQuery} from './query.ts';
import type {TextSource} from './text-source.ts';

export interface LikeOptions {
  /** Uses of a word in the texts; rarer ones are not looked for. */
  readonly minTermFreq: number;
  /** Records that have a word; rarer ones are not looked for. */
  readonly minDocFreq: number;
  /** Percent of the records that have a word; more frequent ones are not looked for. */
  readonly maxDocFreqPercent: number;
  readonly maxQueryTerms: number;
  /** Characters of a word; 0: any number. */
  readonly minWordLen: number;
  readonly maxWordLen: number;
  /** Whether a word counts as much as its weight; else all count alike. */
  readonly boostByScore: boolean;
}

/** How often each word stands in the texts of one field, and how much the field counts. */
export interface FieldWords {
  readonly boost: number;
  readonly frequencies: ReadonlyMap<string, number>;
}

interface Candidate {
  readonly field: number;
  readonly term: string;
  readonly weight: number;
}

/** Costs the list of each word that is frequent and long enough. @param fields - By number. */
export function likeQuery(
  fields: readonly FieldWords[],
  options: LikeOptions,
  {source, effort}: {readonly source: TextSource; readonly effort: Effort},
): TextQuery {
  const candidates: Candidate[] = [];
  for (const [field, {frequencies}] of fields.entries()) {
    const {documents} = source.statistics(field);
    for (const [term, frequency] of frequencies) {
      effort.spend(1);
      if (frequency < options.minTermFreq || !isOfLength(term, options)) continue;
      const {count} = source.postings(field, term);
      if (count === 0 || count < options.minDocFreq) continue;
      if (count * 100 > documents * options.maxDocFreqPercent) continue;
      const rarity = Math.log((documents + 1) / (count + 1)) + 1;
      candidates.push({field, term, weight: frequency * rarity});
    }
  }
  candidates.sort(
    (one, other) =>
      other.weight - one.weight || one.field - other.field || compareText(one.term, other.term),
  );
  const taken = candidates.slice(0, options.maxQueryTerms);
  const greatest = taken[0]?.weight ?? 1;
  return {
    kind: 'boolean',
    boost: 1,
    clauses: taken.map(({field, term, weight}) => {
      const share = options.boostByScore ? weight / greatest : 1;
      const boost = share * (fields[field]?.boost ?? 1);
      return {occurrence: 'should', query: {kind: 'term', field, term, boost}};
    }),
  };
}

function isOfLength(term: string, {minWordLen, maxWordLen}: LikeOptions): boolean {
  const length = [...term].length;
  return length >= minWordLen && (maxWordLen === 0 || length <= maxWordLen);
}
