/**
 * The process of one member of a cluster: started, killed, frozen and thawed as often as a test
 * wants, under one name and with one folder.
 *
 * Invariant: only processes that this file started are ever signalled, each by its own id; when
 * this process ends by itself none of them is left behind, frozen ones included.
 */
import {type ChildProcess, spawn} from 'node:child_process';
import {closeSync, existsSync, openSync, readFileSync} from 'node:fs';

const logCharactersMax = 40_000;

/** How the process is started; each time in the same way. */
export interface MemberCommand {
  readonly words: readonly string[];
  readonly folder: string;
  /** Where its outputs go, all starts together. */
  readonly logFile: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** What still runs, ended with this process. */
const running = new Set<ChildProcess>();
let isWatchingExit = false;

export class MemberProcess {
  readonly name: string;
  readonly #command: MemberCommand;
  #child: ChildProcess | undefined;
  #isFrozen = false;
  /** How often it was started. */
  starts = 0;

  constructor(name: string, command: MemberCommand) {
    this.name = name;
    this.#command = command;
  }

  /** 0 while it does not run. */
  get pid(): number {
    return this.isRunning ? (this.#child?.pid ?? 0) : 0;
  }

  get isRunning(): boolean {
    const child = this.#child;
    return child !== undefined && child.exitCode === null && child.signalCode === null;
  }

  /** It runs and is not frozen. */
  get isAwake(): boolean {
    return this.isRunning && !this.#isFrozen;
  }

  /** The end of what it wrote to its outputs. */
  get log(): string {
    const {logFile} = this.#command;
    const text = existsSync(logFile) ? readFileSync(logFile, 'utf8') : '';
    if (text.length <= logCharactersMax) return text;
    const end = text.slice(-logCharactersMax);
    return end.slice(end.indexOf('\n') + 1);
  }

  /** How it ended, where it did. */
  get ended(): number | string | undefined {
    return this.#child?.exitCode ?? this.#child?.signalCode ?? undefined;
  }

  /** Starts it and does not wait for anything. It must not run. */
  start(): void {
    if (this.isRunning) throw new Error(`${this.name} runs already`);
    watchExit();
    const {words, folder, logFile, environment} = this.#command;
    const [program = '', ...rest] = words;
    const log = openSync(logFile, 'a');
    const child = spawn(program, rest, {
      cwd: folder,
      env: {...process.env, ...environment},
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    this.#child = child;
    this.#isFrozen = false;
    this.starts += 1;
    running.add(child);
    child.once('exit', () => running.delete(child));
    child.once('error', () => running.delete(child));
  }

  /** SIGKILL: no goodbye, nothing flushed. Resolves when it is gone. */
  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  /** SIGTERM, and SIGKILL when it is still there after `millisMax`. */
  async stop(millisMax = 20_000): Promise<void> {
    this.thaw();
    const timer = setTimeout(() => this.#child?.kill('SIGKILL'), millisMax);
    await this.#end('SIGTERM');
    clearTimeout(timer);
  }

  /** SIGSTOP: it holds its connections and answers nothing. */
  freeze(): void {
    if (!this.isAwake) return;
    this.#child?.kill('SIGSTOP');
    this.#isFrozen = true;
  }

  thaw(): void {
    if (!this.#isFrozen) return;
    this.#child?.kill('SIGCONT');
    this.#isFrozen = false;
  }

  async #end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#child;
    if (child === undefined || !this.isRunning) return;
    const {promise, resolve} = Promise.withResolvers<void>();
    child.once('exit', () => resolve());
    child.kill(signal);
    await promise;
  }
}

function watchExit(): void {
  if (isWatchingExit) return;
  isWatchingExit = true;
  process.on('exit', () => {
    for (const child of running) child.kill('SIGKILL');
  });
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    // Whoever wants a graceful end listens as well and gets there first.
    process.on(signal, () => {
      if (process.listenerCount(signal) === 1) process.exit(code);
    });
  }
}
