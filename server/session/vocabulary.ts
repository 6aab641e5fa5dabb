/**
 * The words of the languages: what a client offers while somebody types.
 *
 * They come from the tables that the front ends themselves read (keywords of each grammar, the one
 * table of functions, the names that Cypher gives them), so that nothing is offered that the server
 * would not know. Functions that wait for later work are left out.
 */
import {cypherFunction, cypherFunctionNames} from '#server/languages/cypher/functions.ts';
import {keywords as cypherKeywords} from '#server/languages/cypher/keyword.ts';
import {proceduresWith} from '#server/languages/cypher/procedures.ts';
import {beginnings} from '#server/languages/sql/grammar-form.ts';
import {keywords as sqlKeywords} from '#server/languages/sql/keyword.ts';
import {functionRows, functionSignature} from '#server/plan/function-table.ts';
import type {FunctionSignature} from '#server/plan/functions.ts';
import {frontEnds} from './languages/front-ends.ts';

/** Something that a statement may call, under one of its names. */
export interface CallableWord {
  /** A method is written without the dot before it. */
  readonly name: string;
  readonly kind: 'function' | 'method' | 'aggregate' | 'table' | 'procedure';
  /** A sentence; undefined where the tables have none. */
  readonly says: string | undefined;
}

export interface Vocabulary {
  /** The names by which a request asks for this front end; the first is the usual one. */
  readonly languages: readonly string[];
  readonly keywords: readonly string[];
  /** Keywords that a statement begins with, as `CREATE VERTEX TYPE`; empty: not told. */
  readonly beginnings: readonly string[];
  /** Sorted by name. */
  readonly functions: readonly CallableWord[];
}

/** One for each front end. Cost: some thousand steps; ask once. */
export function vocabularies(): readonly Vocabulary[] {
  return [
    {
      languages: Object.keys(frontEnds.sql.languages),
      keywords: sqlKeywords,
      beginnings,
      functions: byName(sqlFunctions()),
    },
    {
      languages: Object.keys(frontEnds.opencypher.languages),
      keywords: cypherKeywords,
      beginnings: [],
      functions: byName([...cypherFunctions(), ...cypherProcedures()]),
    },
  ];
}

function sqlFunctions(): CallableWord[] {
  return available(functionRows).flatMap(({name, aliases = [], kind, says}): CallableWord[] => {
    if (kind === 'operator') return [];
    // For whoever types, what only a binder understands is a function like the others.
    const seen = kind === 'construct' ? 'function' : kind;
    return [name, ...aliases].map(one => ({name: one.replace(/^\./, ''), kind: seen, says}));
  });
}

/** Its own names, and those of the table that have a namespace. */
function cypherFunctions(): CallableWord[] {
  const own = cypherFunctionNames().flatMap((name): CallableWord[] => {
    const meant = cypherFunction(name);
    if (meant === undefined) return [];
    const says = functionSignature(meant.name)?.says;
    const kind = meant.kind === 'aggregate' ? 'aggregate' : 'function';
    return [{name: spelling(name, meant.name), kind, says}];
  });
  const taken = new Set(own.map(({name}) => name.toLowerCase()));
  const named = available(functionRows).flatMap(({name, kind, says}): CallableWord[] => {
    const isCalled = kind === 'function' && name.includes('.') && !name.startsWith('std.');
    return isCalled && !taken.has(name.toLowerCase()) ? [{name, kind, says}] : [];
  });
  return [...own, ...named];
}

/** `tointeger` stands for `std.toInteger`: the table knows its capitals. */
function spelling(name: string, inTable: string): string {
  const end = inTable.slice(-name.length);
  return end.toLowerCase() === name ? end : name;
}

function cypherProcedures(): CallableWord[] {
  return [...proceduresWith([]).values()]
    .filter(({name}) => !name.startsWith('show.'))
    .map(({name}) => ({name, kind: 'procedure', says: functionSignature(name)?.says}));
}

function available(rows: readonly FunctionSignature[]): readonly FunctionSignature[] {
  return rows.filter(({later}) => later === undefined);
}

function byName(words: readonly CallableWord[]): readonly CallableWord[] {
  return [...words].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}
