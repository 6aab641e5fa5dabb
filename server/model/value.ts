/**
 * What a property, a parameter or a row's cell can be, for every language.
 *
 * The representation keeps the two number worlds apart without boxing the common cases:
 * - an integer (BYTE, SHORT, INTEGER, LONG) is a JS number that is a safe integer, or a
 *   bigint outside of +-(2^53 - 1); always the number where it fits;
 * - a double is a JS number that is not an integer (NaN and infinities included), or a
 *   `Double` box when its value is integral (so 5.0 stays a double; -0 is `Double(-0)`).
 *   `makeDouble` and `numberOf` in `number.ts` are the only places that box and unbox;
 * - a decimal is `Decimal`. A FLOAT reads as the double whose text is the float's shortest.
 * Invariant: values are immutable; whoever holds one may share it.
 * A missing property is `undefined` where a reader can tell (`RecordValue.get`); expressions
 * turn it into null, except those that ask (IS DEFINED, later Mongo).
 */
export type Value =
  | null
  | boolean
  | number
  | bigint
  | string
  | Double
  | Decimal
  | Rid
  | DateValue
  | DateTimeValue
  | TimeValue
  | DurationValue
  | PointValue
  | Uint8Array
  | NumberArray
  | ListValue
  | MapValue
  | EmbeddedValue
  | RecordValue
  | PathValue;

/** ARRAY_OF_SHORTS, _INTEGERS, _LONGS, _FLOATS, _DOUBLES. */
export type NumberArray = Int16Array | Int32Array | BigInt64Array | Float32Array | Float64Array;
export type ListValue = readonly Value[];
/** MAP: insertion-ordered, string keys. */
export type MapValue = ReadonlyMap<string, Value>;

/** A double whose value is integral (see above). */
export class Double {
  readonly value: number;
  constructor(value: number) {
    this.value = value;
  }
}

/** unscaled * 10^-scale; scale >= 0. Equal numbers of different scale are equal. */
export class Decimal {
  readonly unscaled: bigint;
  readonly scale: number;
  constructor(unscaled: bigint, scale: number) {
    this.unscaled = unscaled;
    this.scale = scale;
  }
}

/** Record id `#bucket:position`; bucket < 2^32, position < 2^48; -1 for a light edge. */
export class Rid {
  readonly bucket: number;
  readonly position: number;
  constructor(bucket: number, position: number) {
    this.bucket = bucket;
    this.position = position;
  }
}

/** A calendar day: days since 1970-01-01 (proleptic Gregorian). */
export class DateValue {
  readonly epochDays: number;
  constructor(epochDays: number) {
    this.epochDays = epochDays;
  }
}

export type TimePrecision = 'second' | 'millisecond' | 'microsecond' | 'nanosecond';

/**
 * An instant or a local date-time. DATETIME* of SQL are instants in UTC without a zone
 * (`zone` undefined, `local` false); Cypher's LOCALDATETIME has `local` true; a zoned
 * DATETIME carries `offsetSeconds` and maybe a region name.
 */
export class DateTimeValue {
  readonly epochSeconds: number;
  readonly nanos: number;
  readonly precision: TimePrecision;
  readonly local: boolean;
  readonly zone: {readonly offsetSeconds: number; readonly region?: string} | undefined;
  constructor(
    epochSeconds: number,
    nanos: number,
    precision: TimePrecision,
    options: {
      readonly local?: boolean;
      readonly zone?: {readonly offsetSeconds: number; readonly region?: string};
    } = {},
  ) {
    this.epochSeconds = epochSeconds;
    this.nanos = nanos;
    this.precision = precision;
    this.local = options.local ?? false;
    this.zone = options.zone;
  }
}

/** TIME (with offset) and LOCALTIME (offset undefined). */
export class TimeValue {
  readonly secondOfDay: number;
  readonly nanos: number;
  readonly offsetSeconds: number | undefined;
  constructor(secondOfDay: number, nanos: number, offsetSeconds: number | undefined) {
    this.secondOfDay = secondOfDay;
    this.nanos = nanos;
    this.offsetSeconds = offsetSeconds;
  }
}

export class DurationValue {
  readonly months: number;
  readonly days: number;
  readonly seconds: number;
  readonly nanos: number;
  constructor(months: number, days: number, seconds: number, nanos: number) {
    this.months = months;
    this.days = days;
    this.seconds = seconds;
    this.nanos = nanos;
  }
}

export class PointValue {
  readonly srid: number;
  readonly coordinates: readonly number[];
  constructor(srid: number, coordinates: readonly number[]) {
    this.srid = srid;
    this.coordinates = coordinates;
  }
}

/** EMBEDDED: a document without identity inside another. */
export class EmbeddedValue {
  readonly typeName: string;
  readonly properties: MapValue;
  constructor(typeName: string, properties: MapValue) {
    this.typeName = typeName;
    this.properties = properties;
  }
}

/** Alternating vertices and edges, starting and ending with a vertex. */
export class PathValue {
  readonly elements: readonly (Rid | RecordValue)[];
  constructor(elements: readonly (Rid | RecordValue)[]) {
    this.elements = elements;
  }
}

export type RecordKind = 'document' | 'vertex' | 'edge';

/**
 * A stored (or just created) record as a value. Implementations decode lazily; `get` reads
 * one property without parsing the rest. Two are equal when their rids are.
 */
export abstract class RecordValue {
  abstract readonly rid: Rid;
  abstract readonly typeName: string;
  abstract readonly kind: RecordKind;
  /** The property's value; undefined when the record does not have it. */
  abstract get(name: string): Value | undefined;
  abstract propertyNames(): readonly string[];
  /** All properties in order, in a map of the caller's; stored records read them in one pass. */
  properties(): Map<string, Value> {
    const properties = new Map<string, Value>();
    for (const name of this.propertyNames()) properties.set(name, this.get(name) ?? null);
    return properties;
  }
  /** Ends of an edge; undefined for other kinds. */
  abstract readonly from: Rid | undefined;
  abstract readonly to: Rid | undefined;
}
