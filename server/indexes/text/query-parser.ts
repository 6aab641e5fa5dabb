/**
 * Reads a full-text query: Lucene's classic syntax, with the classic meaning of its operators.
 *
 * `a b`: either (or both, by `defaultOperator`), `+a`: must, `-a` and `NOT a`: must not, `a AND b`
 * makes both a must, `a OR b` neither; groups, `field:`, `"phrase"~slop`, `pre*`, `w?ld*`,
 * `term~n`, `[a TO b]`, `^boost`. Words go through the analyzer of their field; a word that it
 * makes several terms of counts as a group. A query of nothing but words that the analyzer drops
 * finds nothing.
 */
import {assert} from '#server/base/assert.ts';
import {nearestNameHint} from '#server/catalog/nearest-name.ts';
import type {Analyzer} from './analyzer.ts';
import type {Clause, Occurrence, TermBound, TextQuery} from './query.ts';
import {type QueryToken, queryTokens, unescaped} from './query-lexer.ts';
import {refuseQuery} from './query-refusal.ts';

export interface QueryField {
  readonly name: string;
  readonly analyzer: Analyzer;
  readonly boost: number;
}

export interface QuerySyntax {
  readonly fields: readonly QueryField[];
  readonly defaultOperator: 'AND' | 'OR';
  readonly allowLeadingWildcard: boolean;
  /** Phrases ask for their order; else for all of their words in one record. */
  readonly positions: boolean;
  /** Numbers of the fields where words without a field are looked for; undefined: all. */
  readonly asked?: readonly number[] | undefined;
}

/** UTF-16 units of a query. */
const queryUnitsMax = 1 << 20;
/** The most clauses a query may have, as in Lucene. */
const clausesMax = 1_024;
const depthMax = 64;
/** UTF-16 units of a term, a prefix or a pattern. */
const termUnitsMax = 255;

/** @throws {Refusal} `search.syntax` for what cannot be read or is too large. */
export function parseQuery(text: string, syntax: QuerySyntax): TextQuery {
  if (text.length > queryUnitsMax) {
    refuseQuery(text, `it has ${text.length} characters, more than ${queryUnitsMax}`);
  }
  const tokens = queryTokens(text);
  if (!tokens.some(({kind}) => operands.has(kind)))
    refuseQuery(text, 'it names nothing to look for');
  return new QueryParser(text, tokens, syntax).whole();
}

/** All words of a text, in any field; a text of dropped words alone finds nothing. */
export function wordsQuery(text: string, {fields}: QuerySyntax): TextQuery {
  const inFields = fields.map(({analyzer}, field): Clause => {
    const clauses: Clause[] = [];
    const seen = new Set<string>();
    analyzer.analyze(text, term => {
      if (seen.has(term)) return;
      seen.add(term);
      clauses.push({occurrence: 'must', query: {kind: 'term', field, term, boost: 1}});
    });
    if (seen.size > clausesMax) refuseQuery(text, `more than ${clausesMax} clauses`);
    return {occurrence: 'should', query: {kind: 'boolean', clauses, boost: 1}};
  });
  return {kind: 'boolean', clauses: inFields, boost: 1};
}

const operands: ReadonlySet<QueryToken['kind']> = new Set(['word', 'quoted', 'range', 'all']);

class QueryParser {
  readonly #text: string;
  readonly #tokens: readonly QueryToken[];
  readonly #syntax: QuerySyntax;
  #at = 0;
  #clauses = 0;

  constructor(text: string, tokens: readonly QueryToken[], syntax: QuerySyntax) {
    this.#text = text;
    this.#tokens = tokens;
    this.#syntax = syntax;
  }

  whole(): TextQuery {
    const query = this.#group(undefined, 0);
    if (this.#at < this.#tokens.length) refuseQuery(this.#text, 'a ) closes nothing');
    return query;
  }

  /** Clauses up to the end or a closing bracket. */
  #group(field: number | undefined, depth: number): TextQuery {
    if (depth > depthMax) refuseQuery(this.#text, `groups stand more than ${depthMax} deep`);
    const clauses: Clause[] = [];
    let isFirst = true;
    for (;;) {
      const next = this.#peek();
      if (next === undefined || next.kind === 'close') break;
      const conjunction = isFirst ? undefined : this.#conjunction();
      const modifier = this.#modifier();
      const query = this.#clause(field, depth);
      isFirst = false;
      this.#add(clauses, conjunction, modifier, query);
    }
    if (isFirst) refuseQuery(this.#text, 'a group is empty');
    const [only] = clauses;
    if (clauses.length === 1 && only !== undefined && only.occurrence !== 'must-not') {
      return only.query;
    }
    return {kind: 'boolean', clauses, boost: 1};
  }

  #conjunction(): 'and' | 'or' | undefined {
    const kind = this.#peek()?.kind;
    if (kind !== 'and' && kind !== 'or') return undefined;
    this.#at += 1;
    return kind;
  }

  #modifier(): 'required' | 'prohibited' | undefined {
    const kind = this.#peek()?.kind;
    if (kind !== 'plus' && kind !== 'minus' && kind !== 'not') return undefined;
    this.#at += 1;
    return kind === 'plus' ? 'required' : 'prohibited';
  }

  /** What AND, OR, + and - make of a clause and of the one before it. */
  #add(
    clauses: Clause[],
    conjunction: 'and' | 'or' | undefined,
    modifier: 'required' | 'prohibited' | undefined,
    query: TextQuery | undefined,
  ): void {
    const isOr = this.#syntax.defaultOperator === 'OR';
    const last = clauses.at(-1);
    if (last !== undefined && last.occurrence !== 'must-not') {
      if (conjunction === 'and') clauses[clauses.length - 1] = {...last, occurrence: 'must'};
      else if (conjunction === 'or' && !isOr) {
        clauses[clauses.length - 1] = {...last, occurrence: 'should'};
      }
    }
    if (query === undefined) return;
    let occurrence: Occurrence = 'should';
    if (modifier === 'prohibited') occurrence = 'must-not';
    else if (modifier === 'required') occurrence = 'must';
    else if (isOr ? conjunction === 'and' : conjunction !== 'or') occurrence = 'must';
    clauses.push({occurrence, query});
  }

  #clause(field: number | undefined, depth: number): TextQuery | undefined {
    const token = this.#next();
    switch (token.kind) {
      case 'field':
        return this.#clause(this.#fieldNamed(token.text), depth);
      case 'open': {
        const query = this.#group(field, depth + 1);
        if (this.#peek()?.kind !== 'close') refuseQuery(this.#text, 'a ( is not closed');
        this.#at += 1;
        return boosted(query, this.#boost());
      }
      case 'all':
        this.#count();
        return {kind: 'all', boost: this.#boost()};
      case 'quoted': {
        const slop = Number(this.#tilde() ?? 0);
        return this.#quoted(field, unescaped(token.text), {slop, boost: this.#boost()});
      }
      case 'range':
        return this.#inFields(field, this.#boost(), (one, boost) => this.#range(one, token, boost));
      case 'word':
        return this.#word(field, token);
      default:
        return refuseQuery(
          this.#text,
          `'${operatorText(token)}' is followed by nothing to look for`,
        );
    }
  }

  #word(
    field: number | undefined,
    {text, isPattern}: QueryToken & {readonly kind: 'word'},
  ): TextQuery | undefined {
    const tilde = isPattern ? undefined : this.#tilde();
    const boost = this.#boost();
    if (isPattern) return this.#pattern(field, text, boost);
    const plain = unescaped(text);
    if (tilde === undefined) {
      return this.#inFields(field, boost, (one, own) => this.#terms(one, plain, own));
    }
    this.#requireShort(plain);
    const edits = editsOf(tilde, plain);
    if (edits === undefined) refuseQuery(this.#text, `'~${tilde}' is not a number of edits`);
    return this.#inFields(field, boost, (one, own) => {
      const term = this.#fieldAt(one).analyzer.fold(plain);
      return {kind: 'fuzzy', field: one, term, edits, boost: own};
    });
  }

  #pattern(field: number | undefined, text: string, boost: number): TextQuery | undefined {
    this.#requireShort(text);
    const isLeading = text.startsWith('*') || text.startsWith('?');
    if (isLeading && !this.#syntax.allowLeadingWildcard) {
      refuseQuery(this.#text, "'*' or '?' not allowed as first character in WildcardQuery");
    }
    const head = text.slice(0, -1);
    const isPrefix = text.endsWith('*') && head !== '' && !hasWildcard(head);
    return this.#inFields(field, boost, (one, own) => {
      const {analyzer} = this.#fieldAt(one);
      if (isPrefix) {
        return {kind: 'prefix', field: one, prefix: analyzer.fold(unescaped(head)), boost: own};
      }
      return {kind: 'wildcard', field: one, pattern: analyzer.fold(text), boost: own};
    });
  }

  /** The terms of a word in one field; undefined where its analyzer drops it. */
  #terms(field: number, text: string, boost: number): TextQuery | undefined {
    const terms: string[] = [];
    this.#fieldAt(field).analyzer.analyze(text, term => terms.push(term));
    const [only] = terms;
    if (only === undefined) return undefined;
    if (terms.length === 1) return {kind: 'term', field, term: only, boost};
    const occurrence = this.#syntax.defaultOperator === 'OR' ? 'should' : 'must';
    for (let more = 1; more < terms.length; more += 1) this.#count();
    const clauses = terms.map((term): Clause => {
      return {occurrence, query: {kind: 'term', field, term, boost: 1}};
    });
    return {kind: 'boolean', clauses, boost};
  }

  /** The words may stand in any fields of the record where there are no positions. */
  #quoted(
    field: number | undefined,
    text: string,
    {slop, boost}: {readonly slop: number; readonly boost: number},
  ): TextQuery | undefined {
    if (this.#syntax.positions || field !== undefined || this.#asked.length === 1) {
      return this.#inFields(field, boost, (one, own) =>
        this.#phrase(one, text, {slop, boost: own}),
      );
    }
    const clauses: Clause[] = [];
    for (const word of text.split(/\s+/u)) {
      const query = this.#inFields(undefined, 1, (one, own) =>
        this.#phrase(one, word, {slop, boost: own}),
      );
      if (query !== undefined) clauses.push({occurrence: 'must', query});
    }
    return clauses.length === 0 ? undefined : {kind: 'boolean', clauses, boost};
  }

  #phrase(
    field: number,
    text: string,
    {slop, boost}: {readonly slop: number; readonly boost: number},
  ): TextQuery | undefined {
    const terms: string[] = [];
    const at: number[] = [];
    this.#fieldAt(field).analyzer.analyze(text, (term, position) => {
      terms.push(term);
      at.push(position);
    });
    const [only] = terms;
    if (only === undefined) return undefined;
    if (terms.length === 1) return {kind: 'term', field, term: only, boost};
    for (let more = 1; more < terms.length; more += 1) this.#count();
    return {kind: 'phrase', field, terms, at, slop, boost};
  }

  #range(field: number, token: QueryToken & {readonly kind: 'range'}, boost: number): TextQuery {
    const {analyzer} = this.#fieldAt(field);
    const bound = (text: string, inclusive: boolean): TermBound | undefined =>
      text === '*' ? undefined : {term: analyzer.fold(unescaped(text)), inclusive};
    const from = bound(token.from, token.fromInclusive);
    return {kind: 'range', field, from, to: bound(token.to, token.toInclusive), boost};
  }

  /** The clause in the field that is named, or in any of them. */
  #inFields(
    field: number | undefined,
    boost: number,
    make: (field: number, boost: number) => TextQuery | undefined,
  ): TextQuery | undefined {
    const asked = this.#asked;
    if (field !== undefined || asked.length === 1) {
      this.#count();
      const one = field ?? asked[0] ?? 0;
      return make(one, boost * this.#fieldAt(one).boost);
    }
    const clauses: Clause[] = [];
    for (const at of asked) {
      this.#count();
      const query = make(at, this.#fieldAt(at).boost);
      if (query !== undefined) clauses.push({occurrence: 'should', query});
    }
    return clauses.length === 0 ? undefined : {kind: 'boolean', clauses, boost};
  }

  /** Where words without a field are looked for. */
  get #asked(): readonly number[] {
    const {asked, fields} = this.#syntax;
    return asked ?? [...fields.keys()];
  }

  #fieldNamed(name: string): number {
    const {fields} = this.#syntax;
    const at = fields.findIndex(field => field.name === name);
    if (at >= 0) return at;
    const names = fields.map(field => field.name);
    const hint = nearestNameHint(name, names);
    return refuseQuery(
      this.#text,
      `the index has no field '${name}'${hint}; its fields: ${names.join(', ')}`,
    );
  }

  #fieldAt(at: number): QueryField {
    const field = this.#syntax.fields[at];
    assert(field !== undefined, 'a field of the index is known by its number');
    return field;
  }

  #boost(): number {
    const token = this.#peek();
    if (token?.kind !== 'boost') return 1;
    this.#at += 1;
    if (token.text === '') refuseQuery(this.#text, "'^' is followed by no number");
    return Number(token.text);
  }

  #tilde(): string | undefined {
    const token = this.#peek();
    if (token?.kind !== 'tilde') return undefined;
    this.#at += 1;
    return token.text;
  }

  #requireShort(text: string): void {
    if (text.length <= termUnitsMax) return;
    refuseQuery(
      this.#text,
      'a fuzzy word, a prefix or a pattern has ' +
        `at most ${termUnitsMax} characters, not ${text.length}`,
    );
  }

  #count(): void {
    this.#clauses += 1;
    if (this.#clauses > clausesMax) refuseQuery(this.#text, `more than ${clausesMax} clauses`);
  }

  #peek(): QueryToken | undefined {
    return this.#tokens[this.#at];
  }

  #next(): QueryToken {
    const token = this.#peek();
    if (token === undefined) return refuseQuery(this.#text, 'it ends behind an operator');
    this.#at += 1;
    return token;
  }
}

function boosted(query: TextQuery, boost: number): TextQuery {
  return boost === 1 ? query : {...query, boost: query.boost * boost};
}

function hasWildcard(text: string): boolean {
  return /[*?]/u.test(text.replaceAll(/\\./gsu, ''));
}

/** `~`: two; `~1`: one; `~0.8`: as many as leave that share of the word; undefined: no number. */
function editsOf(tilde: string, word: string): 0 | 1 | 2 | undefined {
  if (tilde === '') return 2;
  const wanted = Number(tilde);
  const edits = wanted < 1 ? Math.floor((1 - wanted) * word.length) : Math.floor(wanted);
  if (wanted === 0) return 0;
  if (edits >= 2) return 2;
  return edits === 1 ? 1 : 0;
}

function operatorText(token: QueryToken): string {
  if (token.kind === 'boost') return `^${token.text}`;
  if (token.kind === 'tilde') return `~${token.text}`;
  return operatorTexts[token.kind] ?? token.kind;
}

const operatorTexts: Readonly<Partial<Record<QueryToken['kind'], string>>> = {
  and: 'AND',
  or: 'OR',
  not: 'NOT',
  plus: '+',
  minus: '-',
  close: ')',
};
