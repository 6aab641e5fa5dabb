/**
 * Hybrid search: a vector leg, a full-text leg and an expansion over edges, fused into one ranking.
 *
 * Each leg looks for more than is asked, so that what is good in two legs is met in both. All is
 * one statement, so legs, ways and records are of one moment: its variables hold the ids that each
 * leg has found, and `vector.fuse` reads the records of the answer alone. Where only one leg has
 * found anything, that leg is the answer, with scores of its own.
 */
import type {Catalog} from '#server/catalog/catalog.ts';
import type {ShownSchema} from '#server/catalog/shown-schema.ts';
import type {IndexDefinition} from '#server/catalog/definition.ts';
import {scoringOf} from '#server/catalog/vector-options.ts';
import {Double, type Value} from '#server/model/value.ts';
import {
  type Expansion,
  expansionOf,
  expansionVariables,
  seedsMax,
  type Step,
  stepNames,
} from './expansion.ts';
import {
  type HybridArguments,
  hybridArguments,
  type LegName,
  refuseArgument,
} from './search-arguments.ts';
import {quotedName, type SearchCall, searchRows} from './search-rows.ts';
import {similarityOf, textIndex, vectorIndex} from './search-targets.ts';
import {candidatesOf, measureOf, vectorSource} from './vector-search.ts';

/** Records of a leg for each that is asked for. */
const overFetch = 4;
const legMax = 1_000;

type Measure = 'distance' | 'score';
type Parameter = readonly [string, Value];

/** What a leg asks: a query whose rows have `rid` and what they score. */
interface Leg {
  readonly name: LegName;
  readonly measure: Measure;
  readonly text: string;
  readonly parameters: readonly Parameter[];
}

interface Found {
  readonly legs: ReadonlyMap<LegName, ReadonlySet<string>>;
  readonly expansion: Expansion | undefined;
  readonly results: readonly Ranked[];
}

/** A record of the answer: what it scores, and its properties as text. */
interface Ranked {
  readonly rid: string;
  readonly value: number;
  readonly properties: string;
}

export async function searchHybrid(call: SearchCall): Promise<string> {
  const asked = hybridArguments(call.given);
  const shown = call.service.schemaOf(call.principal, call.database);
  const {catalog} = shown;
  const {index} = vectorIndex(shown, asked);
  const texts = asked.fulltext && textIndex(shown, textTarget(asked.fulltext.indexName));
  if (asked.expand !== undefined) requireVertices(catalog, index);
  const legs = [vectorLeg(index, asked), ...(texts ? [textLeg(catalog, texts, asked)] : [])];
  const {legs: found, expansion, results} = await allOf(call, shown, legs, asked);
  const sources = [...found].filter(([, rids]) => rids.size > 0);
  const isFused = sources.length > 1;
  const lone = legs.find(({name}) => name === sources[0]?.[0]);
  const measure = isFused ? 'fusedScore' : (lone?.measure ?? 'score');
  const rows = results.map(({rid, value, properties}) => {
    const way = expansion?.rows.find(row => row.rid === rid);
    const head = {
      rid,
      [measure]: value,
      sources: sources.filter(([, rids]) => rids.has(rid)).map(([name]) => name),
      ...(way && {depth: way.depth, path: way.path}),
    };
    return `${JSON.stringify(head).slice(0, -1)},"properties":${properties}}`;
  });
  const head = {
    vectorIndexName: index.name,
    sparse: asked.sparse,
    scoring: scoringOf(index),
    legs: {
      vector: {count: found.get('vector')?.size ?? 0},
      ...(texts && {
        fulltext: {
          indexName: texts.name,
          similarity: similarityOf(texts),
          count: found.get('fulltext')?.size ?? 0,
        },
      }),
      ...(expansion && {expand: expansion.summary}),
    },
    fused: isFused,
    ...(isFused && {fusionStrategy: asked.strategy}),
    ...(texts && {fulltextIndexName: texts.name}),
    truncated: rows.length === asked.k,
    count: rows.length,
  };
  return `${JSON.stringify(head).slice(0, -1)},"results":[${rows.join(',')}]}`;
}

function textTarget(indexName: string): Parameters<typeof textIndex>[1] {
  return {indexName, typeName: undefined, properties: undefined};
}

function requireVertices(catalog: Catalog, {typeId}: IndexDefinition): void {
  const type = catalog.typeById(typeId);
  if (type?.kind === 'vertex') return;
  refuseArgument(`'expand' follows edges, and type '${type?.name ?? ''}' is no vertex type`);
}

function vectorLeg(index: IndexDefinition, asked: HybridArguments): Leg {
  const wanted = Math.min(asked.k * overFetch, legMax);
  const source = vectorSource(index, asked, candidatesOf(asked, wanted));
  const measure = measureOf(index);
  return {
    name: 'vector',
    measure,
    text: `SELECT @rid AS rid, ${measure} FROM (${source.text}) LIMIT ${wanted}`,
    parameters: source.parameters,
  };
}

function textLeg(catalog: Catalog, index: IndexDefinition, asked: HybridArguments): Leg {
  const type = catalog.typeById(index.typeId)?.name ?? '';
  return {
    name: 'fulltext',
    measure: 'score',
    text:
      `SELECT @rid AS rid, $score AS score FROM \`${type}\` ` +
      `WHERE SEARCH_INDEX(${quotedName(index.name)}, :query) = true ` +
      `ORDER BY $score DESC LIMIT ${Math.min(asked.k * overFetch, legMax)}`,
    parameters: [['query', asked.fulltext?.query ?? '']],
  };
}

/** Asks the one statement, and reads what its row says. */
async function allOf(
  call: SearchCall,
  shown: ShownSchema,
  legs: readonly Leg[],
  asked: HybridArguments,
): Promise<Found> {
  const {expand} = asked;
  const steps = expand ? stepNames(expand.maxDepth) : [];
  const names: readonly LegName[] = [...legs.map(({name}) => name), ...(expand ? expanded : [])];
  const lists = legs.map(({name}) => `$${name}`).join(', ');
  const variables = [
    ...legs.map(({name, text}) => `$${name} = (${text})`),
    ...(expand
      ? [
          `$met = vector.interleave(${lists}, ${seedsMax + 1})`,
          `$seeds = vector.interleave($met, ${seedsMax})`,
          ...expansionVariables(shown, expand),
        ]
      : []),
    `$best = (${bestText(names, asked)})`,
  ];
  const columns = [...legs.map(({name}) => name), ...(expand ? ['met'] : []), ...steps, 'best'];
  const {rows} = await searchRows(
    call,
    `SELECT ${columns.map(name => `$${name} AS ${name}`).join(', ')} LET ${variables.join(', ')}`,
    [
      ...legs.flatMap(({parameters}) => parameters),
      ['weights', names.map(name => new Double(asked.weights.get(name) ?? 1))],
      ['alike', names.map(() => new Double(1))],
    ],
  );
  return foundIn(rows, legs, asked);
}

const expanded: readonly LegName[] = ['expand'];

/**
 * The records of the answer; one leg alone needs no fusion. Where only one has found anything, its
 * ranks alone count, so that the first of the fusion are the first of that leg: scores made
 * comparable may be equal where its own are not, and with a weight of 0 all are.
 */
function bestText(names: readonly LegName[], {strategy, k}: HybridArguments): string {
  if (names.length === 1) {
    return `SELECT @rid AS rid, 0 AS value, @this AS properties FROM $${names[0]}.rid LIMIT ${k}`;
  }
  const found = names.map(name => `if($${name}.size() > 0, 1, 0)`).join(' + ');
  const either = (alone: string, fused: string): string => `if(${found} < 2, ${alone}, ${fused})`;
  const fusion = either(`'RRF'`, `'${strategy}'`);
  const weights = either(':alike', ':weights');
  const options = `{fusion: ${fusion}, weights: ${weights}, limit: ${k}}`;
  const fused = `vector.fuse(${names.map(name => `$${name}`).join(', ')}, ${options})`;
  return `SELECT @rid AS rid, score AS value, record AS properties FROM (SELECT expand(${fused}))`;
}

type LegRows = readonly (Readonly<Record<Measure, number>> & {readonly rid: string})[];

function foundIn(text: string, legs: readonly Leg[], {expand, k}: HybridArguments): Found {
  const row = JSON.parse(text) as Readonly<Record<string, unknown>>;
  const rows = new Map(legs.map(({name}) => [name, row[name] as LegRows]));
  const expansion =
    expand &&
    expansionOf(
      expand,
      row['met'] as readonly string[],
      stepNames(expand.maxDepth).map(name => row[name] as readonly Step[]),
    );
  const found = new Map<LegName, ReadonlySet<string>>();
  for (const [name, each] of rows) found.set(name, new Set(each.map(({rid}) => rid)));
  if (expansion) found.set('expand', new Set(expansion.rows.map(({rid}) => rid)));
  const best = bestOf(text, row['best'] as readonly BestRow[]);
  const lone = legs.filter(({name}) => (rows.get(name)?.length ?? 0) > 0);
  const [only] = lone;
  if (only === undefined || lone.length > 1 || (expansion?.rows.length ?? 0) > 0) {
    return {legs: found, expansion, results: best};
  }
  // What one leg has found keeps the order and the scores that it has there.
  const texts = new Map(best.map(({rid, properties}) => [rid, properties]));
  const results = (rows.get(only.name) ?? [])
    .slice(0, k)
    .flatMap(({rid, [only.measure]: value}) => {
      const properties = texts.get(rid);
      return properties === undefined ? [] : [{rid, value, properties}];
    });
  return {legs: found, expansion, results};
}

interface BestRow {
  readonly rid: string;
  readonly value: number;
  readonly properties: unknown;
}

const bestHead = '"best":[';
const rowHead = /\{"rid":"#-?\d+:-?\d+","value":[^,]+,"properties":/gu;

/** The texts of the records as they came, so that no number in them is made another one. */
function bestOf(text: string, parsed: readonly BestRow[]): readonly Ranked[] {
  const rows = text.slice(text.indexOf(bestHead) + bestHead.length, -2);
  const heads = [...rows.matchAll(rowHead)];
  return parsed.map(({rid, value, properties}, at) => {
    // A text within a record may look like the head of a row: then what was parsed is written anew.
    const head = heads.length === parsed.length ? heads[at] : undefined;
    if (head === undefined) return {rid, value, properties: JSON.stringify(properties)};
    const end = heads[at + 1]?.index ?? rows.length + 1;
    return {rid, value, properties: rows.slice(head.index + head[0].length, end - 2)};
  });
}
