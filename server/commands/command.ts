/**
 * What a command of `svc` is, and what it is given to run with.
 *
 * Commands import the client and `base/` alone. Everything of the process (streams, environment,
 * how a server is started, how settings are read) arrives in a `RunContext` made by `node/`, so a
 * command is a function that a test can call.
 * Exit codes: 0 done, 1 refused or failed, 2 wrong usage.
 */
import type {Readable, Writable} from 'node:stream';
import type {SettingReport} from '#server/base/setting-values.ts';

/** A stream of text that may be a terminal. */
export interface Output extends Writable {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** Where a command reads from; a terminal can hide what is typed. */
export interface Input extends Readable {
  readonly isTTY?: boolean;
  setRawMode?(raw: boolean): unknown;
}

/** Settings as the command line gives them; they go before every other source. */
export interface StartOptions {
  readonly sets: Readonly<Record<string, string>>;
  readonly configPath: string | undefined;
}

/** What this program is. */
export interface About {
  readonly version: string;
  readonly runtime: string;
  /** Format versions by name, such as `{log: {reads: '1', writes: '1'}}`. */
  readonly formats: Readonly<Record<string, {readonly reads: string; readonly writes: string}>>;
  /** Optional modules that this build is without. */
  readonly without: readonly string[];
}

/** The process as a command sees it. */
export interface RunContext {
  /** The words behind the program's name. */
  readonly argv: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly about: About;
  /** Runs a server in the foreground until it is told to stop; answers the exit code. */
  readonly start: (options: StartOptions) => Promise<number>;
  /** Works like `start` for a server whose standard input and output belong to an agent. */
  readonly startForAgent: (options: StartOptions) => Promise<number>;
  /** Resolves every setting as a start would, without starting. */
  readonly settings: (options: StartOptions) => readonly SettingReport[];
}

/** One option of a command: a switch, or one that takes a value named `value` in the help. */
export interface OptionRow {
  /** One letter: `-e` for what is `--execute` in full. */
  readonly short?: string;
  readonly value?: string;
  readonly repeated?: true;
  readonly says: string;
}

/** One line of the help's list of arguments. */
export interface ArgumentRow {
  readonly name: string;
  readonly says: string;
  /** Absent means exactly one. */
  readonly count?: 'optional' | 'many' | 'any';
}

/** The arguments after they were checked against the tables of the command. */
export interface Arguments {
  readonly positional: readonly string[];
  /** Whether a switch was given. */
  has(option: string): boolean;
  /** The last value given, or `undefined`. */
  value(option: string): string | undefined;
  /** All values given, in order. */
  values(option: string): readonly string[];
}

/** One command. */
export interface Command {
  readonly name: string;
  /** One sentence for the list of commands. */
  readonly says: string;
  readonly arguments: readonly ArgumentRow[];
  readonly options: Readonly<Record<string, OptionRow>>;
  /** Lines to copy, shown at the end of its help. */
  readonly examples: readonly string[];
  run(given: Arguments, context: RunContext): Promise<number>;
}

/** A command line that means nothing: exit code 2. The message is a sentence without an end. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Something that a command was asked for and could not do: exit code 1. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

/** Writes `text` and waits while the reader is slow. */
export async function print(output: Output, text: string): Promise<void> {
  if (output.write(text)) return;
  const {promise, resolve} = Promise.withResolvers<void>();
  const settle = (): void => {
    output.off('drain', settle);
    output.off('close', settle);
    resolve();
  };
  output.on('drain', settle);
  output.on('close', settle);
  await promise;
}
