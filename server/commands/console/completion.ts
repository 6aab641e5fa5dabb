/**
 * What may follow the text before the cursor: pure, from names to candidates.
 *
 * The text is not parsed; the words before the cursor say whether a statement is being begun
 * (`CREATE VERTEX`), a type is wanted (`FROM`, a label of Cypher) or a member of something (behind
 * a dot). Elsewhere every word of the language, type
 * and property is offered that begins as typed. Letters match in any case; a keyword is offered
 * in the case in which it was begun, a name as it is spelt.
 */
import type {CallableWord, LanguageWords} from '#server/client/client.ts';
import type {TypeNames} from './server-names.ts';

/** What is known when a key asks for completion. */
export interface KnownNames {
  readonly language: string;
  readonly words: LanguageWords | undefined;
  readonly types: readonly TypeNames[];
  /** Names of functions that users have defined. */
  readonly functions: readonly string[];
  /** Names of properties that no type declares. */
  readonly seen: Iterable<string>;
}

export interface Completion {
  /** What may stand in the place of `typed`, sorted. */
  readonly candidates: readonly string[];
  /** The end of the text that a candidate replaces. */
  readonly typed: string;
}

/** Words of SQL behind which a type is named. */
const beforeType =
  /\b(?:from|into|update|type|extends|edge|vertex|document|property|index\s+on|instanceof)\s+$/i;

/** A key of a pattern of SQL's MATCH, or a step along edges, behind which a type is named. */
const beforeInnerType = /\btype\s*:\s*$|\b(?:in|out|both)(?:E|V)?\(\s*['"]$/i;

/**
 * @param text - The statement up to the cursor, earlier lines included.
 * @param isQuoted - The cursor is in a string: only the name of a type may be meant.
 */
export function complete(text: string, known: KnownNames, isQuoted = false): Completion {
  const inside = completeInside(text, known, isQuoted);
  const {typed} = inside;
  const {next, isWhole} = nextOfBeginning(text.slice(0, text.length - typed.length), known);
  if (!isWhole) return matching(typed, inWritingOf(typed, next));
  // A word that may follow is no reason to write it behind what is complete without.
  if (typed === '') return inside;
  return matching(typed, [...inside.candidates, ...inWritingOf(typed, next)]);
}

/** Keywords that may go on with the beginning of a statement, and whether something else may. */
function nextOfBeginning(
  before: string,
  {words}: KnownNames,
): {readonly next: readonly string[]; readonly isWhole: boolean} {
  const written = before.trim().toUpperCase().split(/\s+/).join(' ');
  const prefix = written === '' ? '' : `${written} `;
  const beginnings = words?.beginnings ?? [];
  const longer = beginnings.filter(each => each.startsWith(prefix));
  const next = longer.map(each => each.slice(prefix.length).split(' ')[0] ?? '');
  return {next, isWhole: longer.length === 0 || beginnings.includes(written)};
}

function completeInside(text: string, known: KnownNames, isQuoted: boolean): Completion {
  const typed = /(?:schema:)?[\w$]*(?:\.[\w$]*)*$/.exec(text)?.[0] ?? '';
  const before = text.slice(0, text.length - typed.length);
  if (wantsType(before, known.language)) {
    const tables = functionsOf(known).filter(({kind, name}) => kind === 'table' && /:/.test(name));
    const names = known.language.endsWith('cypher') ? [] : tables.map(({name}) => name);
    const members = memberOfType(typed, known);
    return members ?? matching(typed, [...known.types.map(({name}) => quoted(name)), ...names]);
  }
  if (isQuoted) return {candidates: [], typed};
  if (typed.includes('.')) return completeDotted(typed, text, known);
  if (typed === '') return {candidates: [], typed};
  return matching(typed, [
    ...propertiesFor(text, known),
    ...known.types.map(({name}) => quoted(name)),
    ...functionsOf(known)
      .filter(({kind}) => kind === 'function' || kind === 'aggregate')
      .map(({name}) => (name.includes('.') ? namespaceOf(name) : `${name}(`)),
    ...procedureSpaces(before, known),
    ...inWritingOf(typed, known.words?.keywords ?? []),
  ]);
}

/** `Person.na`, where a statement about the schema names a property of a type. */
function memberOfType(typed: string, known: KnownNames): Completion | undefined {
  const [typeName = '', ...rest] = typed.split('.');
  if (rest.length !== 1) return undefined;
  const properties = propertiesOf([typeName], known.types);
  return matching(
    typed,
    [...properties].map(name => `${typeName}.${name}`),
  );
}

/** Functions with a namespace, else properties and methods of whatever stands before the dot. */
function completeDotted(typed: string, text: string, known: KnownNames): Completion {
  const named = functionsOf(known).filter(({kind}) => kind !== 'method' && kind !== 'table');
  const functions = matching(
    typed,
    named.map(({name}) => `${name}(`),
  );
  if (functions.candidates.length > 0) return functions;
  const methods = functionsOf(known).filter(({kind}) => kind === 'method');
  return matching(typed.slice(typed.lastIndexOf('.') + 1), [
    ...propertiesFor(text, known),
    ...methods.map(({name}) => `${name}(`),
  ]);
}

function wantsType(before: string, language: string): boolean {
  if (!language.endsWith('cypher')) return beforeType.test(before) || beforeInnerType.test(before);
  return /[:|&!]\s*$/.test(before) && openBracket(before) !== '{';
}

/** The innermost bracket that is open at the end of `text`. */
function openBracket(text: string): string | undefined {
  const open: string[] = [];
  for (const letter of text) {
    if ('([{'.includes(letter)) open.push(letter);
    else if (')]}'.includes(letter)) open.pop();
  }
  return open.at(-1);
}

function functionsOf({words, functions}: KnownNames): readonly CallableWord[] {
  const own = functions.map((name): CallableWord => ({name, kind: 'function'}));
  return [...(words?.functions ?? []), ...own];
}

/** `text.indexOf` is offered as `text.` until the dot is there. */
function namespaceOf(name: string): string {
  return name.slice(0, name.indexOf('.') + 1);
}

/** Procedures are named behind CALL alone. */
function procedureSpaces(before: string, known: KnownNames): readonly string[] {
  if (!/\bcall\s+$/i.test(before)) return [];
  const procedures = functionsOf(known).filter(({kind}) => kind === 'procedure');
  return procedures.map(({name}) => namespaceOf(name));
}

/** Lists the properties of the types that the statement names, or of all types. */
function propertiesFor(text: string, known: KnownNames): readonly string[] {
  const words = new Set(text.match(/[\w$]+/g));
  const named = known.types.filter(({name}) => words.has(name)).map(({name}) => name);
  const declared = propertiesOf(
    named.length > 0 ? named : known.types.map(({name}) => name),
    known.types,
  );
  return [...declared, ...known.seen].map(quoted);
}

/** Own and inherited. */
function propertiesOf(names: readonly string[], types: readonly TypeNames[]): Set<string> {
  const byName = new Map(types.map(type => [type.name, type]));
  const properties = new Set<string>();
  const waiting = [...names];
  const done = new Set<string>();
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const type = byName.get(name);
    if (type === undefined || done.has(name)) continue;
    done.add(name);
    for (const property of type.properties) properties.add(property);
    waiting.push(...type.parents);
  }
  return properties;
}

/** The names that begin as `typed` does, each once, sorted. */
export function matching(typed: string, names: readonly string[]): Completion {
  const begin = typed.toLowerCase();
  const candidates = [...new Set(names)]
    .filter(name => name.replace(/^`/, '').toLowerCase().startsWith(begin))
    .sort();
  return {candidates, typed};
}

/** Keywords in the case in which the word was begun. */
function inWritingOf(typed: string, keywords: readonly string[]): readonly string[] {
  const isSmall = typed !== '' && typed === typed.toLowerCase();
  return isSmall ? keywords.map(keyword => keyword.toLowerCase()) : keywords;
}

function quoted(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? name : `\`${name.replaceAll('`', '``')}\``;
}
