/**
 * Names of functions of later work: geospatial data, time series.
 *
 * Binders know them, so that a statement which uses one is told that it is not there yet rather
 * than that it is misspelt. Source: docs/functions.md.
 */
import type {FunctionSignature} from '../functions.ts';
import {laterRow} from '../signature.ts';

const spatial =
  'point lineString polygon geomFromText buffer envelope area asText asGeoJson x y distance ' +
  'within intersects contains equals crosses overlaps touches disjoint dWithin';
const shapes = 'circle rectangle';
/** Names from before there was a prefix. */
const spatialAliases: Readonly<Record<string, readonly string[]>> = {
  point: ['point'],
  lineString: ['lineString'],
  polygon: ['polygon'],
};
const series =
  'timeBucket first last rate delta movingAvg interpolate percentile correlate lag lead rank ' +
  'rowNumber';

export const laterFunctions: readonly FunctionSignature[] = [
  ...spatial.split(' ').map(name => later(`geo.${name}`, 'geospatial data', spatialAliases[name])),
  ...shapes.split(' ').map(name => later(name, 'geospatial data')),
  ...series.split(' ').map(name => later(`ts.${name}`, 'time series')),
  later('promql', 'time series'),
];

function later(name: string, what: string, aliases?: readonly string[]): FunctionSignature {
  return laterRow(`${name}(arguments...)`, what, aliases);
}
