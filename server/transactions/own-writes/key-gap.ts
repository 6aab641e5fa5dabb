/**
 * Point reads of one snapshot for keys that are mostly absent: those of a unique index that is
 * written to. Where they come in order, as those of a bulk insert do, one scan tells that there is
 * nothing up to the next key there is, and the keys in between are not looked for one by one.
 */
import {createPackedRows, rowHeaderBytes} from '#server/storage/packed-rows.ts';
import {type Reader, RowTooLarge} from '#server/storage/store.ts';
import {keyText} from '../key-text.ts';

/** Keys that come in order before a scan is tried; more of them where scans were of little use. */
const risesMin = 8;
const risesMax = 1 << 20;
const keyBytesUsual = 1 << 10;

export class KeyGap {
  readonly #reader: Reader;
  readonly #end: () => Uint8Array;
  /** There is no key in [from, to); empty: nothing is known. */
  #from = '';
  #to = '';
  #last = '';
  #rises = 0;
  #risesNeeded = risesMin;
  #uses = 0;

  /** @param end - Of the keys that are asked for; asked only where it counts. */
  constructor(reader: Reader, end: () => Uint8Array) {
    this.#reader = reader;
    this.#end = end;
  }

  /** What `Reader.get` answers. `text`: the key, one character a byte. */
  get(text: string, sought: {readonly key: Uint8Array}): Buffer | undefined {
    if (this.#from <= text && text < this.#to) {
      this.#uses += 1;
      return undefined;
    }
    this.#rises = text > this.#last ? this.#rises + 1 : 0;
    this.#last = text;
    const {key} = sought;
    const value = this.#reader.get(key);
    if (value === undefined && this.#rises >= this.#risesNeeded) this.#measure(key, text);
    return value;
  }

  /** Finds the next key behind one that is absent. */
  #measure(key: Uint8Array, text: string): void {
    const isOfUse = this.#uses >= this.#risesNeeded || this.#to === '';
    this.#risesNeeded = isOfUse ? risesMin : Math.min(risesMax, this.#risesNeeded * 2);
    this.#rises = 0;
    this.#uses = 0;
    const end = this.#end();
    const range = {start: key, end};
    const scanner = this.#reader.scan([range], {rowsMax: 1, keysOnly: true});
    try {
      const rows = scanner.next(createPackedRows(keyBytesUsual));
      const length = rows.rowCount === 0 ? 0 : rows.buffer.readUInt32LE(0);
      const next = rows.buffer.subarray(rowHeaderBytes, rowHeaderBytes + length);
      this.#from = text;
      this.#to = keyText(length === 0 ? end : next);
    } catch (error) {
      // The next key is a long one: as good as no gap.
      if (!(error instanceof RowTooLarge)) throw error;
    } finally {
      scanner.close();
    }
  }
}
