/**
 * Reads the words after a command's name against its tables of arguments and options.
 *
 * `--name value`, `--name=value` and, where a row has a letter, `-n value` mean the same; `--` ends
 * the options; a lone `-` is an argument. Nothing is guessed: an unknown option is refused with the
 * nearest known one.
 */
import type {ArgumentRow, Arguments, Command, OptionRow} from './command.ts';
import {UsageError} from './command.ts';

/**
 * Checks `words` for `command`.
 *
 * @throws {UsageError} naming the word that does not fit.
 */
export function readArguments(command: Command, words: readonly string[]): Arguments {
  const given = new Map<string, string[]>();
  const positional: string[] = [];
  let optionsEnded = false;
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? '';
    if (optionsEnded || word === '-' || !word.startsWith('-')) {
      positional.push(word);
    } else if (word === '--') {
      optionsEnded = true;
    } else {
      const {name, row, inline} = optionOf(command.options, word);
      const values = given.get(name) ?? [];
      if (values.length > 0 && row.repeated === undefined) {
        throw new UsageError(`option --${name} is given twice`);
      }
      if (row.value === undefined && inline !== undefined) {
        throw new UsageError(`option --${name} takes no value`);
      }
      let value = inline ?? '';
      if (row.value !== undefined && inline === undefined) {
        index += 1;
        const next = words[index];
        if (next === undefined) throw new UsageError(`option --${name} needs a ${row.value}`);
        value = next;
      }
      given.set(name, [...values, value]);
    }
  }
  checkCount(command.arguments, positional);
  return {
    positional,
    has: option => given.has(option),
    value: option => given.get(option)?.at(-1),
    values: option => given.get(option) ?? [],
  };
}

function optionOf(
  options: Readonly<Record<string, OptionRow>>,
  word: string,
): {name: string; row: OptionRow; inline: string | undefined} {
  const [, dashes = '', name = '', , inline] = /^(--?)([^=]*)(=([\s\S]*))?$/.exec(word) ?? [];
  const found = Object.entries(options).find(([long, {short}]) =>
    dashes === '--' ? long === name : short === name,
  );
  if (found !== undefined) return {name: found[0], row: found[1], inline};
  const near = nearest(name, Object.keys(options));
  const hint = near === undefined ? '' : `; did you mean --${near}?`;
  throw new UsageError(`unknown option ${dashes}${name}${hint}`);
}

function checkCount(rows: readonly ArgumentRow[], positional: readonly string[]): void {
  const least = rows.filter(row => row.count === undefined || row.count === 'many');
  const missing = least[positional.length];
  if (missing !== undefined) throw new UsageError(`${missing.name} is missing`);
  const unbounded = rows.some(row => row.count === 'many' || row.count === 'any');
  const extra = positional[rows.length];
  if (extra !== undefined && !unbounded) {
    throw new UsageError(`there is no argument for '${extra}'; quote a value that holds blanks`);
  }
}

/** The word of `words` with the fewest edits to `word`: two, or a third of its letters. */
export function nearest(word: string, words: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestEdits = Math.max(2, Math.floor(word.length / 3)) + 1;
  for (const candidate of words) {
    const edits = editDistance(word, candidate);
    if (edits < bestEdits) [best, bestEdits] = [candidate, edits];
  }
  return best;
}

function editDistance(one: string, other: string): number {
  let previous = Array.from({length: other.length + 1}, (_, index) => index);
  for (const [row, letter] of [...one].entries()) {
    const current = [row + 1];
    for (const [column, against] of [...other].entries()) {
      const change = (previous[column] ?? 0) + (letter === against ? 0 : 1);
      current.push(Math.min(change, (previous[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[other.length] ?? 0;
}
