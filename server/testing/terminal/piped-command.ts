/** A command of `svc` run within the process of a test, as in a pipe: its output and exit code. */
import {PassThrough} from 'node:stream';
import type {StartOptions} from '#server/commands/command.ts';
import {runCommandLine} from '#server/commands/command-line.ts';

export interface PipedRun {
  readonly code: number;
  readonly out: string;
  readonly error: string;
  readonly started: readonly StartOptions[];
}

/** Runs `svc` with the words, in a pipe, with nothing in the environment but what is given. */
export async function svc(
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  input = '',
): Promise<PipedRun> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  stdin.end(input);
  const started: StartOptions[] = [];
  const start = async (options: StartOptions): Promise<number> => {
    started.push(options);
    return 0;
  };
  const code = await runCommandLine({
    argv: words,
    environment,
    stdin,
    stdout,
    stderr,
    about: {
      version: '1.2.3',
      runtime: 'node 24',
      formats: {log: {reads: '1', writes: '1'}},
      without: [],
    },
    start,
    startForAgent: start,
    settings: () => [],
  });
  stdout.end();
  stderr.end();
  return {code, out: await textOf(stdout), error: await textOf(stderr), started};
}

async function textOf(stream: PassThrough): Promise<string> {
  let text = '';
  for await (const chunk of stream) text += String(chunk);
  return text;
}
