/**
 * Arguments of the searches by their names, checked before anything runs.
 *
 * Whoever asks, over HTTP or as an agent's tool, is refused with the same words. Keys that nobody
 * knows are ignored, as the recorded exchanges show.
 */
import type {Direction} from '#server/plan/node.ts';
import {Refusal} from '#server/base/errors.ts';
import {isNumberValue, numberOf} from '#server/model/number.ts';
import type {MapValue, Value} from '#server/model/value.ts';

export const countMax = 1_000;
const efSearchMax = 10_000;
const filterUnitsMax = 4_096;
const depthMax = 3;

export interface VectorArguments {
  readonly indexName: string;
  readonly queryVector: readonly number[];
  readonly queryIndices: readonly number[] | undefined;
  readonly k: number;
  readonly efSearch: number | undefined;
  readonly filter: string | undefined;
  readonly sparse: boolean;
}

export interface TextArguments {
  readonly queryText: string;
  readonly indexName: string | undefined;
  readonly typeName: string | undefined;
  readonly properties: readonly string[] | undefined;
  readonly limit: number;
}

export interface ExpandArguments {
  /** Undefined: all. */
  readonly edgeTypes: readonly string[] | undefined;
  readonly direction: Direction;
  readonly maxDepth: number;
}

export const strategies = ['RRF', 'DBSF', 'LINEAR'] as const;
export type Strategy = (typeof strategies)[number];
export const legNames = ['vector', 'fulltext', 'expand'] as const;
export type LegName = (typeof legNames)[number];

export interface HybridArguments extends VectorArguments {
  readonly fulltext: {readonly indexName: string; readonly query: string} | undefined;
  readonly expand: ExpandArguments | undefined;
  readonly strategy: Strategy;
  /** Holds the legs that are asked for. */
  readonly weights: ReadonlyMap<LegName, number>;
}

export function refuseArgument(message: string): never {
  throw new Refusal('argument', message);
}

export function vectorArguments(given: MapValue, indexKey = 'indexName'): VectorArguments {
  return {
    indexName: requiredText(given, indexKey),
    queryVector: numbers(given, 'queryVector') ?? refuseArgument("'queryVector' is required"),
    queryIndices: numbers(given, 'queryIndices'),
    k: whole(given, 'k', 1, countMax) ?? 10,
    efSearch: whole(given, 'efSearch', 1, efSearchMax),
    filter: filterOf(given),
    sparse: flag(given, 'sparse'),
  };
}

function filterOf(given: MapValue): string | undefined {
  const filter = text(given, 'filter');
  if (filter !== undefined && filter.length > filterUnitsMax) {
    refuseArgument(`'filter' has at most ${filterUnitsMax} characters`);
  }
  return filter === undefined || filter.trim() === '' ? undefined : filter;
}

export function textArguments(given: MapValue): TextArguments {
  const queryText = text(given, 'queryText');
  if (queryText === undefined || queryText.trim() === '') {
    refuseArgument(
      "'queryText' must not be blank. Provide at least one term, for example 'java' or " +
        "'+java -python'.",
    );
  }
  return {
    queryText,
    indexName: text(given, 'indexName'),
    typeName: text(given, 'typeName'),
    properties: texts(given, 'properties'),
    limit: whole(given, 'limit', 1, countMax) ?? 10,
  };
}

export function hybridArguments(given: MapValue): HybridArguments {
  const vector = vectorArguments(given, 'vectorIndexName');
  const fulltext = fulltextLeg(given);
  const expand = expandLeg(given);
  const strategy = strategyOf(given);
  const legs: readonly LegName[] = [
    'vector',
    ...(fulltext === undefined ? [] : (['fulltext'] as const)),
    ...(expand === undefined ? [] : (['expand'] as const)),
  ];
  if (expand !== undefined && strategy !== 'RRF') {
    refuseArgument(
      `fusionStrategy '${strategy}' needs a score on every row, which 'expand' does not give: ` +
        "use 'RRF' with 'expand'",
    );
  }
  return {...vector, fulltext, expand, strategy, weights: weightsOf(given, legs)};
}

function fulltextLeg(given: MapValue): HybridArguments['fulltext'] {
  const indexName = text(given, 'fulltextIndexName');
  const query = text(given, 'fulltextQuery');
  if (indexName === undefined && query === undefined) return undefined;
  if (indexName === undefined || query === undefined) {
    return refuseArgument(
      "'fulltextIndexName' and 'fulltextQuery' must be supplied together. Give both to add the " +
        'full-text leg, or neither to search without it.',
    );
  }
  if (query.trim() === '') refuseArgument("'fulltextQuery' must not be blank");
  return {indexName, query};
}

function expandLeg(given: MapValue): ExpandArguments | undefined {
  const expand = given.get('expand') ?? null;
  if (expand === null) return undefined;
  if (!(expand instanceof Map)) return refuseArgument("'expand' must be an object");
  const depth = numberAt(expand, 'maxDepth') ?? 1;
  if (!Number.isInteger(depth) || depth < 1 || depth > depthMax) {
    refuseArgument(`expand.maxDepth must be between 1 and ${depthMax}, got ${depth}`);
  }
  const direction = (text(expand, 'direction') ?? 'out').toLowerCase();
  if (direction !== 'out' && direction !== 'in' && direction !== 'both') {
    return refuseArgument(`expand.direction must be out, in or both, not '${direction}'`);
  }
  const edgeTypes = texts(expand, 'edgeTypes');
  return {edgeTypes: edgeTypes?.length === 0 ? undefined : edgeTypes, direction, maxDepth: depth};
}

function strategyOf(given: MapValue): Strategy {
  const word = (text(given, 'fusionStrategy') ?? 'RRF').toUpperCase();
  const strategy = strategies.find(one => one === word);
  if (strategy !== undefined) return strategy;
  return refuseArgument(`Unknown fusionStrategy '${word}'. Allowed: ${strategies.join(', ')}`);
}

const weightsUsual: Readonly<Record<LegName, number>> = {vector: 1, fulltext: 1, expand: 0.5};

function weightsOf(given: MapValue, legs: readonly LegName[]): ReadonlyMap<LegName, number> {
  const weights = new Map(legs.map(leg => [leg, weightsUsual[leg]]));
  const wished = given.get('weights') ?? null;
  if (wished === null) return weights;
  if (!(wished instanceof Map)) return refuseArgument("'weights' must be an object");
  for (const [key, value] of wished as MapValue) {
    const leg = legNames.find(one => one === key);
    if (leg === undefined) {
      return refuseArgument(`Unknown weights key '${key}'. Allowed: ${legNames.join(', ')}`);
    }
    if (!legs.includes(leg)) refuseArgument(`weights.${leg} is of a leg that is not requested`);
    const weight = isNumberValue(value) ? numberOf(value) : Number.NaN;
    if (!Number.isFinite(weight) || weight < 0) {
      refuseArgument(`weights.${leg} must be a number of 0 or more`);
    }
    weights.set(leg, weight);
  }
  return weights;
}

function requiredText(given: MapValue, key: string): string {
  const value = text(given, key);
  return value === undefined || value === '' ? refuseArgument(`'${key}' is required`) : value;
}

function text(given: MapValue, key: string): string | undefined {
  const value = given.get(key) ?? null;
  if (value === null) return undefined;
  return typeof value === 'string' ? value : refuseArgument(`'${key}' must be a text`);
}

function texts(given: MapValue, key: string): readonly string[] | undefined {
  const value = given.get(key) ?? null;
  if (value === null) return undefined;
  const isList = Array.isArray(value) && value.every(item => typeof item === 'string');
  return isList ? value : refuseArgument(`'${key}' must be a list of texts`);
}

function flag(given: MapValue, key: string): boolean {
  const value = given.get(key) ?? false;
  return typeof value === 'boolean' ? value : refuseArgument(`'${key}' must be true or false`);
}

function numberAt(given: MapValue, key: string): number | undefined {
  const value = given.get(key) ?? null;
  if (value === null) return undefined;
  return isNumberValue(value) ? numberOf(value) : refuseArgument(`'${key}' must be a number`);
}

function whole(given: MapValue, key: string, least: number, most: number): number | undefined {
  const value = numberAt(given, key);
  if (value === undefined) return undefined;
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  return refuseArgument(`'${key}' must be between ${least} and ${most}`);
}

function numbers(given: MapValue, key: string): readonly number[] | undefined {
  const value = given.get(key) ?? null;
  if (value === null) return undefined;
  if (!Array.isArray(value)) return refuseArgument(`'${key}' must be a list of numbers`);
  return (value as readonly Value[]).map((item, at) => {
    const number = isNumberValue(item) ? numberOf(item) : Number.NaN;
    if (Number.isFinite(number)) return number;
    return refuseArgument(`'${key}' must hold finite numbers, and [${at}] is none`);
  });
}
