/**
 * RDF in N-Triples and Turtle, read by `n3`: a subject becomes a vertex with its literals as
 * properties, a triple between two resources an edge.
 *
 * Types are named by what follows the last `/` or `#` of an IRI; the vertex keeps its own as `iri`.
 * Triples of one subject stand together, as serializers write them.
 */
import {Readable} from 'node:stream';
import {type Literal, type Quad, StreamParser, type Term} from 'n3';
import {reasonOf, Refusal} from '#server/base/errors.ts';
import {parseDecimal} from '#server/model/decimal.ts';
import {makeDouble} from '#server/model/number.ts';
import {parseDate, parseDateTime} from '#server/model/temporal.ts';
import type {Value} from '#server/model/value.ts';
import {type ExchangedItem, malformed} from '../exchanged-record.ts';
import type {ImportOptions} from '../import-options.ts';

const typeIri = 'http://www.w3.org/1999/02/22-rdf-syntax-ns#type';
const xsd = 'http://www.w3.org/2001/XMLSchema#';

export async function* readRdf(
  bytes: AsyncIterable<Buffer>,
  options: ImportOptions,
): AsyncGenerator<ExchangedItem> {
  const parser = Readable.from(bytes).pipe(new StreamParser());
  let subject: Term | undefined;
  let triples: Quad[] = [];
  let place = 0;
  try {
    for await (const quad of parser as AsyncIterable<Quad>) {
      place += 1;
      if (subject !== undefined && !quad.subject.equals(subject)) {
        yield* itemsOf(triples, options, place);
        triples = [];
      }
      subject = quad.subject;
      triples.push(quad);
    }
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw malformed(place + 1, reasonOf(error));
  }
  yield* itemsOf(triples, options, place);
}

function* itemsOf(
  triples: readonly Quad[],
  options: ImportOptions,
  place: number,
): Generator<ExchangedItem> {
  const [first] = triples;
  if (first === undefined) return;
  const id = nameOf(first.subject);
  const properties = new Map<string, Value>([['iri', id]]);
  const edges: ExchangedItem[] = [];
  let type: string | undefined;
  for (const {predicate, object} of triples) {
    const name = localName(predicate.value);
    if (object.termType === 'Literal') addTo(properties, name, literalValue(object));
    else if (predicate.value === typeIri) type ??= localName(object.value);
    else {
      const ends = {from: id, to: nameOf(object)};
      edges.push({kind: 'edge', type: name, ...ends, properties: new Map(), place});
    }
  }
  yield {kind: 'vertex', type: type ?? options.vertexType, id, properties, place};
  yield* edges;
}

/** Blank nodes have names of their own, which no IRI has. */
function nameOf(term: Term): string {
  return term.termType === 'BlankNode' ? `_:${term.value}` : term.value;
}

function localName(iri: string): string {
  const name = /([^/#]+)[/#]*$/.exec(iri)?.[1] ?? iri;
  return decodeURIComponentSafely(name).replaceAll('`', '');
}

function decodeURIComponentSafely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function addTo(properties: Map<string, Value>, name: string, value: Value): void {
  const before = properties.get(name);
  if (before === undefined) properties.set(name, value);
  else if (Array.isArray(before)) properties.set(name, [...(before as Value[]), value]);
  else properties.set(name, [before, value]);
}

function literalValue({value, datatype}: Literal): Value {
  const type = datatype.value.startsWith(xsd) ? datatype.value.slice(xsd.length) : '';
  switch (type) {
    case 'boolean':
      return value === 'true' || value === '1';
    case 'integer':
    case 'int':
    case 'long':
    case 'short':
    case 'byte':
    case 'nonNegativeInteger':
    case 'positiveInteger':
      return /^[+-]?\d{1,15}$/.test(value) ? Number(value) : (parseDecimal(value) ?? value);
    case 'double':
    case 'float':
      return Number.isNaN(Number(value)) ? value : makeDouble(Number(value));
    case 'decimal':
      return parseDecimal(value) ?? value;
    case 'date':
      return parseDate(value) ?? value;
    case 'dateTime':
      return parseDateTime(value, 'millisecond') ?? value;
    default:
      return value;
  }
}
