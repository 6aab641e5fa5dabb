/**
 * A JSON document that goes over several lines: a list of objects, one object, or an export of
 * OrientDB; its parts are read one by one, so that none but the largest part is in memory.
 */
import type {Value} from '#server/model/value.ts';
import {badItem, type ExchangedItem, itemOrBad, malformed} from '../exchanged-record.ts';
import type {ImportOptions} from '../import-options.ts';
import {textOf} from '../lines.ts';
import {itemOf, objectIn} from './jsonl.ts';
import {OrientClasses} from './orient.ts';

export async function* readJson(
  bytes: AsyncIterable<Buffer>,
  options: ImportOptions,
): AsyncGenerator<ExchangedItem> {
  const orient = new OrientClasses();
  let whole: Map<string, Value> | undefined;
  let place = 0;
  for await (const {key, text} of partsOf(bytes)) {
    if (key === 'schema') yield* orient.learn(objectIn(`{"schema":${text}}`, 0));
    else if (key === 'indexes' && orient.isKnown) {
      yield* orient.indexesOf(objectIn(`{"indexes":${text}}`, place), place);
    } else if (key === undefined) {
      const at = ++place;
      const item = itemOrBad(() => itemOf(objectIn(text, at), options, at), at);
      if (item !== undefined) yield item;
    } else if (key === 'records' && orient.isKnown) {
      const at = ++place;
      try {
        yield* orient.itemsOf(objectIn(text, at), at);
      } catch (error) {
        yield badItem(error, at);
      }
    } else {
      whole ??= new Map();
      for (const [name, value] of objectIn(`{${JSON.stringify(key)}:${text}}`, 1)) {
        const more = key === 'records' ? [...((whole.get(name) as Value[]) ?? []), value] : value;
        whole.set(name, more);
      }
    }
  }
  // The export of a whole database is no document itself.
  if (whole === undefined || orient.isKnown) return;
  const document = whole;
  const item = itemOrBad(() => itemOf(document, options, 1), 1);
  if (item !== undefined) yield item;
}

interface Part {
  /** The member of the document; undefined: the document is a list, and this an item. */
  readonly key: string | undefined;
  readonly text: string;
}

const partCharactersMax = 64 << 20;

/** Items of the list, or members of the object; of the member `records`, its items. */
async function* partsOf(bytes: AsyncIterable<Buffer>): AsyncGenerator<Part> {
  const splitter = new PartSplitter();
  for await (const text of textOf(bytes)) yield* splitter.add(text);
  splitter.end();
}

class PartSplitter {
  #outer: '[' | '{' | undefined;
  #depth = 0;
  /** Depth at which values are parts. */
  #partDepth = 1;
  #isInText = false;
  #isEscaped = false;
  #part = '';
  #key: string | undefined;
  #count = 0;

  *add(text: string): Generator<Part> {
    let from = 0;
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (this.#isInText) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (code === 0x5c) this.#isEscaped = true;
        else if (code === 0x22) this.#isInText = false;
        continue;
      }
      if (code === 0x22) this.#isInText = true;
      else if (code === 0x7b || code === 0x5b) {
        if (this.#opens(text, from, at)) from = at + 1;
      } else if (code === 0x7d || code === 0x5d) {
        if (this.#depth === this.#partDepth) {
          yield* this.#finish(text.slice(from, at));
          from = at + 1;
          if (this.#partDepth === 2) this.#partDepth = 1;
        }
        this.#depth -= 1;
      } else if (code === 0x2c && this.#depth === this.#partDepth) {
        yield* this.#finish(text.slice(from, at));
        from = at + 1;
      } else if (code === 0x3a && this.#depth === 1 && this.#outer === '{') {
        this.#key ??= this.#keyIn(this.#part + text.slice(from, at));
        this.#part = '';
        from = at + 1;
      }
    }
    this.#part += text.slice(from);
    if (this.#part.length > partCharactersMax) {
      throw malformed(this.#count + 1, 'it is larger than 64 MB');
    }
  }

  end(): void {
    if (this.#depth === 0 && this.#part.trim() === '') return;
    throw malformed(this.#count + 1, 'the document ends in its middle');
  }

  /** Whether what was read until here belongs to no part. */
  #opens(text: string, from: number, at: number): boolean {
    this.#depth += 1;
    if (this.#depth === 1) {
      this.#outer = text[at] === '[' ? '[' : '{';
      this.#part = '';
      return true;
    }
    const isBegin = this.#depth === 2 && this.#outer === '{' && text[at] === '[';
    if (!isBegin || this.#key !== 'records' || this.#partDepth === 2) return false;
    if ((this.#part + text.slice(from, at)).trim() !== '') return false;
    this.#partDepth = 2;
    this.#part = '';
    return true;
  }

  *#finish(rest: string): Generator<Part> {
    const text = (this.#part + rest).trim();
    this.#part = '';
    const key = this.#key;
    if (this.#depth === 1) this.#key = undefined;
    if (text === '') return;
    this.#count += 1;
    yield {key, text};
  }

  #keyIn(text: string): string {
    try {
      return String(JSON.parse(text.trim()));
    } catch {
      throw malformed(this.#count + 1, 'it is no JSON');
    }
  }
}
