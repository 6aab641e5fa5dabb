/** The nearest records of a vector index, dense or sparse, that pass a condition. */
import {ExpressionPrinter} from '#server/languages/sql/printer.ts';
import {parseLoneExpression} from '#server/languages/sql/parser.ts';
import {Refusal} from '#server/base/errors.ts';
import type {IndexDefinition} from '#server/catalog/definition.ts';
import {scoringOf} from '#server/catalog/vector-options.ts';
import {Double, type Value} from '#server/model/value.ts';
import {refuseArgument, type VectorArguments, vectorArguments} from './search-arguments.ts';
import {type SearchCall, searchRows} from './search-rows.ts';
import {vectorIndex} from './search-targets.ts';

/** More are looked at than asked for where there is a condition. */
const candidatesPerRecord = 8;
const candidatesMax = 8_000;

export async function searchVectors(call: SearchCall): Promise<string> {
  const asked = vectorArguments(call.given);
  const {index} = vectorIndex(call.service.schemaOf(call.principal, call.database), asked);
  const candidateLimit = candidatesOf(asked, asked.k);
  const source = vectorSource(index, asked, candidateLimit);
  const measure = measureOf(index);
  const {rows, count} = await searchRows(
    call,
    `SELECT @rid AS rid, record AS properties, ${measure} FROM (${source.text}) LIMIT :limit`,
    [...source.parameters, ['limit', asked.k]],
  );
  const head = {
    indexName: index.name,
    sparse: asked.sparse,
    scoring: scoringOf(index),
    candidateLimit,
    truncated: count === asked.k,
    count,
  };
  return `${JSON.stringify(head).slice(0, -1)},"results":[${rows}]}`;
}

/** How many records are looked at for `k` of them. */
export function candidatesOf({filter}: VectorArguments, k: number): number {
  return filter === undefined ? k : Math.min(k * candidatesPerRecord, candidatesMax);
}

export function measureOf({kind}: IndexDefinition): 'distance' | 'score' {
  return kind === 'sparse' ? 'score' : 'distance';
}

interface Source {
  readonly text: string;
  readonly parameters: readonly (readonly [string, Value])[];
}

/** The rows of the search, best first, those that pass the condition. */
export function vectorSource(
  index: IndexDefinition,
  {indexName, queryVector, queryIndices, efSearch, filter}: VectorArguments,
  candidates: number,
): Source {
  const numbers = queryVector.map(number => new Double(number));
  const common: readonly (readonly [string, Value])[] = [
    ['index', indexName],
    ['vector', numbers],
    ['candidates', candidates],
  ];
  const where = filter === undefined ? '' : ` WHERE (${conditionText(filter)})`;
  if (index.kind === 'sparse') {
    const indices = queryIndices ?? queryVector.map((_weight, at) => at);
    const text = 'SELECT expand(vector.sparseNeighbors(:index, :indices, :vector, :candidates))';
    return {
      text: `SELECT FROM (${text})${where}`,
      parameters: [...common, ['indices', [...indices]]],
    };
  }
  const options = new Map<string, Value>(efSearch === undefined ? [] : [['efSearch', efSearch]]);
  const text = 'SELECT expand(vector.neighbors(:index, :vector, :candidates, :options))';
  return {text: `SELECT FROM (${text})${where}`, parameters: [...common, ['options', options]]};
}

/** Prints what a condition may hold: expressions, and queries in brackets. */
const printer = new ExpressionPrinter(({kind}) => {
  throw new Refusal('argument', `a statement of the kind '${kind}' stands in it`);
});

/** The condition as it was understood, so that no text leaves its brackets. */
function conditionText(filter: string): string {
  try {
    return printer.print(parseLoneExpression(filter));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return refuseArgument(`Invalid vector search or filter expression: ${error.message}`);
  }
}
