/**
 * Searches a full-text index: parses the query, reads the lists it needs, ranks.
 *
 * The answer follows from the reader alone; `kept` only makes it faster.
 */
import type {IndexDefinition} from '#server/catalog/definition.ts';
import {Refusal} from '#server/base/errors.ts';
import {type TextOptions, textOptionsOf} from '#server/catalog/text-options.ts';
import {compareText} from '#server/base/utf8.ts';
import {keyAfterPrefix} from '#server/layout/namespace.ts';
import {
  appendTermPrefix,
  appendTermStart,
  entryKey,
  listPrefix,
  PostingReader,
  termOfEntry,
} from '#server/layout/posting-key.ts';
import type {Value} from '#server/model/value.ts';
import {type ChangedEntry, EntryLists, type ListKind} from './entry-lists.ts';
import type {SearchSource} from './index-family.ts';
import type {KeptLists} from './kept-lists.ts';
import type {ScoredRid} from './ranked/best-records.ts';
import type {Effort} from './ranked/effort.ts';
import {RowWalker} from './row-walker.ts';
import {termFrequencies} from './text-entries.ts';
import {analyzerOf} from './text/analyzer.ts';
import {type LikeOptions, likeQuery} from './text/like-query.ts';
import {lookedForTest, markedPlaces, markedText, type MarkOptions} from './text/highlight.ts';
import {PostingList, PostingListBuilder} from './text/posting-list.ts';
import type {TextQuery} from './text/query.ts';
import {parseQuery, type QuerySyntax, wordsQuery} from './text/query-parser.ts';
import {resolveQuery} from './text/resolved-query.ts';
import {searchText} from './text/search-text.ts';
import type {FieldStatistics, Similarity} from './text/similarity.ts';
import type {PostingPlace, TextSource} from './text/text-source.ts';

export interface TextRequest {
  /** The query in the query language, or plain words that must all be there. */
  readonly query:
    | {
        readonly text: string;
        /** Words without a field are looked for in these only; undefined: in all. */
        readonly fields: readonly string[] | undefined;
      }
    | {readonly words: string}
    /** What is like these texts: of each field, by its number. */
    | {readonly texts: readonly (readonly Value[])[]; readonly like: LikeOptions};
  /** Infinity: all that match. */
  readonly k: number;
  readonly accept?: ((bucket: number, position: number) => boolean) | undefined;
}

/** The best `k` records: best first, of equal scores the lesser id. @throws {Refusal} */
export function searchTextIndex(
  source: SearchSource<KeptLists>,
  request: TextRequest,
): readonly ScoredRid[] {
  const {index, effort} = source;
  const options = textOptionsOf(index);
  const syntax = syntaxOf(options);
  const lists = new StoredTexts(source);
  const query = queryOf(request.query, {index, syntax, source: lists, effort});
  const resolved = resolveQuery(query, {
    source: lists,
    similarity: similarityOf(options),
    effort,
    fieldCount: options.fields.length,
    positions: options.positions,
  });
  const {k, accept} = request;
  return searchText({query: resolved, source: lists, k, effort, accept});
}

function queryOf(
  asked: TextRequest['query'],
  {
    index,
    syntax,
    source,
    effort,
  }: {
    readonly index: IndexDefinition;
    readonly syntax: QuerySyntax;
    readonly source: TextSource;
    readonly effort: Effort;
  },
): TextQuery {
  if ('text' in asked) {
    return parseQuery(asked.text, {...syntax, asked: fieldsAsked(syntax, asked.fields)});
  }
  if ('words' in asked) return wordsQuery(asked.words, syntax);
  const fields = termFrequencies(index, asked.texts).map((frequencies, at) => {
    return {frequencies, boost: syntax.fields[at]?.boost ?? 1};
  });
  return likeQuery(fields, asked.like, {source, effort});
}

/** A text with what was looked for marked; undefined where it has no such word. */
export type TextMarker = (text: string, options: MarkOptions) => string | undefined;

/**
 * Marks what a query looks for in texts of one property of an index.
 *
 * Making the marker costs a reading of the query, its use the analysis of the text.
 *
 * @throws {Refusal} `search.syntax`; `argument` for a property that the index is not on.
 */
export function textMarker(index: IndexDefinition, query: string, property: string): TextMarker {
  const options = textOptionsOf(index);
  const field = options.fields.findIndex(({name}) => name === property);
  const found = options.fields[field];
  if (found === undefined) {
    const names = options.fields.map(({name}) => name).join(', ');
    throw new Refusal('argument', `Index '${index.name}' is on ${names}, not on '${property}'`);
  }
  const test = lookedForTest(parseQuery(query, syntaxOf(options)), field);
  const stops = options.stopWords && new Set(options.stopWords);
  const analyzer = analyzerOf(found.indexAnalyzer, stops);
  return (text, wish) => {
    const places = markedPlaces(text, analyzer, test);
    return places.length === 0 ? undefined : markedText(text, places, wish);
  };
}

function fieldsAsked(
  {fields}: QuerySyntax,
  names: readonly string[] | undefined,
): readonly number[] | undefined {
  if (names === undefined) return undefined;
  const asked = [...fields.keys()].filter(at => names.includes(fields[at]?.name ?? ''));
  return asked.length === fields.length ? undefined : asked;
}

function similarityOf({similarity, k1, b}: TextOptions): Similarity {
  return {name: similarity, k1, b};
}

function syntaxOf(options: TextOptions): QuerySyntax {
  const stops = options.stopWords && new Set(options.stopWords);
  return {
    fields: options.fields.map(({name, boost, queryAnalyzer}) => {
      return {name, boost, analyzer: analyzerOf(queryAnalyzer, stops)};
    }),
    defaultOperator: options.defaultOperator,
    allowLeadingWildcard: options.allowLeadingWildcard,
    positions: options.positions,
  };
}

class StoredTexts implements TextSource {
  readonly #source: SearchSource<KeptLists>;
  readonly #lists: EntryLists<PostingList>;
  readonly #statistics = new Map<number, FieldStatistics>();
  readonly #values = new PostingReader();

  constructor(source: SearchSource<KeptLists>) {
    this.#source = source;
    this.#lists = new EntryLists(source.reader, source.kept, postingLists, source.effort);
  }

  statistics(field: number): FieldStatistics {
    let found = this.#statistics.get(field);
    if (found === undefined) {
      const {count, frequencySum} = this.postings(field, '');
      found = {documents: count, terms: frequencySum};
      this.#statistics.set(field, found);
    }
    return found;
  }

  postings(field: number, term: string): PostingList {
    return this.#lists.list(this.#prefix(field, term));
  }

  *terms(field: number, prefix: string): Iterable<string> {
    const known = this.#keptTerms(field);
    if (known !== undefined) {
      for (let at = firstAtOrBehind(known, prefix); at < known.length; at += 1) {
        const term = known[at] as string;
        if (!term.startsWith(prefix)) return;
        yield term;
      }
      return;
    }
    const found: string[] = [];
    const end = keyAfterPrefix(this.#start(field, prefix));
    let term = this.#readTerm(this.#start(field, prefix), end);
    // The empty term is none, and what ends it is less than what any other begins with.
    if (term === '') term = this.#readTerm(Uint8Array.of(...this.#start(field, ''), 1), end);
    while (term !== undefined) {
      found.push(term);
      yield term;
      term = this.#readTerm(Uint8Array.of(...this.#start(field, term), 1), end);
    }
    if (prefix === '') this.#source.kept?.keepTerms(this.#nameOfTerms(field), found);
  }

  termFrom(field: number, from: string): string | undefined {
    const known = this.#keptTerms(field);
    if (known !== undefined) return known[firstAtOrBehind(known, from)];
    const start = from === '' ? Uint8Array.of(...this.#start(field, ''), 1) : undefined;
    return this.#readTerm(
      start ?? this.#start(field, from),
      keyAfterPrefix(this.#start(field, '')),
    );
  }

  #keptTerms(field: number): readonly string[] | undefined {
    return this.#source.kept?.findTerms(this.#nameOfTerms(field));
  }

  #nameOfTerms(field: number): string {
    return Buffer.from(this.#start(field, '')).toString('latin1');
  }

  /** What the keys of all terms begin with that begin so. */
  #start(field: number, term: string): Uint8Array {
    const {index} = this.#source;
    return listPrefix(out => appendTermStart(out, {indexId: index.id, field, term}));
  }

  /** The first term with a key from `start` on, however many records the ones before it have. */
  #readTerm(start: Uint8Array, end: Uint8Array): string | undefined {
    const {reader, effort} = this.#source;
    effort.spend(16);
    const walker = new RowWalker(reader, [{start, end}], {
      keysOnly: true,
      rowsMax: 1,
      bufferBytes: 1 << 10,
    });
    try {
      if (!walker.next()) return undefined;
      return termOfEntry(walker.bytes, walker.keyStart, walker.keyEnd);
    } finally {
      walker.close();
    }
  }

  positions(field: number, term: string, {bucket, position}: PostingPlace): readonly number[] {
    const key = entryKey(this.#prefix(field, term), bucket, position);
    const value = this.#source.reader.get(key);
    const positions: number[] = [];
    if (value === undefined) return positions;
    this.#values.move(value, 0, value.length);
    this.#values.varint();
    this.#values.byte();
    for (let last = 0; !this.#values.isAtEnd; positions.push(last)) last += this.#values.varint();
    return positions;
  }

  #prefix(field: number, term: string): Uint8Array {
    const {index} = this.#source;
    return listPrefix(out => appendTermPrefix(out, {indexId: index.id, field, term}));
  }
}

/** Terms are in the order of their UTF-8 bytes. */
function firstAtOrBehind(terms: readonly string[], prefix: string): number {
  let [low, high] = [0, terms.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareText(terms[middle] as string, prefix) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

const postingLists: ListKind<PostingList> = {
  builder() {
    const builder = new PostingListBuilder();
    const value = new PostingReader();
    return {
      add({bucket, position}, bytes, start, end) {
        value.move(bytes, start, end);
        builder.add(bucket, position, value.varint(), value.byte());
      },
      finish: () => builder.finish(),
    };
  },
  changed: (list, changed) => list.changed(changed.map(postingOf)),
  isOne: (list): list is PostingList => list instanceof PostingList,
};

function postingOf({bucket, position, value}: ChangedEntry): {
  readonly bucket: number;
  readonly position: number;
  readonly posting: {readonly frequency: number; readonly norm: number} | undefined;
} {
  if (value === undefined) return {bucket, position, posting: undefined};
  const reader = new PostingReader();
  reader.move(value, 0, value.length);
  return {bucket, position, posting: {frequency: reader.varint(), norm: reader.byte()}};
}
