/** A full-text index over plain documents, made the slow way: what searches are compared with. */
import {compareText} from '#server/base/utf8.ts';
import type {Analyzer} from './analyzer.ts';
import {noPostings, type PostingList, PostingListBuilder} from './posting-list.ts';
import {type FieldStatistics, normOfLength} from './similarity.ts';
import type {PostingPlace, TextSource} from './text-source.ts';

export interface TestDocument {
  readonly bucket: number;
  readonly position: number;
  /** A text a field. */
  readonly texts: readonly (string | undefined)[];
}

interface TermUse {
  readonly term: string;
  readonly position: number;
}

export class TestTextSource implements TextSource {
  readonly documents: readonly TestDocument[];
  readonly #analyzers: readonly Analyzer[];

  constructor(documents: readonly TestDocument[], analyzers: readonly Analyzer[]) {
    this.documents = documents.toSorted((a, b) => a.bucket - b.bucket || a.position - b.position);
    this.#analyzers = analyzers;
  }

  usesOf(document: TestDocument, field: number): readonly TermUse[] {
    const uses: TermUse[] = [];
    const text = document.texts[field];
    if (text === undefined) return uses;
    this.#analyzers[field]?.analyze(text, (term, position) => uses.push({term, position}));
    return uses;
  }

  statistics(field: number): FieldStatistics {
    const lengths = this.documents.map(document => this.usesOf(document, field).length);
    return {
      documents: lengths.filter(length => length > 0).length,
      terms: lengths.reduce((sum, length) => sum + length, 0),
    };
  }

  postings(field: number, term: string): PostingList {
    const builder = new PostingListBuilder();
    let count = 0;
    for (const document of this.documents) {
      const uses = this.usesOf(document, field);
      const frequency = term === '' ? uses.length : uses.filter(use => use.term === term).length;
      if (frequency === 0) continue;
      builder.add(document.bucket, document.position, frequency, normOfLength(uses.length));
      count += 1;
    }
    return count === 0 ? noPostings : builder.finish();
  }

  *terms(field: number, prefix: string): Iterable<string> {
    const all = new Set(
      this.documents.flatMap(one => this.usesOf(one, field).map(use => use.term)),
    );
    const sorted = [...all].toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    for (const term of sorted) if (term.startsWith(prefix)) yield term;
  }

  termFrom(field: number, from: string): string | undefined {
    for (const term of this.terms(field, '')) if (compareText(term, from) >= 0) return term;
    return undefined;
  }

  positions(field: number, term: string, {bucket, position}: PostingPlace): readonly number[] {
    const document = this.documents.find(one => one.bucket === bucket && one.position === position);
    if (document === undefined) return [];
    return this.usesOf(document, field)
      .filter(use => use.term === term)
      .map(use => use.position);
  }
}
