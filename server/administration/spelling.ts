/**
 * Commands as words, as people type them: `restore backup <database> <file> [as <target>]`.
 *
 * A row's spelling has keywords, which are read in any case; `<name>` for an argument of one word;
 * `<name...>` for one that takes all that is left; `[...]` around what may be left out, where a
 * keyword that is the name of a flag turns it on; and `{name, ..}` for a JSON object with these
 * arguments. Whatever is not written as words may be given by name beside them.
 */
import {Refusal} from '#server/base/errors.ts';
import type {JsonParser} from '#server/model/json-parser.ts';
import type {Value} from '#server/model/value.ts';
import {type ArgumentTable, type Given, WrongWords} from './arguments.ts';
import {type AdministrativeCommand, nameOf} from './command.ts';

/** What follows the keywords of a command, in the words of a client. */
export interface Spoken<C extends AdministrativeCommand> {
  readonly command: C;
  readonly rest: string;
}

/** The command that a line begins with; undefined: none has these keywords. */
export function spokenCommand<C extends AdministrativeCommand>(
  commands: Iterable<C>,
  line: string,
): Spoken<C> | undefined {
  const text = line.trim();
  const spaced = text.replaceAll(/[\t\r\n]/g, ' ');
  let found: Spoken<C> | undefined;
  let length = 0;
  for (const command of commands) {
    const name = nameOf(command);
    if (name.length <= length || spaced.slice(0, name.length).toLowerCase() !== name) continue;
    if (!/^( |$)/.test(spaced.slice(name.length))) continue;
    length = name.length;
    found = {command, rest: text.slice(name.length).trim()};
  }
  return found;
}

/** How the command is written, for whoever wrote it otherwise. */
export function syntaxOf({words}: AdministrativeCommand): string {
  return words.replaceAll('...>', '>');
}

/**
 * The arguments that stand in the words behind the keywords, and those beside them.
 *
 * @throws {WrongWords} for words that are not those of the command.
 * @throws {Refusal} `json.invalid`, `request.field`.
 */
export function spokenArguments(
  {command, rest}: Spoken<AdministrativeCommand>,
  beside: Given,
  json: JsonParser,
): Given {
  const pattern = command.words.slice(nameOf(command).length).trim();
  const given = new Map(beside);
  if (pattern.startsWith('{')) {
    if (rest === '' && namesIn(pattern).some(name => beside.has(name))) return given;
    for (const [name, value] of objectIn(rest, namesIn(pattern), json)) given.set(name, value);
    return given;
  }
  const words = new Words(rest, command.arguments);
  for (const [name, value] of words.read(pattern)) given.set(name, value);
  return given;
}

function namesIn(pattern: string): readonly string[] {
  return pattern.replaceAll(/[{}\s]/g, '').split(',');
}

function objectIn(
  text: string,
  names: readonly string[],
  json: JsonParser,
): ReadonlyMap<string, Value> {
  const value = json.parse(Buffer.from(text, 'utf8'));
  if (!(value instanceof Map)) throw new Refusal('json.invalid', 'Expected one JSON object');
  const fields: ReadonlyMap<string, Value> = value;
  for (const name of fields.keys()) {
    if (names.includes(name)) continue;
    const known = names.map(known => `'${known}'`).join(', ');
    throw new Refusal('request.field', `Unknown field '${name.slice(0, 80)}': expected ${known}`);
  }
  return fields;
}

/** Reads words by a pattern, from left to right. */
class Words {
  readonly #table: ArgumentTable;
  readonly #found = new Map<string, Value>();
  #rest: string;

  constructor(rest: string, table: ArgumentTable) {
    this.#rest = rest;
    this.#table = table;
  }

  read(pattern: string): ReadonlyMap<string, Value> {
    for (const [part, inside] of partsOf(pattern)) {
      if (inside === undefined) this.#take(part);
      else if (this.#begins(inside)) for (const [word] of partsOf(inside)) this.#take(word);
    }
    if (this.#rest !== '') throw new WrongWords(`'${this.#rest.slice(0, 80)}' is left over`);
    return this.#found;
  }

  /** Whether what may be left out is there. */
  #begins(inside: string): boolean {
    const [first = ''] = inside.split(' ', 1);
    if (first.startsWith('<')) return this.#rest !== '';
    return this.#rest.split(/\s/, 1)[0]?.toLowerCase() === first;
  }

  #take(part: string): void {
    const name = /^<(\w+)(\.\.\.)?>$/.exec(part);
    if (name === null) return this.#keyword(part);
    const word = name[2] === undefined ? (this.#rest.split(/\s/, 1)[0] ?? '') : this.#rest;
    this.#rest = this.#rest.slice(word.length).trimStart();
    if (word === '') return;
    const argument = name[1] ?? '';
    const isNumber = this.#table[argument]?.kind === 'integer' && /^\d{1,15}$/.test(word);
    this.#found.set(argument, isNumber ? Number(word) : word);
  }

  #keyword(keyword: string): void {
    const [word = ''] = this.#rest.split(/\s/, 1);
    if (word.toLowerCase() !== keyword) throw new WrongWords(`expected '${keyword}'`);
    this.#rest = this.#rest.slice(word.length).trimStart();
    if (this.#table[keyword]?.kind === 'flag') this.#found.set(keyword, true);
  }
}

/** The parts of a pattern; those in brackets with what is inside. */
function* partsOf(pattern: string): Iterable<readonly [string, string | undefined]> {
  for (const [part, inside] of pattern.matchAll(/\[([^\]]*)\]|\S+/g)) yield [part, inside];
}
