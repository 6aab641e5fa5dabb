/**
 * Remembers which test files and gates have passed, with the state of all that each of them
 * depended on (inputs.ts). One whose inputs are as they were would pass again: `make check` leaves
 * it out and says so. `make test` runs everything, whatever is remembered.
 *
 * A file is not remembered when its inputs cannot be told, or when one of them changed after the
 * run had begun: which of its states the test saw is not known then. Inputs are named by their way
 * from the repository, so that what is remembered holds in a clone of it that lies elsewhere, but
 * for what depends on its neighbours.
 */
import {spawnSync} from 'node:child_process';
import {createHash, randomUUID} from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import {dirname, join, relative} from 'node:path';
import {everything, variableNames, variableSign, walkedEnd, wholeTree} from './inputs.ts';

export interface Pass {
  readonly cases: number;
  /** When it passed, in milliseconds since 1970. */
  readonly at: number;
}

interface StoredPass extends Pass {
  /** Places of its inputs in the list of all. */
  readonly inputs: readonly number[];
  readonly digest: string;
}

interface Stored {
  readonly basis: string;
  readonly inputs: readonly string[];
  readonly passes: Readonly<Record<string, StoredPass>>;
}

const absent = 'absent';

/** Where they are kept, from the root of the repository. */
export const passesPath = '.cache/passes.json';

export class Passes {
  readonly #root: string;
  readonly #begunAt = Date.now();
  readonly #path: string;
  readonly #basis: string;
  readonly #states = new Map<string, string>();
  readonly #inputs: string[] = [];
  readonly #placeOf = new Map<string, number>();
  readonly #passes = new Map<string, StoredPass>();

  /** Reads what is remembered of the repository at `root`; nothing of another runtime. */
  constructor(root: string) {
    this.#root = root;
    this.#path = join(root, passesPath);
    this.#basis = digestOf([process.version, process.arch, this.#stateOf('package-lock.json')]);
    const stored = readStored(this.#path);
    if (stored?.basis !== this.#basis) return;
    for (const input of stored.inputs) this.#place(input);
    for (const [file, pass] of Object.entries(stored.passes)) this.#passes.set(file, pass);
  }

  /** When `file` passed with all of its inputs as they are now. */
  find(file: string): Pass | undefined {
    const pass = this.#passes.get(file);
    return pass && this.#digest(pass.inputs) === pass.digest ? pass : undefined;
  }

  /** How many inputs `file` had when it passed last; 0 when that is not known. */
  inputsOf(file: string): number {
    return this.#passes.get(file)?.inputs.length ?? 0;
  }

  /** Takes in that `file` has passed now, and what it noted as its inputs. */
  add(file: string, cases: number, noted: readonly string[]): void {
    this.#passes.delete(file);
    if (noted.length === 0 || noted.includes(everything)) return;
    const names = noted.map(input => this.#nameOf(input));
    if (names.some(name => this.#changedSince(name))) return;
    const inputs = names.map(name => this.#place(name));
    this.#passes.set(file, {cases, at: Date.now(), inputs, digest: this.#digest(inputs)});
  }

  forget(file: string): void {
    this.#passes.delete(file);
  }

  /** Writes what is remembered, with inputs that a pass still has. */
  write(): void {
    const inputs: string[] = [];
    const places = new Map<number, number>();
    const placed = (before: number): number => {
      const known = places.get(before);
      if (known !== undefined) return known;
      const place = inputs.push(this.#inputs[before] ?? absent) - 1;
      places.set(before, place);
      return place;
    };
    const passes = Object.fromEntries(
      Array.from(this.#passes, ([file, pass]) => [
        file,
        {...pass, inputs: pass.inputs.map(placed)},
      ]),
    );
    const stored: Stored = {basis: this.#basis, inputs, passes};
    mkdirSync(dirname(this.#path), {recursive: true});
    writeFileSync(`${this.#path}.${process.pid}`, JSON.stringify(stored));
    renameSync(`${this.#path}.${process.pid}`, this.#path);
  }

  #nameOf(input: string): string {
    return input.startsWith('/') ? relative(this.#root, input) : input;
  }

  #place(input: string): number {
    const known = this.#placeOf.get(input);
    if (known !== undefined) return known;
    const place = this.#inputs.push(input) - 1;
    this.#placeOf.set(input, place);
    return place;
  }

  #digest(inputs: readonly number[]): string {
    return digestOf(inputs.map(place => this.#stateOf(this.#inputs[place] ?? absent)));
  }

  /** How an input is now; asked once, so that the whole run judges by one state. */
  #stateOf(input: string): string {
    const known = this.#states.get(input);
    if (known !== undefined) return known;
    const state = this.#stateNow(input);
    this.#states.set(input, state);
    return state;
  }

  #stateNow(input: string): string {
    if (input === wholeTree) return stateOfTree(this.#root);
    if (input.endsWith(walkedEnd)) return stateOfFolder(this.#folderOf(input));
    if (input === variableNames) return digestOf(Object.keys(process.env).sort());
    return input.startsWith(variableSign)
      ? (process.env[input.slice(variableSign.length)] ?? absent)
      : stateOfPath(join(this.#root, input), !input.startsWith('../'));
  }

  #folderOf(walked: string): string {
    return join(this.#root, walked.slice(0, -walkedEnd.length));
  }

  #changedSince(input: string): boolean {
    if (input.startsWith(variableSign)) return false;
    if (input !== wholeTree && input.endsWith(walkedEnd)) {
      const folder = this.#folderOf(input);
      return pathsIn(folder).some(path => this.#changedSince(relative(this.#root, path)));
    }
    if (input === wholeTree) return filesIn(this.#root).some(path => this.#changedSince(path));
    const stat = statSync(join(this.#root, input), {throwIfNoEntry: false});
    return stat !== undefined && Math.max(stat.mtimeMs, stat.ctimeMs) >= this.#begunAt;
  }
}

/** What all files hold; where git does not tell which there are, no two states are alike. */
function stateOfTree(root: string): string {
  const files = filesIn(root);
  if (files.length === 0) return randomUUID();
  return digestOf(files.flatMap(path => [path, stateOfPath(join(root, path), true)]));
}

/** Where everything in a folder outside the repository lies, what it holds, and of which age. */
function stateOfFolder(folder: string): string {
  return digestOf(pathsIn(folder).flatMap(path => [path, stateOfPath(path, false)]));
}

function pathsIn(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder, {recursive: true, encoding: 'utf8'});
  return names.sort().map(name => join(folder, name));
}

function filesIn(root: string): readonly string[] {
  const words = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const {stdout} = spawnSync('git', words, {cwd: root, encoding: 'utf8', maxBuffer: 64 << 20});
  return [...new Set(stdout?.split('\0').filter(Boolean))].sort();
}

/** What a path holds; of one outside the repository, which may be large, its size and age. */
function stateOfPath(path: string, isWithin: boolean): string {
  const stat = statSync(path, {throwIfNoEntry: false});
  if (stat === undefined) return absent;
  if (stat.isDirectory()) return digestOf(readdirSync(path).sort());
  return isWithin && stat.isFile()
    ? digestOf([readFileSync(path)])
    : `${stat.size} ${stat.mtimeMs}`;
}

function digestOf(parts: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part).update('\0');
  return hash.digest('base64url');
}

function readStored(path: string): Stored | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Stored;
  } catch {
    return undefined;
  }
}
