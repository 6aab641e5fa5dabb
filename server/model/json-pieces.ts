/**
 * Large JSON documents, read a piece at a time, so that others have their turn in between: the same
 * values and refusals as those of the parser that reads a document in one go (json-parser.ts).
 *
 * What is open stands in a stack of its own instead of that of the calls, so that reading can stop
 * between any two values, and inside of a long text. That makes it a quarter slower. What is still
 * read in one go: white space, and the name of an entry.
 */
import {escapeLength} from './json/json-escapes.ts';
import {hasControl, JsonParser} from './json-parser.ts';
import type {Value} from './value.ts';

/** How much of a document is read in one piece at most. */
export interface PieceSize {
  readonly values: number;
  readonly bytes: number;
}

/** Less than a millisecond. */
const usualPiece: PieceSize = {values: 4_096, bytes: 256 << 10};

/**
 * Reads a document a piece a turn, within the bounds of `parser`.
 *
 * @param rest - Resolves when others have had their turn.
 */
export async function parseInTurns(
  {depthMax, valuesMax}: JsonParser,
  bytes: Uint8Array,
  rest: () => Promise<void>,
): Promise<Value> {
  const pieces = new PiecewiseParser(depthMax, valuesMax).pieces(bytes);
  for (;;) {
    await rest();
    const piece = pieces.next();
    if (piece.done === true) return piece.value;
  }
}

export class PiecewiseParser extends JsonParser {
  /** The lists and maps around the place that was reached, and the name that each map is at. */
  readonly #open: (Map<string, Value> | Value[])[] = [];
  readonly #names: string[] = [];
  /** What was read of a text that goes on. */
  #text: string | undefined;
  /** The document, when it has ended. */
  #whole: Value = null;

  /** Reads a document, and pauses behind each piece; one document for each parser. */
  *pieces(bytes: Uint8Array, size = usualPiece): Generator<undefined, Value, undefined> {
    this.begin(bytes, 0, bytes.length);
    while (!this.#advance(size)) yield undefined;
    if (this.next() !== -1) this.fail('the document has ended before');
    return this.#whole;
  }

  /** Reads on for a piece; whether the document has ended. */
  #advance({values, bytes}: PieceSize): boolean {
    const pauseAt = this.at + bytes;
    for (let left = values; left > 0 && this.at < pauseAt; left--) {
      const value = this.#text === undefined ? this.#next(bytes) : this.#moreText(bytes);
      if (value !== undefined && this.#closes(value)) return true;
    }
    return false;
  }

  /** The next value; undefined for one that has only begun. */
  #next(textBytes: number): Value | undefined {
    const byte = this.next();
    if (byte === 0x7b || byte === 0x5b) return this.#opened(byte);
    if (byte !== 0x22) return this.value(this.#open.length, byte);
    if (--this.valuesLeft < 0) this.tooMany();
    this.at++;
    this.#text = '';
    return this.#moreText(textBytes);
  }

  /** A list or map without anything in it; undefined for one that was opened. */
  #opened(byte: number): Value | undefined {
    if (--this.valuesLeft < 0) this.tooMany();
    this.deeper(this.#open.length);
    this.at++;
    const isList = byte === 0x5b;
    const container = isList ? [] : new Map<string, Value>();
    if (this.next() === (isList ? 0x5d : 0x7d)) {
      this.at++;
      return container;
    }
    if (!isList) this.#names.push(this.name());
    this.#open.push(container);
    return undefined;
  }

  /** Whether the document ends with this value, and with what ends behind it. */
  #closes(ended: Value): boolean {
    const [open, names] = [this.#open, this.#names];
    let value = ended;
    for (;;) {
      const around = open.at(-1);
      if (around === undefined) break;
      const isList = Array.isArray(around);
      if (isList) around.push(value);
      else around.set(names.at(-1) ?? '', value);
      const byte = this.next();
      this.at++;
      if (byte === 0x2c) {
        if (!isList) names[names.length - 1] = this.name();
        return false;
      }
      if (byte !== (isList ? 0x5d : 0x7d)) {
        this.at--;
        this.fail(isList ? "',' or ']' is expected" : "',' or '}' is expected");
      }
      open.pop();
      if (!isList) names.pop();
      value = around;
    }
    this.#whole = value;
    return true;
  }

  /**
   * Reads on in a text, for so many bytes at most: the text when it has ended. Its parts are put
   * together when somebody looks into it, so that no part takes longer the longer it is.
   */
  #moreText(bytesMax: number): string | undefined {
    const {bytes, end, at: from} = this;
    const limit = Math.min(end, from + bytesMax);
    let to = this.#plainEnd(from, limit);
    const isPlain = to >= 0;
    if (!isPlain) to = this.#escapedEnd(from, limit);
    if (to >= end) {
      this.at = end;
      this.fail('a text is not closed');
    }
    const hasEnded = bytes[to] === 0x22;
    if (!hasEnded) to = characterEnd(bytes, to);
    const text = this.#text + (isPlain ? this.decode(from, to) : this.unescaped(from, to));
    this.at = hasEnded ? to + 1 : to;
    this.#text = hasEnded ? undefined : text;
    return hasEnded ? text : undefined;
  }

  /** The quote behind a text, or `limit`; -1 when something before it needs a look. */
  #plainEnd(from: number, limit: number): number {
    const {bytes} = this;
    const quote = bytes.subarray(from, limit).indexOf(0x22);
    const to = quote < 0 ? limit : from + quote;
    if (bytes.subarray(from, to).includes(0x5c)) return -1;
    return hasControl(bytes, from, to) ? -1 : to;
  }

  /** The quote behind a text, or where it may be cut at `limit` or behind. */
  #escapedEnd(from: number, limit: number): number {
    const {bytes} = this;
    let to = from;
    while (to < limit && bytes[to] !== 0x22) {
      if ((bytes[to] as number) < 0x20) {
        this.at = to;
        this.fail('a control character must be escaped');
      }
      to += bytes[to] === 0x5c ? escapeLength(bytes, to) : 1;
    }
    return to;
  }
}

/** Where the character ends that may have bytes before `at`; four bytes are the longest. */
function characterEnd(bytes: Uint8Array, at: number): number {
  let end = at;
  while (end < at + 3 && ((bytes[end] as number) & 0xc0) === 0x80) end++;
  return end;
}
