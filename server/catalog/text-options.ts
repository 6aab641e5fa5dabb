/**
 * Options of full-text indexes (docs/search.md); `positions` and `stopwords` are additions of Svc.
 *
 * Each field may have an analyzer and a boost of its own (`title_analyzer`, `title_boost`); texts
 * and queries may be analyzed differently (`index_analyzer`, `query_analyzer`). What each analyzer
 * does is in indexes/text/analyzer.ts; a class name of Lucene's
 * (`org.apache.lucene.analysis.en.EnglishAnalyzer`) is another spelling of the one that does the
 * same.
 */
import {Refusal} from '#server/base/errors.ts';
import {words} from '#server/base/words.ts';
import type {CatalogType} from './catalog-type.ts';
import type {IndexDefinition, IndexProperty} from './definition.ts';
import type {OptionRule, OptionTable} from './option-table/option-table.ts';

const ownAnalyzers = ['standard', 'simple', 'whitespace', 'keyword', 'stop'] as const;

/** Languages with a stemmer. */
export const languages = [
  ...words('arabic armenian bulgarian danish dutch english finnish french german greek hungarian'),
  ...words('indonesian irish italian lithuanian nepali norwegian portuguese romanian russian'),
  ...words('serbian spanish swedish tamil turkish'),
];

export type Language = (typeof languages)[number];
export type AnalyzerName = (typeof ownAnalyzers)[number] | Language;

export const analyzerNames: readonly AnalyzerName[] = [...ownAnalyzers, ...languages];

/** The analyzer that a name or a class name of Lucene's stands for; undefined where none is. */
export function parseAnalyzerName(spelling: string): AnalyzerName | undefined {
  const last = spelling.slice(spelling.lastIndexOf('.') + 1);
  const name = last.replace(/Analyzer$/u, '').toLowerCase();
  return analyzerNames.find(known => known === name);
}

const analyzer = {
  kind: 'text',
  default: undefined as string | undefined,
  read: parseAnalyzerName,
  known: analyzerNames,
} satisfies OptionRule;
const boost: OptionRule = {kind: 'number', default: 1, min: 0, max: 1_000_000};

export function textOptionTable(properties: readonly IndexProperty[]): OptionTable {
  const table = new Map<string, OptionRule>([
    ['analyzer', {...analyzer, default: 'standard'}],
    ['index_analyzer', analyzer],
    ['query_analyzer', analyzer],
    ['stopwords', {kind: 'texts', default: undefined}],
    ['allowLeadingWildcard', {kind: 'boolean', default: false}],
    ['defaultOperator', {kind: 'word', default: 'OR', words: ['OR', 'AND']}],
    ['similarity', {kind: 'word', default: 'BM25', words: ['BM25', 'CLASSIC']}],
    ['bm25_k1', {kind: 'number', default: 1.2, min: 0, max: 100}],
    ['bm25_b', {kind: 'number', default: 0.75, min: 0, max: 1}],
    ['positions', {kind: 'boolean', default: false}],
  ]);
  for (const {name} of properties) {
    table.set(`${name}_analyzer`, analyzer);
    table.set(`${name}_boost`, boost);
  }
  return table;
}

export interface TextField {
  readonly name: string;
  readonly boost: number;
  /** The analyzer of texts that are indexed. */
  readonly indexAnalyzer: AnalyzerName;
  /** The analyzer of queries. */
  readonly queryAnalyzer: AnalyzerName;
}

export type SimilarityName = 'BM25' | 'CLASSIC';

/** What the options say, with the defaults. */
export interface TextOptions {
  readonly fields: readonly TextField[];
  /** Stop words that replace those of the analyzers. */
  readonly stopWords: readonly string[] | undefined;
  readonly allowLeadingWildcard: boolean;
  readonly defaultOperator: 'AND' | 'OR';
  readonly similarity: SimilarityName;
  readonly k1: number;
  readonly b: number;
  readonly positions: boolean;
}

export function textOptionsOf({properties, options}: IndexDefinition): TextOptions {
  const option = (key: string): unknown => options?.get(key);
  const common = option('analyzer') as AnalyzerName | undefined;
  const indexed = option('index_analyzer') as AnalyzerName | undefined;
  const asked = option('query_analyzer') as AnalyzerName | undefined;
  return {
    fields: properties.map(({name}) => {
      const own = option(`${name}_analyzer`) as AnalyzerName | undefined;
      return {
        name,
        boost: (option(`${name}_boost`) as number | undefined) ?? 1,
        indexAnalyzer: own ?? indexed ?? common ?? 'standard',
        queryAnalyzer: own ?? asked ?? common ?? 'standard',
      };
    }),
    stopWords: option('stopwords') as readonly string[] | undefined,
    allowLeadingWildcard: option('allowLeadingWildcard') === true,
    defaultOperator: option('defaultOperator') === 'AND' ? 'AND' : 'OR',
    similarity: option('similarity') === 'CLASSIC' ? 'CLASSIC' : 'BM25',
    k1: (option('bm25_k1') as number | undefined) ?? 1.2,
    b: (option('bm25_b') as number | undefined) ?? 0.75,
    positions: option('positions') === true,
  };
}

const textTypes: ReadonlySet<string> = new Set(['STRING', 'ANY']);

/** Texts, and lists of texts BY ITEM. Of a property of any values those that are texts. */
export function textProperties(type: CatalogType, properties: readonly IndexProperty[]): void {
  for (const {name, by, ignoreCase} of properties) {
    if (ignoreCase) {
      throw new Refusal(
        'schema.conflict',
        'a FULL_TEXT index folds case by its analyzer: leave out COLLATE CI',
      );
    }
    const property = type.properties.get(name);
    const isText = by === undefined ? textTypes.has(property?.type ?? '') : by === 'item';
    if (isText) continue;
    throw new Refusal(
      'schema.conflict',
      `a FULL_TEXT index is on a STRING, or on a LIST BY ITEM, and '${name}' is neither`,
    );
  }
}
