/**
 * The formats of imports, told by their first bytes and not by the names of files.
 * Source: docs/import-export.md.
 */
import {Refusal} from '#server/base/errors.ts';
import type {DeclaredTypes, ExchangedItem} from './exchanged-record.ts';
import type {ImportOptions} from './import-options.ts';
import {readCsv} from './readers/csv.ts';
import {readGraphml} from './readers/graphml.ts';
import {readGraphson} from './readers/graphson.ts';
import {readJson} from './readers/json.ts';
import {readJsonLines} from './readers/jsonl.ts';
import {readRdf} from './readers/rdf.ts';
import {isOfVectors, readVectors} from './readers/vectors.ts';
import {readXml} from './readers/xml.ts';

type Read = (
  bytes: AsyncIterable<Buffer>,
  options: ImportOptions,
  declared: DeclaredTypes,
) => AsyncIterable<ExchangedItem>;

const readers = {
  jsonl: readJsonLines,
  json: readJson,
  csv: readCsv,
  graphml: readGraphml,
  graphson: readGraphson,
  rdf: readRdf,
  vectors: readVectors,
  xml: readXml,
} as const satisfies Record<string, Read>;

export type Format = keyof typeof readers;

const formats = Object.keys(readers) as readonly Format[];
/** How much of a source is looked at. */
export const sampleBytes = 64 << 10;

export function readerOf(format: Format): Read {
  return readers[format];
}

const plainFormats: readonly Format[] = ['csv', 'json', 'jsonl', 'xml'];
/** The formats that some options are for; the others are for all. */
const formatsOfOptions: ReadonlyMap<string, readonly Format[]> = new Map([
  ...['delimiter', 'header', 'skipEntries', 'maxProperties', 'maxPropertySize', 'trimText'].map(
    name => [name, ['csv']] as const,
  ),
  ...['mapping', 'propertiesInclude', 'edgeFromField', 'edgeToField'].map(
    name => [name, plainFormats] as const,
  ),
  ['rows', [...plainFormats, 'vectors']],
  ...['vectorProperty', 'distanceFunction', 'm', 'efConstruction', 'ef'].map(
    name => [name, ['vectors']] as const,
  ),
]);

/** @throws {Refusal} `argument` for an option that would have no effect on the format. */
export function checkOptions(format: Format, {given, rows}: ImportOptions): void {
  for (const name of given) {
    const known = formatsOfOptions.get(name);
    if (known === undefined || known.includes(format)) continue;
    throw new Refusal(
      'argument',
      `the option '${name}' is for ${known.join(', ')} and the file is ${format}: leave it out`,
      {detail: {name}},
    );
  }
  if (format === 'vectors' && rows === 'edge') {
    throw new Refusal('argument', "the option 'rows' must be document or vertex for word vectors");
  }
}

/** @throws {Refusal} `argument` for a format that is none; `source.malformed` for what none is. */
export function formatOf(sample: string, {format, delimiter}: ImportOptions): Format {
  if (format !== undefined) {
    const found = formats.find(known => known === format.toLowerCase());
    if (found !== undefined) return found;
    throw new Refusal(
      'argument',
      `there is no format '${format}': ${formats.join(', ')} are known`,
    );
  }
  const text = sample.replace(/^\ufeff/, '').trimStart();
  if (isRdf(text)) return 'rdf';
  if (text.startsWith('<')) return markupFormat(text);
  if (text.startsWith('[')) return 'json';
  if (text.startsWith('{')) return objectFormat(text);
  const [line = ''] = text.split(/\r?\n/, 1);
  if (isOfVectors(line)) return 'vectors';
  if (line.includes(delimiter) || /^[\w "'.-]+$/.test(line)) return 'csv';
  throw new Refusal(
    'source.malformed',
    `the format cannot be told from '${line.slice(0, 40)}': name it by the option format`,
  );
}

function isRdf(text: string): boolean {
  const behind = text.replace(/^(?:#[^\n]*\n\s*)*/, '');
  if (/^(?:@prefix|@base|prefix\s|base\s)/i.test(behind)) return true;
  return /^(?:<[^<>\s"{}|^`\\]+>|_:\S+)\s+<[^<>\s]+>\s/.test(behind);
}

function markupFormat(text: string): Format {
  if (/<graphml[\s>]/.test(text)) return 'graphml';
  if (/<rdf:RDF[\s>]/.test(text)) {
    throw new Refusal('not-available', 'RDF/XML is not read: convert it to N-Triples or Turtle');
  }
  return 'xml';
}

function objectFormat(text: string): Format {
  const [line = ''] = text.split('\n', 1);
  try {
    const first = JSON.parse(line) as Readonly<Record<string, unknown>>;
    if ('vertices' in first || ('info' in first && 'records' in first)) return 'json';
    const isGraphson = 'label' in first && 'id' in first && !('type' in first);
    return isGraphson ? 'graphson' : 'jsonl';
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // The first line is longer than the sample, or the document goes over several lines.
    return line.length >= text.length && text.length > sampleBytes / 2 && !/"records"/.test(text)
      ? 'jsonl'
      : 'json';
  }
}
