/** Porcupine, an outside checker: whether a history of registers is linearizable. */
import {execFile} from 'node:child_process';
import {promisify} from 'node:util';
import {goProgram} from './go-program.ts';

/** What it found, and in which key. */
export type Verdict =
  | {readonly kind: 'linearizable'}
  | {readonly kind: 'violated' | 'undecided'; readonly key: string};

const run = promisify(execFile);

/**
 * Judges the operations in `file` (`writeLinearizable`).
 *
 * @throws {Error} the checker cannot be built, or cannot read the file.
 */
export async function judgeLinearizable(file: string, secondsMax: number): Promise<Verdict> {
  const program = await goProgram('porcupine');
  let out: string;
  try {
    ({stdout: out} = await run(program, [String(secondsMax), file]));
  } catch (error) {
    const {code, stdout} = error as {code?: unknown; stdout?: string};
    if ((code !== 1 && code !== 2) || stdout === undefined) throw error;
    out = stdout;
  }
  const [word = '', key = ''] = out.trim().split(' ');
  if (word === 'linearizable') return {kind: word};
  if (word === 'violated' || word === 'undecided') return {kind: word, key};
  throw new Error(`the checker says '${out}'`);
}
