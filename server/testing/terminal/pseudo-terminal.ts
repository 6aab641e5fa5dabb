/**
 * A program on a real pseudo-terminal, as a person would use it: keys in, a screen out.
 *
 * The terminal is made by `script` of util-linux, which is part of every Linux distribution's
 * base (of Debian's essential packages), so that no package with native code is needed. Its input
 * is a pipe: what is written to it are the keys. The program is ended by its own id.
 */
import {type ChildProcess, execFileSync, spawn} from 'node:child_process';
import {Screen} from './screen.ts';

const columns = 100;
const pollMillis = 10;

/** The keys that have no letter. */
export const keys = {
  enter: '\r',
  tab: '\t',
  up: '\u001b[A',
  down: '\u001b[B',
  left: '\u001b[D',
  home: '\u0001',
  end: '\u0005',
  backspace: '\u007f',
  ctrlC: '\u0003',
  ctrlD: '\u0004',
} as const;

/** Why there is no pseudo-terminal on this machine; undefined when there is one. */
export function missingTerminal(): string | undefined {
  try {
    const version = execFileSync('script', ['--version'], {encoding: 'utf8'});
    return version.includes('util-linux') ? undefined : 'script is not that of util-linux';
  } catch {
    return 'script of util-linux is not installed';
  }
}

export class PseudoTerminal {
  readonly #child: ChildProcess;
  readonly #screen = new Screen(columns);
  readonly #waitMillisMax: number;
  /** How long the screen's text was when keys were pressed last. */
  #length = 0;
  #isOver = false;

  /**
   * @param words - Program and arguments.
   * @param environment - Beside that of this process.
   * @param waitMillisMax - Longest wait for what a test expects. Default 20 s.
   */
  constructor(
    words: readonly string[],
    environment: Readonly<Record<string, string>>,
    waitMillisMax = 20_000,
  ) {
    const command = words.map(word => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
    const sized = `stty cols ${columns} rows 50; exec ${command}`;
    this.#waitMillisMax = waitMillisMax;
    this.#child = spawn('script', ['--quiet', '--return', '--command', sized, '/dev/null'], {
      env: {...process.env, TERM: 'xterm', SHELL: '/bin/sh', ...environment},
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const decoder = new TextDecoder();
    this.#child.stdout?.on('data', (chunk: Buffer) => {
      this.#screen.write(decoder.decode(chunk, {stream: true}));
    });
    this.#child.once('close', () => (this.#isOver = true));
  }

  /** All that was written, as it looks now. */
  get text(): string {
    return this.#screen.text;
  }

  /** The line of the cursor. */
  get current(): string {
    return this.#screen.current;
  }

  /** Presses keys. */
  press(...pressed: readonly string[]): void {
    this.#length = this.text.length;
    this.#child.stdin?.write(pressed.join(''));
  }

  /** Waits until what was pressed last has been answered by a prompt. */
  prompts(prompt: string): Promise<void> {
    const isSeen = (): boolean =>
      this.text.length > this.#length && this.current === prompt.trimEnd();
    return this.sees(isSeen, `the prompt '${prompt}'`);
  }

  /** Types a line and waits until the screen ends with `prompt`; answers what came between. */
  async enter(line: string, prompt: string): Promise<string> {
    const before = this.text.length;
    this.press(line, keys.enter);
    await this.prompts(prompt);
    const lines = this.text.slice(before).split('\n');
    return lines.slice(1, -1).join('\n');
  }

  /**
   * Waits until `isSeen`, which looks at the screen.
   *
   * @throws {Error} with the screen when it takes too long.
   */
  async sees(isSeen: () => boolean, what: string): Promise<void> {
    const deadline = performance.now() + this.#waitMillisMax;
    while (!isSeen()) {
      if (this.#isOver || performance.now() > deadline) {
        throw new Error(`the screen does not show ${what}:\n${this.text}`);
      }
      await new Promise(resolve => setTimeout(resolve, pollMillis));
    }
  }

  /** Waits for the end of the program and answers its exit code. */
  async ended(): Promise<number> {
    const deadline = performance.now() + this.#waitMillisMax;
    while (!this.#isOver) {
      if (performance.now() > deadline) throw new Error(`it does not end:\n${this.text}`);
      await new Promise(resolve => setTimeout(resolve, pollMillis));
    }
    return this.#child.exitCode ?? -1;
  }

  /** Ends the program if it still runs. */
  dispose(): void {
    if (!this.#isOver) this.#child.kill('SIGKILL');
  }
}
