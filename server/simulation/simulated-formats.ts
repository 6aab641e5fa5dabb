/**
 * Two format levels of the simulated workload, so that migrations have something to do: a record
 * of level 2 begins with a mark. The ledger knows records without it, whichever level they are of.
 */
import {formatsOf, type Formats, type FormatLevel} from '#server/engine/formats/levels.ts';

const recordPrefix = 0x20;
const mark = '2|';

const levels: readonly FormatLevel[] = [
  {level: 1, since: '1.0'},
  {
    level: 2,
    since: '1.1',
    step: {
      range: {start: Buffer.from([recordPrefix]), end: Buffer.from([recordPrefix + 1])},
      rowsAtOnce: 3,
      rewrite(key, value, into) {
        const text = value.toString('latin1');
        if (!text.startsWith(mark)) into.put(key, Buffer.from(`${mark}${text}`, 'latin1'));
      },
    },
  },
];

/** The formats of a build that writes `level`. */
export function simulatedFormats(level: 1 | 2): Formats {
  return formatsOf(`1.${level - 1}`, levels);
}

/** Encodes a value as a build of `level` stores it. */
export function storedText(key: Uint8Array, text: string, level: number): string {
  return level === 2 && key[0] === recordPrefix ? `${mark}${text}` : text;
}

/** Decodes to what the workload means, whatever level it is stored in. */
export function plainText(key: Uint8Array, stored: string): string {
  return key[0] === recordPrefix && stored.startsWith(mark) ? stored.slice(mark.length) : stored;
}

/** Whether a row is one that a build of level 2 would not write. */
export function isOld(key: Uint8Array, stored: string): boolean {
  return key[0] === recordPrefix && !stored.startsWith(mark);
}
