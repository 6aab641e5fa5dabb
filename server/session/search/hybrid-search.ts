/**
 * Hybrid search: a vector leg, a full-text leg and an expansion over edges, fused into one ranking.
 *
 * Each leg looks for more than is asked, so that what is good in two legs is met in both. The legs
 * are statements of their own; fusion is `vector.fuse`, of the legs that have found anything, when
 * these are at least two. A record that is gone when the answer is put together is left out.
 */
import type {Catalog} from '#server/catalog/catalog.ts';
import type {IndexDefinition} from '#server/catalog/definition.ts';
import {Double, type Value} from '#server/model/value.ts';
import {expandSeeds, type Expansion} from './expansion.ts';
import {
  type HybridArguments,
  hybridArguments,
  type LegName,
  refuseArgument,
} from './search-arguments.ts';
import {idOf, quotedName, type SearchCall, searchRows} from './search-rows.ts';
import {scoringOf, similarityOf, textIndex, vectorIndex} from './search-targets.ts';
import {candidatesOf, measureOf, vectorSource} from './vector-search.ts';

/** Records of a leg for each that is asked for. */
const overFetch = 4;
const legMax = 1_000;

/** A record of a leg and what it scores there: a distance, or a score. */
interface LegRow {
  readonly rid: string;
  readonly value: number;
}

interface Leg {
  readonly name: LegName;
  readonly measure: 'distance' | 'score';
  readonly rows: readonly LegRow[];
}

export async function searchHybrid(call: SearchCall): Promise<string> {
  const asked = hybridArguments(call.given);
  const catalog = call.service.schemaOf(call.principal, call.database);
  const index = vectorIndex(catalog, asked);
  const texts = asked.fulltext && textIndex(catalog, textTarget(asked.fulltext.indexName));
  if (asked.expand !== undefined) requireVertices(catalog, index);
  const vector = await vectorLeg(call, index, asked);
  const fulltext = texts && (await textLeg(call, catalog, texts, asked));
  const expansion =
    asked.expand &&
    (await expandSeeds(call, catalog, asked.expand, interleaved(vector.rows, fulltext?.rows)));
  const legs = [vector, ...(fulltext ? [fulltext] : []), ...(expansion ? [legOf(expansion)] : [])];
  const sources = legs.filter(({rows}) => rows.length > 0);
  const isFused = sources.length > 1;
  const ranked = isFused ? await fused(call, sources, asked) : (sources[0]?.rows ?? []);
  const results = await resultsOf(call, ranked.slice(0, asked.k), {
    legs,
    expansion,
    measure: isFused ? 'fusedScore' : (sources[0]?.measure ?? 'score'),
  });
  const head = {
    vectorIndexName: index.name,
    sparse: asked.sparse,
    scoring: scoringOf(index),
    legs: {
      vector: {count: vector.rows.length},
      ...(texts && {
        fulltext: {
          indexName: texts.name,
          similarity: similarityOf(texts),
          count: fulltext?.rows.length ?? 0,
        },
      }),
      ...(expansion && {expand: expansion.summary}),
    },
    fused: isFused,
    ...(isFused && {fusionStrategy: asked.strategy}),
    ...(texts && {fulltextIndexName: texts.name}),
    truncated: results.length === asked.k,
    count: results.length,
  };
  return `${JSON.stringify(head).slice(0, -1)},"results":[${results.join(',')}]}`;
}

function textTarget(indexName: string): Parameters<typeof textIndex>[1] {
  return {indexName, typeName: undefined, properties: undefined};
}

function requireVertices(catalog: Catalog, {typeId}: IndexDefinition): void {
  const type = catalog.typeById(typeId);
  if (type?.kind === 'vertex') return;
  refuseArgument(`'expand' follows edges, and type '${type?.name ?? ''}' is no vertex type`);
}

async function vectorLeg(
  call: SearchCall,
  index: IndexDefinition,
  asked: HybridArguments,
): Promise<Leg> {
  const wanted = Math.min(asked.k * overFetch, legMax);
  const source = vectorSource(index, asked, candidatesOf(asked, wanted));
  const measure = measureOf(index);
  const {rows} = await searchRows(
    call,
    `SELECT @rid AS rid, ${measure} AS value FROM (${source.text}) LIMIT :limit`,
    [...source.parameters, ['limit', wanted]],
  );
  return {name: 'vector', measure, rows: JSON.parse(`[${rows}]`) as LegRow[]};
}

async function textLeg(
  call: SearchCall,
  catalog: Catalog,
  index: IndexDefinition,
  {fulltext, k}: HybridArguments,
): Promise<Leg> {
  const type = catalog.typeById(index.typeId)?.name ?? '';
  const {rows} = await searchRows(
    call,
    `SELECT @rid AS rid, $score AS value FROM \`${type}\` ` +
      `WHERE SEARCH_INDEX(${quotedName(index.name)}, :query) = true ` +
      'ORDER BY $score DESC LIMIT :limit',
    [
      ['query', fulltext?.query ?? ''],
      ['limit', Math.min(k * overFetch, legMax)],
    ],
  );
  return {name: 'fulltext', measure: 'score', rows: JSON.parse(`[${rows}]`) as LegRow[]};
}

function legOf({rows}: Expansion): Leg {
  return {name: 'expand', measure: 'score', rows: rows.map(({rid}) => ({rid, value: 0}))};
}

/** From one leg and the other in turn, each record once. */
function interleaved(first: readonly LegRow[], second: readonly LegRow[] = []): readonly string[] {
  const seeds = new Set<string>();
  for (let at = 0; at < Math.max(first.length, second.length); at += 1) {
    for (const row of [first[at], second[at]]) if (row !== undefined) seeds.add(row.rid);
  }
  return [...seeds];
}

async function fused(
  call: SearchCall,
  sources: readonly Leg[],
  {strategy, weights}: HybridArguments,
): Promise<readonly LegRow[]> {
  const parameters = sources.map(({name, measure, rows}): readonly [string, Value] => {
    const list = rows.map(({rid, value}) => {
      const row = new Map<string, Value>([['@rid', idOf(rid)]]);
      if (name !== 'expand') row.set(measure, new Double(value));
      return row;
    });
    return [name, list];
  });
  const options = new Map<string, Value>([
    ['fusion', strategy],
    ['weights', sources.map(({name}) => new Double(weights.get(name) ?? 1))],
  ]);
  const names = sources.map(({name}) => `:${name}`).join(', ');
  const {rows} = await searchRows(
    call,
    `SELECT @rid AS rid, score AS value FROM (SELECT expand(vector.fuse(${names}, :options)))`,
    [...parameters, ['options', options]],
  );
  return JSON.parse(`[${rows}]`) as LegRow[];
}

interface Shown {
  readonly legs: readonly Leg[];
  readonly expansion: Expansion | undefined;
  readonly measure: 'fusedScore' | 'distance' | 'score';
}

/** A JSON object for each record that is still there. */
async function resultsOf(
  call: SearchCall,
  ranked: readonly LegRow[],
  {legs, expansion, measure}: Shown,
): Promise<readonly string[]> {
  if (ranked.length === 0) return [];
  const {rows} = await searchRows(call, 'SELECT @rid AS rid, @this AS properties FROM :rids', [
    ['rids', ranked.map(({rid}) => idOf(rid))],
  ]);
  const properties = propertiesByRid(rows);
  const members = legs.map(leg => ({name: leg.name, rids: new Set(leg.rows.map(({rid}) => rid))}));
  const met = new Map(expansion?.rows.map(row => [row.rid, row]));
  return ranked.flatMap(({rid, value}) => {
    const text = properties.get(rid);
    if (text === undefined) return [];
    const way = met.get(rid);
    const head = {
      rid,
      [measure]: value,
      sources: members.filter(({rids}) => rids.has(rid)).map(({name}) => name),
      ...(way && {depth: way.depth, path: way.path}),
    };
    return [`${JSON.stringify(head).slice(0, -1)},"properties":${text}}`];
  });
}

const rowHead = /\{"rid":"(#-?\d+:-?\d+)","properties":/gu;

/** The texts of the records as they came, so that no number in them is made another one. */
function propertiesByRid(rows: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const parsed = JSON.parse(`[${rows}]`) as {readonly rid: string}[];
  const heads = [...rows.matchAll(rowHead)];
  // A text within a record may look like the head of a row: then what was parsed is written anew.
  if (heads.length !== parsed.length) {
    for (const {rid, ...rest} of parsed) {
      found.set(rid, JSON.stringify((rest as {properties: unknown}).properties));
    }
    return found;
  }
  for (const [at, head] of heads.entries()) {
    const end = heads[at + 1]?.index ?? rows.length + 1;
    found.set(head[1] ?? '', rows.slice(head.index + head[0].length, end - 2));
  }
  return found;
}
