/**
 * Numbers for the texts of one property: equal texts have one number, different ones different.
 *
 * Shared by all columns of the property in a database, so that groups need no text a row. Bounded:
 * a property with more different texts, or long ones, has no columns. Code 0 stands for null.
 */
import {readUtf8} from '#server/base/utf8.ts';

const codesMax = 0xffff;
const textBytesMax = 256;

export class TextCodes {
  private readonly codes = new Map<string, number>();
  private readonly texts: (string | null)[] = [null];
  /** Estimated bytes of the texts. */
  bytes = 0;

  /** The code of the text in bytes [start, end), a new one if need be; 0 when there is no room. */
  codeOf(bytes: Uint8Array, start: number, end: number): number {
    if (end - start > textBytesMax) return 0;
    const text = readUtf8(bytes, start, end);
    const known = this.codes.get(text);
    if (known !== undefined) return known;
    if (this.texts.length > codesMax) return 0;
    const code = this.texts.push(text) - 1;
    this.codes.set(text, code);
    this.bytes += 2 * (end - start) + 64;
    return code;
  }

  /** The code of a text, if it has one. */
  find(text: string): number | undefined {
    return this.codes.get(text);
  }

  text(code: number): string | null {
    return this.texts[code] ?? null;
  }
}
