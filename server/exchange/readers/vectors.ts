/**
 * Words and their vectors as Word2Vec, GloVe and fastText write them as text: a word and its
 * numbers on each line, between blanks; a first line may count words and dimensions.
 *
 * A record of each has the word and the vector as properties. The index by which they are searched
 * is made with the type, in front of the records.
 */
import {printName} from '#server/languages/sql/printer.ts';
import {jsonText} from '#server/model/json.ts';
import type {Value} from '#server/model/value.ts';
import {type ExchangedItem, itemOrBad, malformed} from '../exchanged-record.ts';
import type {ImportOptions} from '../import-options.ts';
import {linesOf} from '../lines.ts';
import {typeOfRows} from '../plain-record.ts';

const wordPropertyDefault = 'name';
const dimensionsMax = 65_536;

export async function* readVectors(
  bytes: AsyncIterable<Buffer>,
  options: ImportOptions,
): AsyncGenerator<ExchangedItem> {
  let place = 0;
  let dimensions: number | undefined;
  for await (const line of linesOf(bytes)) {
    const at = ++place;
    const words = line.trim().split(/\s+/);
    if (words.length < 2) {
      if (line.trim() === '') continue;
      yield itemOrBad(() => {
        throw malformed(at, 'it has no numbers');
      }, at);
      continue;
    }
    if (dimensions === undefined) {
      const isHead = words.length === 2 && words.every(word => /^\d+$/.test(word));
      dimensions = isHead ? Number(words[1]) : words.length - 1;
      if (dimensions > dimensionsMax) throw malformed(at, `${dimensions} dimensions are too many`);
      yield* schemaOf(dimensions, options);
      if (isHead) continue;
    }
    const wanted = dimensions;
    yield itemOrBad(() => recordOf(words, wanted, options, at), at);
  }
}

/** Whether a text begins as such a file does. */
export function isOfVectors(line: string): boolean {
  return /^\d+ \d+\s*$/.test(line) || /^\S+( -?\d+\.\d+(e[+-]?\d+)?){2,}\s*$/i.test(line);
}

function recordOf(
  words: readonly string[],
  dimensions: number,
  options: ImportOptions,
  place: number,
): ExchangedItem {
  const numbers = words.length - dimensions;
  if (numbers < 1) {
    throw malformed(place, `it has ${words.length - 1} numbers, the first ones had ${dimensions}`);
  }
  // What stands in front of the numbers is the word, blanks in it included.
  const word = words.slice(0, numbers).join(' ');
  const vector = Float32Array.from(words.slice(numbers), Number);
  if (!vector.every(Number.isFinite)) throw malformed(place, 'a number of its vector is none');
  const properties = new Map<string, Value>([
    [options.idProperty ?? wordPropertyDefault, word],
    [options.vectors.property, vector],
  ]);
  const {rows} = options;
  const kind = rows === 'vertex' ? 'vertex' : 'document';
  return {kind, type: typeOfRows(options), id: word, properties, place};
}

function* schemaOf(dimensions: number, options: ImportOptions): Generator<ExchangedItem> {
  const {property, similarity, maxConnections, beamWidth, efSearch} = options.vectors;
  const name = typeOfRows(options);
  const word = options.idProperty ?? wordPropertyDefault;
  const type = printName(name);
  const given = Object.entries({maxConnections, beamWidth, efSearch});
  const metadata = new Map<string, Value>([
    ['dimensions', dimensions],
    ['similarity', similarity],
    ['idPropertyName', word],
    ...given.filter((entry): entry is [string, number] => entry[1] !== undefined),
  ]);
  const index = `${printName(`${name}[${property}]`)} IF NOT EXISTS ON ${type}`;
  for (const statement of [
    `CREATE ${options.rows === 'vertex' ? 'VERTEX' : 'DOCUMENT'} TYPE ${type} IF NOT EXISTS`,
    `CREATE PROPERTY ${type}.${printName(word)} IF NOT EXISTS STRING`,
    `CREATE PROPERTY ${type}.${printName(property)} IF NOT EXISTS ARRAY_OF_FLOATS`,
    `CREATE INDEX ${index} (${printName(property)}) LSM_VECTOR METADATA ${jsonText(metadata)}`,
  ]) {
    yield {kind: 'schema', statement, place: 1};
  }
}
