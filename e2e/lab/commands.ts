/** Runs programs of the system to their end, and says what they said when they failed. */
import {execFile} from 'node:child_process';

/** Answers standard output. @throws {Error} with standard error, when the exit code is not 0. */
export function run(program: string, ...args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, args, {maxBuffer: 64 << 20}, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${program} ${args.join(' ')}: ${stderr.trim() || error.message}`));
    });
  });
}

/** The same with `input` on standard input. */
export function runWith(
  input: string,
  program: string,
  ...args: readonly string[]
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, {maxBuffer: 64 << 20}, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${program} ${args.join(' ')}: ${stderr.trim() || error.message}`));
    });
    child.stdin?.end(input);
  });
}
