/**
 * A console without a terminal: inputs from `-e` or from a pipe, one after the other, to the first
 * that fails.
 */
import {createInterface} from 'node:readline';
import {type Input, type Output, print} from '../command.ts';
import type {ConsoleSession} from './console-session.ts';
import {failureText} from './failure-text.ts';
import {runMetaCommand} from './meta-commands.ts';
import {type ConsoleInput, StatementReader} from './statement-reader.ts';

/** Lines without their ends; what is open at the last of them ends there. */
export type Lines = AsyncIterable<string> | readonly string[];

/** The lines of a stream. */
export function linesOf(input: Input): Lines {
  return createInterface({input, terminal: false, crlfDelay: Number.POSITIVE_INFINITY});
}

/**
 * Carries out what the sources hold, one after the other. A transaction that is open at their end,
 * or when something fails, is rolled back.
 *
 * @returns The exit code.
 */
export async function runScript(
  session: ConsoleSession,
  sources: readonly Lines[],
  errors: Output,
): Promise<number> {
  let failure: string | undefined;
  for await (const input of inputsOf(session, sources)) {
    const outcome = await carryOut(session, input);
    if (outcome === 'done') continue;
    if (outcome !== 'quit') failure = `line ${input.line}: ${outcome.said}`;
    break;
  }
  if (session.hasTransaction) {
    failure ??= 'the script ended without :commit: its transaction was rolled back\n';
    await session.rollback();
  }
  if (failure === undefined) return 0;
  await print(errors, `svc console: ${failure}`);
  return 1;
}

async function* inputsOf(
  session: ConsoleSession,
  sources: readonly Lines[],
): AsyncGenerator<ConsoleInput> {
  for (const lines of sources) {
    const reader = new StatementReader(() => session.language);
    for await (const line of lines) yield* reader.feed(line);
    yield* reader.end();
  }
}

/** `quit` when the script asks to end; what is to be said when it fails. */
async function carryOut(
  session: ConsoleSession,
  {kind, text}: ConsoleInput,
): Promise<'done' | 'quit' | {readonly said: string}> {
  try {
    if (kind === 'command') {
      return (await runMetaCommand(text, {session, history: undefined})) ?? 'done';
    }
    await session.run(text);
    return 'done';
  } catch (error) {
    const said = failureText(error, kind === 'statement' ? text : undefined);
    if (said === undefined) throw error;
    return {said};
  }
}
