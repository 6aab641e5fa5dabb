/** Asks a question on the terminal and reads one line without showing it. */
import {CommandError, type Input, type Output} from './command.ts';

const enter = new Set(['\r', '\n', '\u0004']);
const backspace = new Set(['\u007f', '\b']);
const interrupt = '\u0003';

/** @throws {CommandError} when it is answered by Ctrl-C. */
export async function askHidden(
  streams: {readonly stdin: Input; readonly stderr: Output},
  question: string,
): Promise<string> {
  const {stdin, stderr} = streams;
  // First of all, so that an answer that comes at once is not shown either.
  stdin.setRawMode?.(true);
  stderr.write(question);
  let typed = '';
  try {
    for await (const chunk of stdin.iterator({destroyOnReturn: false})) {
      for (const letter of String(chunk)) {
        if (enter.has(letter)) return typed;
        if (letter === interrupt) throw new CommandError('no password was given');
        if (backspace.has(letter)) typed = [...typed].slice(0, -1).join('');
        else typed += letter;
      }
    }
    return typed;
  } finally {
    stdin.setRawMode?.(false);
    stdin.pause();
    stderr.write('\n');
  }
}
