/**
 * Tags of stored values: what the bytes of a property mean.
 *
 * A tag is never given another meaning. The gaps are kept for tags that later models need; the
 * ones marked so are reserved and written by nobody yet.
 */
export const valueTag = {
  null: 0x01,
  false: 0x02,
  true: 0x03,
  /** Integers: ASCII digits with a sign, as JSON wants them. */
  byte: 0x10,
  short: 0x11,
  integer: 0x12,
  long: 0x13,
  /** Doubles: their shortest text with a point or an exponent; NaN and Infinity as words. */
  float: 0x14,
  double: 0x15,
  /** Plain digits with the scale kept: 1.50. */
  decimal: 0x16,
  /** UTF-8 that JSON takes as it is, and UTF-8 that it wants escaped. */
  text: 0x20,
  textToEscape: 0x21,
  binary: 0x22,
  /** Days, i32 LE. */
  date: 0x30,
  /** Seconds (f64 LE), nanoseconds (u32 LE); the tag tells the precision. */
  dateTimeSecond: 0x31,
  dateTime: 0x32,
  dateTimeMicros: 0x33,
  dateTimeNanos: 0x34,
  time: 0x35,
  localTime: 0x36,
  localDateTime: 0x37,
  zonedDateTime: 0x38,
  duration: 0x39,
  /** Bucket (u32 BE), position (u48 BE); a light edge's has a tag of its own. */
  rid: 0x40,
  lightRid: 0x41,
  /** Lists and maps of JSON's own kinds: their JSON text. */
  listJson: 0x50,
  mapJson: 0x51,
  /** Others: tagged values one after another, each with its length. */
  list: 0x52,
  map: 0x53,
  /** Name of the type, then a map. */
  embedded: 0x54,
  path: 0x55,
  /** Elements, little endian. */
  shorts: 0x60,
  integers: 0x61,
  longs: 0x62,
  floats: 0x63,
  doubles: 0x64,
  point: 0x70,
  /** Reserved. */
  vector: 0x71,
  sparseVector: 0x72,
  /** Not as it is: compressed, or under a key of its own (compressed-value.ts). In records only. */
  compressed: 0x80,
} as const;

export type ValueTag = (typeof valueTag)[keyof typeof valueTag];
