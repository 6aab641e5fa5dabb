/** What Tab offers in a console: its own commands and their arguments, or parts of a statement. */
import {complete, type Completion, matching} from './completion.ts';
import type {ConsoleSession} from './console-session.ts';
import {metaCommands} from './meta-commands.ts';
import {StatementReader} from './statement-reader.ts';

/** A key press waits for the server no longer than this. */
const patienceMillis = 1_000;

/**
 * Never fails: a server that does not answer offers nothing.
 *
 * @param pending - The lines of the statement before the one that is typed.
 * @param line - That line up to the cursor.
 */
export async function completeConsole(
  session: ConsoleSession,
  pending: string,
  line: string,
): Promise<Completion> {
  const {promise: late, resolve} = Promise.withResolvers<Completion>();
  const timer = setTimeout(() => resolve({candidates: [], typed: line}), patienceMillis);
  try {
    const isCommand = pending === '' && line.trimStart().startsWith(':');
    const found = isCommand
      ? completeCommand(session, line.trimStart())
      : completeStatement(session, pending + line);
    const {candidates, typed} = await Promise.race([found, late]);
    const [only = ''] = candidates;
    // A whole word is followed by the next one; what ends in a sign goes on.
    const isWhole = candidates.length === 1 && /[\w`]$/.test(only);
    return {candidates: isWhole ? [`${only} `] : candidates, typed};
  } finally {
    clearTimeout(timer);
  }
}

async function completeCommand(session: ConsoleSession, line: string): Promise<Completion> {
  const [, name = '', argument] = /^:(\S*)(?:\s+(\S*))?$/.exec(line) ?? [];
  if (argument === undefined) {
    return matching(
      `:${name}`,
      metaCommands.map(command => `:${command.name}`),
    );
  }
  const command = metaCommands.find(one => one.name === name);
  return matching(argument, (await command?.candidates?.(session)) ?? []);
}

async function completeStatement(session: ConsoleSession, text: string): Promise<Completion> {
  const {names, language} = session;
  const [words, schema] = await Promise.all([names.words(language), session.schemaNames()]);
  const {isQuoted, statement} = lastStatement(text, language);
  return complete(statement, {language, words, ...schema, seen: names.seen}, isQuoted);
}

/** What stands behind the last statement that has ended, and whether that is inside a string. */
function lastStatement(
  text: string,
  language: string,
): {readonly statement: string; readonly isQuoted: boolean} {
  const reader = new StatementReader(() => language);
  for (const line of text.split('\n')) for (const _ of reader.feed(line));
  const isQuoted = reader.open !== undefined && reader.open !== 'statement';
  return {statement: reader.pending.replace(/\n$/, ''), isQuoted};
}
