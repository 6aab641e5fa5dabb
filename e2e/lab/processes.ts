/**
 * The long-running programs of the lab, by name: started with their output in a file each, killed
 * and started again by scenarios. All of them are children of this process, in namespaces of the
 * lab, so that nothing of them outlives it.
 */
import {type ChildProcess, spawn} from 'node:child_process';
import {closeSync, openSync, readFileSync} from 'node:fs';
import {join} from 'node:path';

interface Program {
  readonly command: readonly string[];
  readonly child: ChildProcess;
  readonly ended: Promise<void>;
}

const shownLines = 12;

export class Processes {
  readonly #logs: string;
  readonly #running = new Map<string, Program>();

  constructor(logs: string) {
    this.#logs = logs;
  }

  /** Starts it, or starts it again after its end; what it wrote before stays in its file. */
  start(name: string, ...command: readonly string[]): void {
    if (this.isRunning(name)) throw new Error(`${name} runs already`);
    const [program = '', ...args] = command;
    const log = openSync(this.#logOf(name), 'a');
    const child = spawn(program, args, {stdio: ['ignore', log, log]});
    closeSync(log);
    const ended = new Promise<void>(resolve => {
      child.once('exit', () => resolve());
      child.once('error', () => resolve());
    });
    this.#running.set(name, {command, child, ended});
  }

  /** The same command once more. */
  restart(name: string): void {
    this.start(name, ...this.#program(name).command);
  }

  isRunning(name: string): boolean {
    const child = this.#running.get(name)?.child;
    return child !== undefined && child.exitCode === null && child.signalCode === null;
  }

  pid(name: string): number {
    const {pid} = this.#program(name).child;
    if (pid === undefined || !this.isRunning(name)) throw new Error(`${name} does not run`);
    return pid;
  }

  /** Resolves when it has ended; SIGSTOP and SIGCONT end nothing and are not waited for. */
  async kill(name: string, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const {child, ended} = this.#program(name);
    child.kill(signal);
    if (signal !== 'SIGSTOP' && signal !== 'SIGCONT') await ended;
  }

  /** The end of what it wrote: for messages of failures. */
  lastWords(name: string): string {
    const lines = readFileSync(this.#logOf(name), 'utf8').trimEnd().split('\n');
    return lines.slice(-shownLines).join('\n');
  }

  #program(name: string): Program {
    const program = this.#running.get(name);
    if (program === undefined) throw new Error(`${name} was never started`);
    return program;
  }

  #logOf(name: string): string {
    return join(this.#logs, `${name}.log`);
  }
}
