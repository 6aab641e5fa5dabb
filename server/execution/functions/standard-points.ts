/**
 * `std.point*`: places on a plane, in space and on the earth.
 *
 * A point is of one of four systems: cartesian (srid 7203, with a third coordinate 9157) and WGS 84
 * (4326, with a height 4979; longitude first). Between points of different systems there is no
 * distance. Distances are in the unit of the coordinates, or in metres along a sphere.
 */
import {isNumberValue, makeDouble, numberOf} from '#server/model/number.ts';
import {type PointSystem, pointSystems, systemOfPoint} from '#server/model/point.ts';
import {PointValue, type Value} from '#server/model/value.ts';
import type {CallContext} from '../context.ts';
import {mapOf} from '../expressions/access.ts';
import {describe} from '../expressions/arithmetic.ts';
import {typeError} from '../expressions/strict-operators.ts';
import type {FunctionFamily} from '../function-registry.ts';

/** Metres; the equator's. */
const earthRadius = 6_378_140;

function pointOf(value: Value, {graph}: CallContext): Value {
  if (value instanceof PointValue) return value;
  const map = mapOf(value, graph);
  if (map === undefined) throw typeError(`a map is needed for a point, not ${describe(value)}`);
  const isGeographic = map.has('longitude') || map.has('latitude');
  const names = isGeographic ? ['longitude', 'latitude'] : ['x', 'y'];
  const third = map.has('height') ? 'height' : 'z';
  const wanted = map.has(third) ? [...names, third] : names;
  const values = wanted.map(name => map.get(name) ?? null);
  if (values.includes(null)) {
    if (wanted.every(name => map.has(name))) return null;
    throw typeError(`a point needs ${names.join(' and ')}`, 'InvalidArgumentValue');
  }
  const coordinates = values.map((coordinate, at) => {
    if (isNumberValue(coordinate)) return numberOf(coordinate);
    throw typeError(`the ${wanted[at]} of a point is a number, not ${describe(coordinate)}`);
  });
  const {srid, isGeographic: isOnEarth} = systemOf(map, isGeographic, coordinates.length);
  return new PointValue(srid, isOnEarth ? onEarth(coordinates) : coordinates);
}

/** The system named by `crs` or `srid`, which must fit the coordinates; else what they say. */
function systemOf(
  map: ReadonlyMap<string, Value>,
  isGeographic: boolean,
  size: number,
): PointSystem {
  const crs = map.get('crs') ?? null;
  const srid = map.get('srid') ?? null;
  const name = typeof crs === 'string' ? crs.toLowerCase() : undefined;
  const found = pointSystems.find(system => {
    if (name !== undefined) return system.name.toLowerCase() === name && system.size === size;
    if (srid !== null) return system.srid === srid && system.size === size;
    return system.isGeographic === isGeographic && system.size === size;
  });
  if (found !== undefined && (found.isGeographic || !isGeographic)) return found;
  const asked = describe(name === undefined ? srid : crs);
  const known = pointSystems.map(system => `${system.name} (${system.srid})`).join(', ');
  throw typeError(
    `${asked} is no system for a point of ${size} such coordinates: ${known}`,
    'InvalidArgumentValue',
  );
}

/** Longitude once around at most, latitude between the poles. */
function onEarth([longitude = 0, latitude = 0, ...height]: readonly number[]): readonly number[] {
  if (!(Math.abs(latitude) <= 90)) {
    throw typeError(`a latitude is from -90 to 90, not ${latitude}`, 'InvalidArgumentValue');
  }
  const turned =
    Math.abs(longitude) <= 180 ? longitude : ((((longitude + 180) % 360) + 360) % 360) - 180;
  return [turned, latitude, ...height];
}

function isOnEarth(point: PointValue): boolean {
  return systemOfPoint(point)?.isGeographic === true;
}

/** Undefined unless all are points of one system. */
function pointsOf(values: readonly Value[]): readonly PointValue[] | undefined {
  const points = values.filter(value => value instanceof PointValue);
  const isOne = points.length === values.length && new Set(points.map(p => p.srid)).size === 1;
  return isOne ? points : undefined;
}

function distance(values: readonly Value[]): Value {
  const [from, to] = pointsOf(values) ?? [];
  if (from === undefined || to === undefined) return null;
  const apart = isOnEarth(from) ? alongEarth(from, to) : straight(from, to);
  return makeDouble(apart);
}

function straight(from: PointValue, to: PointValue): number {
  return Math.hypot(...from.coordinates.map((value, at) => value - (to.coordinates[at] ?? 0)));
}

/** Along the great circle at the mean height, and straight up the difference of heights. */
function alongEarth(from: PointValue, to: PointValue): number {
  const [[fromLong = 0, fromLat = 0], [toLong = 0, toLat = 0]] = [from, to].map(point =>
    point.coordinates.slice(0, 2).map(degrees => (degrees * Math.PI) / 180),
  ) as [number[], number[]];
  const [fromHeight = 0, toHeight = 0] = [from, to].map(point => point.coordinates[2] ?? 0);
  const half =
    Math.sin((toLat - fromLat) / 2) ** 2 +
    Math.cos(fromLat) * Math.cos(toLat) * Math.sin((toLong - fromLong) / 2) ** 2;
  const angle = 2 * Math.asin(Math.min(1, Math.sqrt(half)));
  return Math.hypot(angle * (earthRadius + (fromHeight + toHeight) / 2), toHeight - fromHeight);
}

/** Whether a point lies in the box; a box on the earth may cross the 180th meridian. */
function withinBox(values: readonly Value[]): Value {
  const [point, low, high] = pointsOf(values) ?? [];
  if (point === undefined || low === undefined || high === undefined) return null;
  return point.coordinates.every((value, at) => {
    const [least, most] = [low.coordinates[at] ?? 0, high.coordinates[at] ?? 0];
    const crosses = at === 0 && isOnEarth(point) && least > most;
    return crosses ? value >= least || value <= most : value >= least && value <= most;
  });
}

export const standardPoints: FunctionFamily = {
  scalars: {
    'std.point': ([value = null], call) => pointOf(value, call),
    'std.point.distance': distance,
    'std.point.withinBBox': withinBox,
  },
};
