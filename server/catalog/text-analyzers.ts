/**
 * The names of the analyzers of full-text indexes; what each does is in indexes/text/analyzer.ts.
 *
 * A class name of Lucene's (`org.apache.lucene.analysis.en.EnglishAnalyzer`) is another spelling
 * of the analyzer that does the same.
 */
import {words} from '#server/base/words.ts';

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
