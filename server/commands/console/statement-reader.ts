/**
 * Lines in, whole statements and commands of the console out.
 *
 * A statement ends at a semicolon outside of strings, comments and braces. A script holds
 * semicolons of its own, so it ends at a line that holds nothing else. A line that begins with a
 * colon where no statement has begun is a command of the console. What a statement means is the
 * server's business: only quotes, comments and braces are understood here.
 */

/** One thing to carry out. */
export interface ConsoleInput {
  readonly kind: 'statement' | 'command';
  /** A statement without its `;`, or a command without its colon; no blanks around it. */
  readonly text: string;
  /** The line on which it begins, from 1. */
  readonly line: number;
}

/** What the text read so far stands in: a quote, a comment (`*`), a statement, or nothing. */
export type OpenPart = "'" | '"' | '`' | '*' | 'statement' | undefined;

export class StatementReader {
  readonly #language: () => string;
  #text = '';
  /** How far `#text` has been looked at. */
  #at = 0;
  #open: "'" | '"' | '`' | '*' | undefined;
  #braces = 0;
  #hasContent = false;
  #line = 0;
  /** The line on which `#text` begins. */
  #firstLine = 1;

  /** @param language - Asked as often as it matters: it may change between statements. */
  constructor(language: () => string) {
    this.#language = language;
  }

  /** Whether a statement has been begun and not ended. */
  get open(): OpenPart {
    if (this.#open !== undefined) return this.#open;
    return this.#hasContent ? 'statement' : undefined;
  }

  /** The text of the statement that has been begun. */
  get pending(): string {
    return this.#text;
  }

  /** Forgets the statement that has been begun. */
  clear(): void {
    this.#text = '';
    this.#at = 0;
    this.#open = undefined;
    this.#braces = 0;
    this.#hasContent = false;
  }

  /** Takes a line without its end and yields what it completes. */
  *feed(line: string): Generator<ConsoleInput> {
    this.#line += 1;
    if (this.open === undefined && line.trimStart().startsWith(':')) {
      this.clear();
      yield {kind: 'command', text: line.trim().slice(1), line: this.#line};
      return;
    }
    if (this.#isScript && this.#open === undefined && line.trim() === ';') {
      yield* this.#take(this.#text.length);
      return;
    }
    if (this.#text === '') this.#firstLine = this.#line;
    this.#text += `${line}\n`;
    for (let end = this.#scan(); end !== undefined; end = this.#scan()) {
      const rest = this.#text.slice(end + 1);
      yield* this.#take(end);
      this.#text = rest.trim() === '' ? '' : rest;
      this.#firstLine = this.#line;
    }
  }

  /** The statement that the end of the input leaves without its own. */
  *end(): Generator<ConsoleInput> {
    yield* this.#take(this.#text.length);
  }

  *#take(end: number): Generator<ConsoleInput> {
    const whole = this.#text.slice(0, end);
    const blanks = whole.length - whole.trimStart().length;
    const line = this.#firstLine + whole.slice(0, blanks).split('\n').length - 1;
    const hasContent = this.#hasContent;
    this.clear();
    if (hasContent) yield {kind: 'statement', text: whole.trim(), line};
  }

  get #isScript(): boolean {
    return this.#language() === 'sqlscript';
  }

  /** Looks at what is new; the offset of the semicolon that ends a statement, if there is one. */
  #scan(): number | undefined {
    const text = this.#text;
    while (this.#at < text.length) {
      const at = this.#at;
      const letter = text.charAt(at);
      if (this.#open !== undefined) {
        this.#at += this.#insideStep(this.#open, at);
      } else if (this.#isLineComment(at)) {
        this.#at = text.indexOf('\n', at);
      } else if (letter === '/' && text.charAt(at + 1) === '*') {
        this.#open = '*';
        this.#at += 2;
      } else if (letter === ';' && !this.#isScript && this.#braces === 0) {
        return at;
      } else {
        this.#outsideStep(letter);
        this.#at += 1;
      }
    }
    return undefined;
  }

  /** Takes a character of a string, a quoted name or a comment; answers how many it took. */
  #insideStep(open: "'" | '"' | '`' | '*', at: number): number {
    const letter = this.#text.charAt(at);
    if (open === '*') {
      if (letter !== '*' || this.#text.charAt(at + 1) !== '/') return 1;
      this.#open = undefined;
      return 2;
    }
    const escapes = open !== '`' || !this.#isCypher;
    if (letter === '\\' && escapes) return 2;
    // A doubled quote ends one text and begins another: to the end it is the same.
    if (letter === open) this.#open = undefined;
    return 1;
  }

  #outsideStep(letter: string): void {
    if (letter.trim() === '') return;
    this.#hasContent = true;
    if (letter === "'" || letter === '"' || letter === '`') this.#open = letter;
    else if (letter === '{') this.#braces += 1;
    else if (letter === '}') this.#braces = Math.max(0, this.#braces - 1);
  }

  get #isCypher(): boolean {
    return this.#language().endsWith('cypher');
  }

  /** `// ` in Cypher, else `-- `, but not the tail of the arrow `<-- `. */
  #isLineComment(at: number): boolean {
    const text = this.#text;
    if (this.#isCypher) return text.startsWith('//', at);
    return text.startsWith('--', at) && /\s/.test(text.charAt(at + 2)) && text[at - 1] !== '<';
  }
}
