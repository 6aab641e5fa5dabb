/**
 * Index keys back to values: the inverse of key-encoding.ts, as far as keys go.
 *
 * A key keeps the value but not its representation (5, 5.0 and 5.00 are one key). What decoding
 * gives without help is the *natural* value of the declared type; whoever stores a key compares
 * and keeps what differs beside it (index-key.ts).
 */
import {Corruption} from '#server/base/errors.ts';
import {readUtf8} from '#server/base/utf8.ts';
import {valueClass} from '#server/model/compare.ts';
import type {DataType} from '#server/model/data-type.ts';
import {addDecimals, exactDecimalOfDouble, stripZeros} from '#server/model/decimal.ts';
import {longMax, longMin, makeDouble, normalInteger} from '#server/model/number.ts';
import {
  DateTimeValue,
  DateValue,
  Decimal,
  DurationValue,
  PathValue,
  PointValue,
  Rid,
  type TimePrecision,
  TimeValue,
  type Value,
} from '#server/model/value.ts';
import {uint32At} from './namespace.ts';
import {belowMark, exactMark, exponentBias, restOf} from './key-encoding.ts';

const secondsPerDay = 86_400;
const precisionOf: Partial<Record<DataType, TimePrecision>> = {
  DATETIME_SECOND: 'second',
  DATETIME_MICROS: 'microsecond',
  DATETIME_NANOS: 'nanosecond',
};

/** Where the words of a double are put together, to be read in the same breath. */
const words = new DataView(new ArrayBuffer(8));

function doubleAt(bytes: Uint8Array, at: number): number {
  return doubleOf(uint32At(bytes, at), uint32At(bytes, at + 4));
}

/** The double whose bytes in a key these are. */
function doubleOf(high: number, low: number): number {
  const positive = high >= 0x80000000;
  words.setUint32(0, positive ? high - 0x80000000 : ~high >>> 0);
  words.setUint32(4, positive ? low : ~low >>> 0);
  return words.getFloat64(0);
}

const numberBytes = 10;

/**
 * Puts the parts of the key in bytes [at, end) into `row` of the arrays, null as NaN; parts without
 * an array are passed over, those behind the last array not looked at. False, with nothing said of
 * the arrays, when a part is neither null nor a number that a double holds, or one that is wanted
 * is not whole.
 */
export function readWholeNumbers(
  key: {readonly view: DataView; readonly at: number; readonly end: number},
  row: number,
  into: readonly (Float64Array | undefined)[],
): boolean {
  const {view, end} = key;
  let {at} = key;
  for (let part = 0; part < into.length; part++) {
    const numbers = into[part];
    const known = at < end ? view.getUint8(at) : undefined;
    if (known === valueClass.null) {
      if (numbers !== undefined) numbers[row] = Number.NaN;
      at++;
      continue;
    }
    if (known !== valueClass.number || at + numberBytes > end) return false;
    if (view.getUint8(at + numberBytes - 1) !== exactMark) return false;
    if (numbers !== undefined) {
      const number = doubleOf(view.getUint32(at + 1), view.getUint32(at + 5));
      if (!Number.isSafeInteger(number)) return false;
      numbers[row] = number;
    }
    at += numberBytes;
  }
  return true;
}

/** Reads parts one behind the other from bytes [at, end). */
export class KeyReader {
  readonly bytes: Uint8Array;
  at: number;

  constructor(bytes: Uint8Array, at: number) {
    this.bytes = bytes;
    this.at = at;
  }

  /** The next part as the natural value of `declared`. */
  next(declared?: DataType): Value {
    const known = this.bytes[this.at++];
    switch (known) {
      case valueClass.null:
        return null;
      case valueClass.boolean:
        return this.bytes[this.at++] === 1;
      case valueClass.number:
        return this.number(declared);
      case valueClass.text:
        return this.text();
      case valueClass.instant:
        return this.instant(declared);
      case valueClass.time:
        return this.time();
      case valueClass.duration: {
        const [seconds, nanos, months, days] = this.doubles(4) as [number, number, number, number];
        return new DurationValue(months, days, seconds - months * 2_629_746 - days * 86_400, nanos);
      }
      case valueClass.point: {
        const [srid, count] = this.doubles(2) as [number, number];
        return new PointValue(srid, this.doubles(count));
      }
      case valueClass.binary:
        return this.escaped();
      case valueClass.rid:
        this.at += 4;
        return new Rid(uint32At(this.bytes, this.at - 4), this.double());
      case valueClass.list:
        return this.list();
      case valueClass.path:
        return new PathValue(this.list() as Rid[]);
      case valueClass.map:
        return this.map();
      default:
        throw new Corruption('an index key has a part of an unknown class', {class: known ?? -1});
    }
  }

  private double(): number {
    this.at += 8;
    return doubleAt(this.bytes, this.at - 8);
  }

  private doubles(count: number): number[] {
    return Array.from({length: count}, () => this.double());
  }

  private number(declared: DataType | undefined): Value {
    const base = this.double();
    const mark = this.bytes[this.at++];
    const floating = declared === 'DOUBLE' || declared === 'FLOAT';
    if (mark === exactMark) {
      if (declared === 'DECIMAL' && Number.isFinite(base)) return exactDecimalOfDouble(base);
      if (floating || !Number.isInteger(base)) return makeDouble(base);
      return inLongRange(BigInt(base)) ? normalInteger(BigInt(base)) : makeDouble(base);
    }
    const exact = stripZeros(
      addDecimals(exactDecimalOfDouble(base), this.rest(mark === belowMark)),
    );
    const integer = exact.scale === 0 && declared !== 'DECIMAL' && inLongRange(exact.unscaled);
    return integer ? normalInteger(exact.unscaled) : exact;
  }

  private rest(negative: boolean): Decimal {
    const turn = negative ? 0xff : 0;
    const byte = (): number => (this.bytes[this.at++] as number) ^ turn;
    const exponent = byte() * 256 + byte() - exponentBias;
    let digits = '';
    for (let pair = byte(); pair !== 0; pair = byte()) {
      digits += String(pair - 1).padStart(2, '0');
    }
    const rest = restOf(digits, exponent);
    return negative ? new Decimal(-rest.unscaled, rest.scale) : rest;
  }

  private text(): string {
    const {bytes} = this;
    let end = this.at;
    while (bytes[end] !== 0) end++;
    if (bytes[end + 1] === 1) {
      const text = readUtf8(bytes, this.at, end);
      this.at = end + 2;
      return text;
    }
    const unescaped = this.escaped();
    return readUtf8(unescaped, 0, unescaped.length);
  }

  private escaped(): Uint8Array {
    const {bytes} = this;
    const plain: number[] = [];
    for (;;) {
      const byte = bytes[this.at++];
      if (byte === undefined) throw new Corruption('an index key ends inside a text');
      if (byte === 0 && bytes[this.at++] === 1) return Uint8Array.from(plain);
      plain.push(byte);
    }
  }

  private instant(declared: DataType | undefined): Value {
    const seconds = this.double();
    const nanos = uint32At(this.bytes, this.at);
    const kind = this.bytes[this.at + 4];
    this.at += 5;
    if (kind === 2) {
      const offsetSeconds = this.double();
      const region = this.text();
      const zone = region === '' ? {offsetSeconds} : {offsetSeconds, region};
      return new DateTimeValue(seconds, nanos, 'nanosecond', {zone});
    }
    if (kind === 1) return new DateTimeValue(seconds, nanos, 'nanosecond', {local: true});
    if (declared === 'DATE') return new DateValue(Math.floor(seconds / secondsPerDay));
    const precision = declared === undefined ? undefined : precisionOf[declared];
    return new DateTimeValue(seconds, nanos, precision ?? 'millisecond');
  }

  private time(): TimeValue {
    const [moment, nanos, kind, offset] = this.doubles(4) as [number, number, number, number];
    return new TimeValue(moment + offset, nanos, kind === 0 ? undefined : offset);
  }

  private list(): Value[] {
    const list: Value[] = [];
    while (this.bytes[this.at] !== 0) list.push(this.next());
    this.at++;
    return list;
  }

  private map(): Value {
    const list = this.list();
    const map = new Map<string, Value>();
    for (let at = 0; at + 1 < list.length; at += 2) {
      const key = list[at];
      if (typeof key === 'string') map.set(key, list[at + 1] as Value);
    }
    return map;
  }
}

function inLongRange(integer: bigint): boolean {
  return integer >= longMin && integer <= longMax;
}
