/** Holds answers against those of Lucene: the same documents with the same scores, ties aside. */

export interface LuceneHit {
  readonly document: number;
  readonly score: number;
}

/** An answer of ours, or that the query cannot be read. */
export type FullTextAnswer = readonly LuceneHit[] | 'refused';

/** `document:score` with blanks between, best first; `refused`. */
export function luceneAnswer(line: string): FullTextAnswer {
  if (line === 'refused') return line;
  return line.split(' ').flatMap((text): LuceneHit[] => {
    const [document, score] = text.split(':').map(Number);
    return document === undefined || score === undefined ? [] : [{document, score}];
  });
}

/**
 * What is different, or undefined. Scores are equal to 1e-5; of documents with one score either may
 * stand first, and the last of ten may be any that ties with it.
 */
export function luceneDifference(
  found: FullTextAnswer,
  expected: FullTextAnswer,
): string | undefined {
  if (expected === 'refused' || found === 'refused') {
    return found === expected ? undefined : `${textOf(found)}, not ${textOf(expected)}`;
  }
  if (found.length !== expected.length) return `${found.length} hits, not ${expected.length}`;
  for (const [at, {document, score}] of expected.entries()) {
    const own: LuceneHit = found[at] ?? {document: -1, score: Number.NaN};
    const slack = 1e-5 * Math.max(1, score);
    if (!(Math.abs(own.score - score) <= slack)) return `score ${own.score}, not ${score}`;
    const isTied = expected.some(
      (other, place) => place !== at && Math.abs(other.score - score) <= slack,
    );
    if (!isTied && at < 9 && own.document !== document) {
      return `document ${own.document} at place ${at}, not ${document}`;
    }
  }
  return undefined;
}

function textOf(answer: FullTextAnswer): string {
  return answer === 'refused' ? answer : `${answer.length} hits`;
}
