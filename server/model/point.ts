/**
 * What a point says of itself: its coordinates by name and the system they are of.
 *
 * A point is of one of four systems. On the earth its coordinates are longitude, latitude and
 * perhaps a height; everywhere they are x, y and z. The same parts are what a point is as JSON.
 */
import {makeDouble} from './number.ts';
import type {MapValue, PointValue, Value} from './value.ts';

/** A system of coordinates. */
export interface PointSystem {
  readonly srid: number;
  readonly name: string;
  readonly isGeographic: boolean;
  readonly size: 2 | 3;
}

export const pointSystems: readonly PointSystem[] = [
  {srid: 7203, name: 'cartesian', isGeographic: false, size: 2},
  {srid: 9157, name: 'cartesian-3D', isGeographic: false, size: 3},
  {srid: 4326, name: 'WGS-84', isGeographic: true, size: 2},
  {srid: 4979, name: 'WGS-84-3D', isGeographic: true, size: 3},
];

/** The system of a point; undefined only for bytes of another build. */
export function systemOfPoint({srid}: PointValue): PointSystem | undefined {
  return pointSystems.find(system => system.srid === srid);
}

/** The parts by name, coordinates first. */
export function pointParts(point: PointValue): MapValue {
  const system = systemOfPoint(point);
  const [x = 0, y = 0, z] = point.coordinates.map(makeDouble);
  const parts = new Map<string, Value>();
  if (system?.isGeographic === true) parts.set('longitude', x).set('latitude', y);
  parts.set('x', x).set('y', y);
  if (z !== undefined) parts.set('z', z);
  if (z !== undefined && system?.isGeographic === true) parts.set('height', z);
  return parts.set('crs', system?.name ?? null).set('srid', point.srid);
}
