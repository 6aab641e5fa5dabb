/**
 * What was typed before, newest first, kept from start to start in a file of its owner.
 *
 * A line of the file is one statement or command as a JSON text, so that a statement of several
 * lines stays one. Statements are appended as they come, so that consoles that run side by side
 * lose nothing; what is beyond the bound is dropped at a start.
 * Invariant: the file is readable by its owner alone, and holds nothing that names a password.
 */
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import {dirname, join} from 'node:path';

/** Statements kept. */
export const historyMax = 1_000;

/** A longer statement was hardly typed. */
const charactersMax = 10_000;

/** Words and addresses that go with a secret. */
const secret =
  /passw|passphrase|pwd|secret|token|api.?key|identified|credential|:\/\/[^\s/@]*:[^\s/@]*@/i;

/** Where the history lies, by the habit of the system; undefined without a home. */
export function historyPath(
  environment: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const {XDG_STATE_HOME: state, HOME: home} = environment;
  if (state !== undefined && state.startsWith('/')) return join(state, 'svc/console-history');
  if (home === undefined || home === '') return undefined;
  return join(home, '.local/state/svc/console-history');
}

export class History {
  /** Newest first. */
  readonly entries: string[] = [];
  #path: string | undefined;

  /**
   * Reads the file, and makes it where there is none; without a path nothing is kept.
   *
   * @throws {Error} when the file cannot be read or written; nothing is kept then.
   */
  load(path: string | undefined): void {
    if (path === undefined) return;
    const lines = linesOf(path);
    this.entries.push(...lines.slice(-historyMax).reverse());
    mkdirSync(dirname(path), {recursive: true, mode: 0o700});
    appendFileSync(path, '', {mode: 0o600});
    chmodSync(path, 0o600);
    if (lines.length > historyMax) this.#rewrite(path);
    this.#path = path;
  }

  /** Remembers what was typed, unless it repeats the last or may hold a secret. */
  add(text: string): void {
    if (text === '' || text.length > charactersMax || text === this.entries[0]) return;
    if (secret.test(text)) return;
    this.entries.unshift(text);
    this.entries.length = Math.min(this.entries.length, historyMax);
    if (this.#path === undefined) return;
    try {
      appendFileSync(this.#path, lineOf(text), {mode: 0o600});
    } catch {
      // A full disk is no reason to end what somebody is doing: this run alone remembers.
      this.#path = undefined;
    }
  }

  /** Forgets everything, in the file too. */
  clear(): void {
    this.entries.length = 0;
    if (this.#path !== undefined) this.#rewrite(this.#path);
  }

  /** A reader of the file sees it old or new, never half. */
  #rewrite(path: string): void {
    const draft = `${path}.${process.pid}`;
    writeFileSync(draft, this.entries.toReversed().map(lineOf).join(''), {mode: 0o600});
    renameSync(draft, path);
  }
}

function lineOf(text: string): string {
  return `${JSON.stringify(text)}\n`;
}

/** Oldest first; a line that is damaged is left out. */
function linesOf(path: string): string[] {
  let file: string;
  try {
    file = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  return file.split('\n').flatMap(line => {
    try {
      const text: unknown = JSON.parse(line);
      return typeof text === 'string' ? [text] : [];
    } catch {
      return [];
    }
  });
}
