/**
 * Values of the openCypher suite's tables, and those of our answers, as one canonical text, so
 * that equal texts mean equal values of equal types.
 *
 * A node is its labels and properties, a relationship its type and properties, a path both in
 * turn with directions; lists keep their order (or do not, where the suite says so); an integer is
 * not a float. Temporal values are texts in the suite and in our answers.
 */

export interface Rendering {
  /** Lists are compared as bags. */
  readonly listsUnordered: boolean;
}

/** An answer's JSON with the texts of its numbers. */
export type Json =
  | null
  | boolean
  | string
  | {readonly number: string}
  | readonly Json[]
  | ReadonlyMap<string, Json>;

/** The canonical text of a cell of the suite. @throws {Error} when it cannot be read. */
export function expectedText(cell: string, rendering: Rendering): string {
  const reader = new CellReader(cell, rendering);
  return reader.whole();
}

class CellReader {
  readonly #text: string;
  readonly #rendering: Rendering;
  #at = 0;

  constructor(text: string, rendering: Rendering) {
    this.#text = text;
    this.#rendering = rendering;
  }

  whole(): string {
    const value = this.#value();
    this.#blank();
    if (this.#at < this.#text.length) this.#fail();
    return value;
  }

  #fail(): never {
    throw new Error(`the value '${this.#text}' cannot be read at ${this.#at}`);
  }

  #blank(): void {
    while (/\s/.test(this.#text.charAt(this.#at))) this.#at++;
  }

  #take(symbol: string): boolean {
    this.#blank();
    if (!this.#text.startsWith(symbol, this.#at)) return false;
    this.#at += symbol.length;
    return true;
  }

  #match(pattern: RegExp): string | undefined {
    this.#blank();
    const sticky = new RegExp(pattern.source, 'y');
    sticky.lastIndex = this.#at;
    const found = sticky.exec(this.#text)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  #value(): string {
    this.#blank();
    const next = this.#text.charAt(this.#at);
    if (next === '(') return this.#node();
    if (next === '<') return this.#path();
    if (next === '{') return `{${this.#entries()}}`;
    if (next === "'") return textOf(this.#string());
    if (next === '[')
      return /^\[\s*:/.test(this.#text.slice(this.#at)) ? this.#edge() : this.#list();
    const word = this.#match(/null|true|false|NaN|-?Infinity|-?Inf/);
    if (word !== undefined) return word.replace(/Inf$/, 'Infinity');
    const number = this.#match(/[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?/);
    return number === undefined ? this.#fail() : numberText(number);
  }

  #string(): string {
    const raw = this.#match(/'(?:[^'\\]|\\.)*'/);
    if (raw === undefined) return this.#fail();
    return raw.slice(1, -1).replace(/\\(.)/g, (_, letter: string) => {
      const known: Readonly<Record<string, string>> = {n: '\n', t: '\t', r: '\r', b: '\b', f: '\f'};
      return known[letter] ?? letter;
    });
  }

  #list(): string {
    this.#take('[');
    const items: string[] = [];
    if (!this.#take(']')) {
      do items.push(this.#value());
      while (this.#take(','));
      if (!this.#take(']')) this.#fail();
    }
    return listText(items, this.#rendering);
  }

  #entries(): string {
    this.#take('{');
    const entries: [string, string][] = [];
    if (!this.#take('}')) {
      do {
        const key = this.#match(/`[^`]+`|[\p{L}\w$]+/u) ?? this.#string();
        if (!this.#take(':')) this.#fail();
        entries.push([key.replaceAll('`', ''), this.#value()]);
      } while (this.#take(','));
      if (!this.#take('}')) this.#fail();
    }
    return entriesText(entries);
  }

  #node(): string {
    this.#take('(');
    const labels: string[] = [];
    while (this.#take(':')) labels.push(this.#match(/`[^`]+`|[\p{L}\w]+/u) ?? this.#fail());
    this.#blank();
    const entries = this.#text.charAt(this.#at) === '{' ? this.#entries() : '';
    if (!this.#take(')')) this.#fail();
    return nodeText(labels, entries);
  }

  #edge(): string {
    this.#take('[');
    this.#take(':');
    const type = this.#match(/`[^`]+`|[\p{L}\w]+/u) ?? this.#fail();
    this.#blank();
    const entries = this.#text.charAt(this.#at) === '{' ? this.#entries() : '';
    if (!this.#take(']')) this.#fail();
    return edgeText(type, entries);
  }

  #path(): string {
    this.#take('<');
    let text = this.#node();
    while (!this.#take('>')) {
      const backwards = this.#take('<-');
      if (!backwards && !this.#take('-')) this.#fail();
      const edge = this.#edge();
      if (!this.#take('->') && !this.#take('-')) this.#fail();
      text += `${backwards ? '<' : ''}-${edge}-${backwards ? '' : '>'}${this.#node()}`;
    }
    return `<${text}>`;
  }
}

/** Reads JSON and keeps the texts of numbers: `1` and `1.0` are different values. */
export function readJson(text: string): Json {
  const marked = text.replace(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g, token =>
    token.startsWith('"') ? token : `{"#number":"${token}"}`,
  );
  return revived(JSON.parse(marked));
}

function revived(value: unknown): Json {
  if (Array.isArray(value)) return value.map(revived);
  if (typeof value !== 'object' || value === null) return value as Json;
  const entries = Object.entries(value);
  const [first] = entries;
  if (first?.[0] === '#number') return {number: String(first[1])};
  return new Map(entries.map(([key, inner]) => [key, revived(inner)]));
}

/** The canonical text of a value of an answer. */
export function actualText(value: Json, rendering: Rendering): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return textOf(value);
  if (isList(value)) {
    return listText(
      value.map(item => actualText(item, rendering)),
      rendering,
    );
  }
  if ('number' in value) return numberText(value.number);
  if (value.get('_type') === 'path') return pathText(value, rendering);
  const entries = entriesText(
    [...value]
      .filter(([key, inner]) => !(isRecord(value) && (key.startsWith('@') || inner === null)))
      .map(([key, inner]) => [key, actualText(inner, rendering)] as const),
  );
  if (!isRecord(value)) return `{${entries}}`;
  const type = attributeText(value, '@type');
  return value.get('@cat') === 'v' ? nodeText(labelsOf(type), entries) : edgeText(type, entries);
}

/** An attribute of a record, which is a text. */
export function attributeText(record: ReadonlyMap<string, Json>, name: string): string {
  const value = record.get(name);
  return typeof value === 'string' ? value : '';
}

/** Labels of a type: none of the root type, several of a composite one. */
export function labelsOf(type: string): readonly string[] {
  return type === 'Vertex' ? [] : type.split('~');
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

function isRecord(value: Json): value is ReadonlyMap<string, Json> {
  return value instanceof Map && value.has('@rid');
}

function pathText(path: ReadonlyMap<string, Json>, rendering: Rendering): string {
  const nodes = path.get('nodes') as readonly ReadonlyMap<string, Json>[];
  const edges = path.get('relationships') as readonly ReadonlyMap<string, Json>[];
  let text = actualText(nodes[0] ?? null, rendering);
  for (const [at, edge] of edges.entries()) {
    const backwards = edge.get('@out') !== nodes[at]?.get('@rid');
    const shown = `-${actualText(edge, rendering)}-`;
    text += `${backwards ? '<' : ''}${shown}${backwards ? '' : '>'}`;
    text += actualText(nodes[at + 1] ?? null, rendering);
  }
  return `<${text}>`;
}

function textOf(text: string): string {
  return JSON.stringify(text);
}

function numberText(text: string): string {
  const isFloat = /[.eE]/.test(text);
  if (!isFloat) return String(BigInt(text.replace('+', '')));
  const value = Number(text);
  // Zero has one value, whatever its sign.
  return Number.isInteger(value) ? `${value + 0}.0` : String(value);
}

function listText(items: readonly string[], {listsUnordered}: Rendering): string {
  return `[${(listsUnordered ? [...items].sort() : items).join(', ')}]`;
}

function entriesText(entries: readonly (readonly [string, string])[]): string {
  return entries
    .map(([key, value]) => `${key}: ${value}`)
    .sort()
    .join(', ');
}

function nodeText(labels: readonly string[], entries: string): string {
  const names = labels.map(label => label.replaceAll('`', '')).sort();
  return `(${names.map(name => `:${name}`).join('')}${entries === '' ? '' : ` {${entries}}`})`;
}

function edgeText(type: string, entries: string): string {
  return `[:${type.replaceAll('`', '')}${entries === '' ? '' : ` {${entries}}`}]`;
}
