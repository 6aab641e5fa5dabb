/**
 * The languages of statements, a row for each front end: how a text becomes a bound statement, and
 * what may be the code of a function or trigger. Their words are in vocabulary.ts.
 *
 * How to add one: docs/design/0057-how-to-add-a-command-a-family-a-language.md.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Cooperative} from '#server/base/cooperative.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import type {FunctionRegistry} from '#server/execution/function-registry.ts';
import {bindCypher} from '#server/languages/cypher/bind.ts';
import type {MissingType} from '#server/plan/statement.ts';
import {parseCypher, parsingCypher} from '#server/languages/cypher/parser.ts';
import type {Procedures} from '#server/languages/cypher/procedures.ts';
import type {ParseLimits} from '#server/languages/limits.ts';
import type {Script} from '#server/languages/sql/ast-statement.ts';
import {bindStatement, isScriptStatement} from '#server/languages/sql/bind-statement.ts';
import {parseScript, parseStatement, parsingStatement} from '#server/languages/sql/parser.ts';
import type {Statement} from '#server/plan/statement.ts';

/** What texts are bound against. */
export interface BindOptions {
  readonly catalog: Catalog;
  readonly functions: FunctionRegistry;
  readonly procedures: Procedures;
  readonly limits: ParseLimits;
  readonly databaseName: string;
  /** The languages that there are. */
  readonly languages: Languages;
}

/** A text that is bound and not prepared yet. */
export type BoundText =
  | {readonly kind: 'bound'; readonly statement: Statement}
  /** Types that must be made before the statement, bound as if they were there, can be prepared. */
  | {
      readonly kind: 'needs-types';
      readonly missing: readonly MissingType[];
      readonly statement: Statement;
    }
  | {readonly kind: 'script'; readonly script: Script};

/** Reads and binds in cooperative steps. @throws {Refusal} what is wrong, with its place. */
type BindLanguage = (text: string, options: BindOptions) => Cooperative<BoundText>;

export interface FrontEnd {
  /** How texts of each of its languages are bound; the first is the usual one. */
  readonly languages: Readonly<Record<string, BindLanguage>>;
  /** Refuses what it cannot read; what the code names is looked at when it runs. */
  readonly checkCode: (text: string, limits: ParseLimits) => void;
}

function* bindingSql(text: string, {limits, catalog}: BindOptions): Cooperative<BoundText> {
  const ast = yield* parsingStatement(text, limits);
  yield;
  // A statement of scripts is a script of one.
  if (isScriptStatement(ast)) return {kind: 'script', script: {statements: [ast]}};
  return {kind: 'bound', statement: bindStatement(text, ast, catalog)};
}

// oxlint-disable-next-line eslint/require-yield -- its statements are bound when it runs
function* bindingScript(text: string, {limits}: BindOptions): Cooperative<BoundText> {
  return {kind: 'script', script: parseScript(text, limits)};
}

function* bindingCypher(text: string, options: BindOptions): Cooperative<BoundText> {
  const ast = yield* parsingCypher(text, options.limits);
  yield;
  const {statement, missing} = bindCypher(text, ast, options);
  const runs = statement.kind !== 'explain' || statement.execute;
  if (missing.length > 0 && runs) return {kind: 'needs-types', missing, statement};
  return {kind: 'bound', statement};
}

function checkSql(text: string, limits: ParseLimits): void {
  const [only, ...more] = parseScript(text, limits).statements;
  if (more.length === 0 && (only === undefined || !isScriptStatement(only))) {
    parseStatement(text, limits);
    return;
  }
  throw new Refusal('not-available', 'a script is not available here yet: write one statement', {
    detail: {name: 'a script as the code of a function or trigger'},
  });
}

export const frontEnds = {
  sql: {languages: {sql: bindingSql, sqlscript: bindingScript}, checkCode: checkSql},
  opencypher: {
    languages: {cypher: bindingCypher, opencypher: bindingCypher},
    checkCode: parseCypher,
  },
} as const satisfies Record<string, FrontEnd>;

/** What binds the texts of each language, by its name. */
export type Languages = ReadonlyMap<string, BindLanguage>;

/** A table of front ends beside the server's own. */
export type FrontEnds = Readonly<Record<string, FrontEnd>>;

/** The server's own languages and those of `brought`. */
export function languagesWith(brought: FrontEnds = {}): Languages {
  const all: FrontEnds = {...frontEnds, ...brought};
  return new Map(Object.values(all).flatMap(({languages: known}) => Object.entries(known)));
}

/** The names of the server's own languages. */
export const languages: readonly string[] = [...languagesWith().keys()];

const laterLanguages = new Set(['gremlin', 'graphql', 'mongo', 'redis']);

/** Names ignore case. @throws {Refusal} `query.unknown-language`, `not-available`. */
export function languageOf(language: string, known: Languages): BindLanguage {
  const name = language.toLowerCase();
  const binding = known.get(name);
  if (binding !== undefined) return binding;
  if (laterLanguages.has(name)) {
    throw new Refusal('not-available', `the language '${name}' is not available yet`, {
      detail: {name},
    });
  }
  throw new Refusal(
    'query.unknown-language',
    `Query engine '${language.slice(0, 64)}' was not found: ` +
      `expected one of ${[...known.keys()].join(', ')}`,
  );
}
