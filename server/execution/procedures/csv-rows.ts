/**
 * CSV as rows of texts: RFC 4180, with any separator, read in portions.
 *
 * A field in quotes may hold separators, line ends and doubled quotes; an empty field without
 * quotes is null. Empty lines are passed over. Cost: linear, memory of one row and one portion.
 */
import {Refusal} from '#server/base/errors.ts';

export interface CsvRow {
  readonly fields: readonly (string | null)[];
  /** The line of its first character, from 1. */
  readonly line: number;
}

/** Characters of one field. */
const fieldMax = 16 * 1024 * 1024;
const fieldsMax = 65_536;

/** @throws {Refusal} `source.malformed` with the line, for what is no CSV or no UTF-8. */
export function* csvRows(
  portions: Iterable<Uint8Array>,
  separator: string,
): Generator<CsvRow, void, undefined> {
  const reader = new CsvReader(separator);
  const decoder = new TextDecoder('utf-8', {fatal: true});
  for (const portion of portions) {
    yield* reader.read(decoded(() => decoder.decode(portion, {stream: true}), reader));
  }
  yield* reader.read(decoded(() => decoder.decode(), reader));
  yield* reader.end();
}

function decoded(decode: () => string, {line}: CsvReader): string {
  try {
    return decode();
  } catch {
    throw malformed(line, 'what follows is not UTF-8');
  }
}

function malformed(line: number, what: string): Refusal {
  return new Refusal('source.malformed', `line ${line} of the CSV: ${what}`, {detail: {line}});
}

type State =
  /** Nothing of the field was read. */
  | 'begin'
  | 'plain'
  | 'quoted'
  /** A quote inside of quotes: the end of the field or half of a doubled one. */
  | 'closing';

class CsvReader {
  line = 1;
  readonly #separator: string;
  #state: State = 'begin';
  #field = '';
  #fields: (string | null)[] = [];
  #firstLine = 1;
  /** A line feed right behind a carriage return belongs to it. */
  #afterReturn = false;

  constructor(separator: string) {
    this.#separator = separator;
  }

  *read(text: string): Generator<CsvRow, void, undefined> {
    let from = 0;
    for (let at = 0; at < text.length; at++) {
      const character = text[at] as string;
      const isSecond = this.#afterReturn && character === '\n';
      this.#afterReturn = character === '\r';
      if (character === '\n' && !isSecond) this.line++;
      if (this.#state === 'quoted') {
        if (character === '\r') this.line++;
        if (character !== '"') continue;
        this.#take(text.slice(from, at));
        this.#state = 'closing';
      } else if (character === '"' && this.#state !== 'plain') {
        // The first quote of a field, or the second half of a doubled one.
        if (this.#state === 'closing') this.#take('"');
        this.#state = 'quoted';
        from = at + 1;
      } else if (character === this.#separator || character === '\n' || character === '\r') {
        if (this.#state === 'plain') this.#take(text.slice(from, at));
        if (character === this.#separator) this.#endField();
        else if (!isSecond) yield* this.#endRow(character === '\r');
      } else if (this.#state === 'closing') {
        throw malformed(this.line, 'text behind a closing quote');
      } else if (this.#state === 'begin') {
        this.#state = 'plain';
        from = at;
      }
    }
    if (this.#state === 'plain' || this.#state === 'quoted') this.#take(text.slice(from));
  }

  *end(): Generator<CsvRow, void, undefined> {
    if (this.#state === 'quoted') throw malformed(this.#firstLine, 'a quote is never closed');
    yield* this.#endRow(true);
  }

  #take(text: string): void {
    this.#field += text;
    if (this.#field.length > fieldMax) {
      throw malformed(this.#firstLine, `a field has at most ${fieldMax} characters`);
    }
  }

  #endField(): void {
    this.#fields.push(this.#state === 'begin' ? null : this.#field);
    if (this.#fields.length > fieldsMax) {
      throw malformed(this.#firstLine, `a row has at most ${fieldsMax} fields`);
    }
    this.#field = '';
    this.#state = 'begin';
  }

  /** @param counts - Whether the line that ends is not counted yet. */
  *#endRow(counts: boolean): Generator<CsvRow, void, undefined> {
    if (counts) this.line++;
    if (this.#state !== 'begin' || this.#fields.length > 0) {
      this.#endField();
      yield {fields: this.#fields, line: this.#firstLine};
    }
    this.#fields = [];
    this.#firstLine = this.line;
  }
}
