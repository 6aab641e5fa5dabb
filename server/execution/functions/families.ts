/**
 * The families of functions that the server has; `../standard-functions.ts` makes a registry.
 *
 * A family is a plain record in a file of its own; this list is the only place that knows them
 * all. Invariant, held by a test: their names are those of `plan/function-table.ts`, less the
 * operators (which `expressions/` runs) and the names reserved for later work.
 */
import {procedures} from '../procedures/procedures.ts';
import {aggregates} from './aggregates.ts';
import {convertFunctions} from './convert-functions.ts';
import {dates} from './dates.ts';
import {generalFamily} from './general.ts';
import {graphViews} from './graph-views.ts';
import {hashing} from './hashing.ts';
import {hopFunctions} from './hops.ts';
import {listFunctions} from './list-functions.ts';
import {mapFunctions} from './map-functions.ts';
import {math} from './math.ts';
import {collectionMethods, transformMethod} from './methods-collections.ts';
import {conversionMethods} from './methods-conversion.ts';
import {textMethods} from './methods-text.ts';
import {type FunctionFamily, FunctionRegistry} from '../function-registry.ts';
import {schemaTableFunctions} from './schema-tables.ts';
import {pathFunctions} from './shortest-path.ts';
import {statistics} from './statistics.ts';
import {standardAggregates} from './standard-aggregates.ts';
import {standardPoints} from './standard-points.ts';
import {standardScalars} from './standard-scalars.ts';
import {standardTimes} from './standard-times.ts';
import {standardVectors} from './standard-vectors.ts';
import {standardValues} from './standard-values.ts';
import {textFunctions} from './text-functions.ts';
import {textProcedures} from './text-procedures.ts';
import {searches} from './searches.ts';
import {similarTexts} from './similar-texts.ts';
import {vectorAggregates} from './vectors/vector-aggregates.ts';
import {vectorEncodings} from './vectors/vector-encoding.ts';
import {vectorMeasures} from './vectors/vector-measures.ts';
import {vectorRanking} from './vectors/vector-ranking.ts';
import {vectorScores} from './vectors/vector-scores.ts';
import {vectorSearches} from './vectors/vector-searches.ts';
import {weightedPathFunctions} from './weighted-path.ts';

const plainFamilies: readonly FunctionFamily[] = [
  hopFunctions,
  pathFunctions,
  weightedPathFunctions,
  aggregates,
  statistics,
  generalFamily,
  dates,
  textMethods,
  conversionMethods,
  collectionMethods,
  hashing,
  searches,
  similarTexts,
  textProcedures,
  math,
  textFunctions,
  listFunctions,
  mapFunctions,
  convertFunctions,
  graphViews,
  schemaTableFunctions,
  ...procedures,
  standardValues,
  standardScalars,
  standardPoints,
  standardVectors,
  standardTimes,
  standardAggregates,
  vectorMeasures,
  vectorEncodings,
  vectorScores,
  vectorRanking,
  vectorSearches,
  vectorAggregates,
];

const plainFunctions = new FunctionRegistry(plainFamilies);

export const families: readonly FunctionFamily[] = [
  ...plainFamilies,
  // `transform` calls other methods by name.
  transformMethod(name => plainFunctions.scalar(name)),
];
