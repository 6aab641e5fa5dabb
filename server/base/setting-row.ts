/**
 * What a row of the table of settings is: type, unit, limits, and the words for a person.
 */

/** What every row says, whatever its type. */
interface Common {
  /** One or two sentences for a person who must decide on a value. */
  readonly description: string;
  /** It may differ by database, and its value for the server is the default there. */
  readonly scope?: 'database';
  /** A change takes effect without a restart. */
  readonly dynamic?: true;
  /** Its value is never shown, logged or returned. */
  readonly secret?: true;
}

/** One row, by type. */
export type SettingRow = Common &
  (
    | {readonly type: 'boolean'; readonly default: boolean}
    | {readonly type: 'string' | 'path'; readonly default: string}
    | {
        readonly type: 'enum';
        readonly default: string;
        readonly values: readonly string[];
        /** Words of other systems, each with what to say to whoever writes it. */
        readonly refused?: Readonly<Record<string, string>>;
      }
    | {readonly type: 'integer'; readonly default: number; readonly range: Range}
    /** Bytes; people may write 64MB (binary multiples). -1 means without a limit where allowed. */
    | {readonly type: 'size'; readonly default: number; readonly range: Range}
    /** Held in milliseconds; a bare number counts in `unit`; 500ms, 30s, 5m, 1h are read too. */
    | {
        readonly type: 'duration';
        readonly unit: 'milliseconds' | 'seconds';
        readonly default: number;
        readonly range: Range;
      }
    /** One port, or the first free one of `from-to`. */
    | {readonly type: 'ports'; readonly default: Ports}
  );

/** The least and the greatest value. */
export type Range = readonly [min: number, max: number];

/** An inclusive range of TCP ports; 0 lets the system choose. */
export interface Ports {
  readonly from: number;
  readonly to: number;
}

export const KB = 1024;
export const MB = 1024 * KB;
export const GB = 1024 * MB;
export const TB = 1024 * GB;
export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
