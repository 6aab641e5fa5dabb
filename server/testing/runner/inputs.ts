/**
 * Notes what the outcome of a test file depends on, while it runs: the sources that are loaded, the
 * paths that are read, listed or looked for, and the variables of the environment that are asked
 * for. Each is a line of a file. A process that walks the repository notes `wholeTree`, one that
 * asks which variables there are `variableNames`, one that walks a folder elsewhere the folder with
 * `walkedEnd`, and one that starts programs `everything`: what it depends on cannot be told. The
 * last line says what it took of processors.
 *
 * What npm installed is left out, as the lock file stands for it, and so are temporary files, which
 * a test made itself. Threads note what they read as their process does.
 */
import childProcess from 'node:child_process';
import fs from 'node:fs';
import {syncBuiltinESMExports} from 'node:module';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';
import {fileURLToPath} from 'node:url';
import workerThreads, {isMainThread, Worker, type WorkerOptions} from 'node:worker_threads';

/** The line that says that no list is complete. */
export const everything = '*';

/** The line that stands for every file of the repository, but for those that git passes over. */
export const wholeTree = '**';

/** Begins the line of a variable. */
export const variableSign = '$';

/** Functions that are given a path first; most have a twin that ends in Sync, some in promises. */
const reading = (
  'access copyFile createReadStream exists lstat open openAsBlob opendir ' +
  'readFile readdir readlink realpath stat'
).split(' ');
const starting = ['exec', 'execFile', 'fork', 'spawn'];
const systemFolders = ['/dev/', '/proc/', '/sys/'];

/** Ends the line of a folder elsewhere that is walked: it stands for all that lies in it. */
export const walkedEnd = '/**';

/** The line that stands for the names of all variables. */
export const variableNames = '$*';

const timeSign = '=';

type Unknown = (...args: unknown[]) => unknown;

/** What a test file's run has noted. */
export interface Notes {
  readonly inputs: readonly string[];
  /** Processor time of its process and of all that this waited for; 0 when it was killed. */
  readonly processorMs: number;
}

/** Reads what was noted in the file at `path`. */
export function readNotes(path: string): Notes {
  const text = fs.existsSync(path) ? fs.readFileSync(path, 'utf8') : '';
  const lines = text.split('\n').filter(Boolean);
  const time = lines.find(line => line.startsWith(timeSign)) ?? '';
  return {
    inputs: lines.filter(line => !line.startsWith(timeSign)),
    processorMs: Number(time.slice(timeSign.length)),
  };
}

/** Notes the inputs of this process, or thread, in the file at `to`; answers how to name one. */
export function noteInputs(to: string, root: string): (path: string) => void {
  const file = fs.openSync(to, 'a');
  const known = new Set<string>();
  const writeLine = fs.writeSync.bind(fs, file);
  const note = (input: string): void => {
    if (known.has(input)) return;
    known.add(input);
    writeLine(`${input}\n`);
  };
  const within = `${root}/`;
  const temporary = join(tmpdir(), 'svc-');
  const isOwn = (path: string): boolean =>
    path.includes('/node_modules/') ||
    (path.startsWith(within)
      ? path.startsWith(`${within}.cache/`)
      : path.startsWith(temporary) || systemFolders.some(folder => path.startsWith(folder)));
  const notePath = (path: string): void => {
    if (!isOwn(path)) note(path);
  };
  const noteWalk = (folder: string): void => {
    if (!isOwn(folder)) note(`${folder}/`.startsWith(within) ? wholeTree : folder + walkedEnd);
  };
  const noteRead = (path: unknown, options: unknown): void => {
    const text = path instanceof URL ? fileURLToPath(path) : path;
    if (typeof text !== 'string' && !Buffer.isBuffer(text)) return;
    const whole = resolve(text.toString());
    notePath(whole);
    if (isRecursive(options)) noteWalk(whole);
  };
  for (const module of [fs, fs.promises] as unknown as Record<string, Unknown>[]) {
    watchCalls(module, reading, noteRead);
    watchCalls(module, ['cp'], from => noteRead(from, {recursive: true}));
    watchCalls(module, ['glob'], (_pattern, options) => noteWalk(folderOf(options)));
  }
  watchCalls(childProcess as unknown as Record<string, Unknown>, starting, () => note(everything));
  workerThreads.Worker = class extends Worker {
    constructor(source: string | URL, options?: WorkerOptions) {
      // What is given flags of its own is not loaded as its process is, and notes nothing.
      if (options?.execArgv !== undefined) note(everything);
      super(source, options);
    }
  };
  syncBuiltinESMExports();
  process.env = watchedEnvironment(note);
  if (isMainThread) process.on('exit', () => note(`${timeSign}${processorMs()}`));
  return notePath;
}

/** Linux tells of children, too, once they have ended and were waited for. */
function processorMs(): number {
  const {user, system} = process.cpuUsage();
  if (process.platform !== 'linux') return Math.round((user + system) / 1000);
  const fields = fs.readFileSync('/proc/self/stat', 'latin1').split(') ')[1]?.split(' ') ?? [];
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return ticks * 10;
}

function isRecursive(options: unknown): boolean {
  return typeof options === 'object' && options !== null && 'recursive' in options;
}

/** Where a search of files begins. */
function folderOf(options: unknown): string {
  const {cwd = '.'} = (options ?? {}) as {readonly cwd?: string | URL};
  return resolve(cwd instanceof URL ? fileURLToPath(cwd) : cwd);
}

/** Has `told` hear what the functions of these names, and of their twins, are called with. */
function watchCalls(
  module: Record<string, Unknown>,
  names: readonly string[],
  told: (first: unknown, second: unknown) => void,
): void {
  for (const name of names.flatMap(one => [one, `${one}Sync`])) {
    const called = module[name];
    if (called === undefined) continue;
    const watched = function (this: unknown, ...args: unknown[]): unknown {
      told(args[0], args[1]);
      return called.apply(this, args);
    };
    module[name] = Object.defineProperties(watched, Object.getOwnPropertyDescriptors(called));
  }
}

function watchedEnvironment(note: (input: string) => void): NodeJS.ProcessEnv {
  return new Proxy(process.env, {
    get: (variables, name) => {
      if (typeof name === 'string') note(variableSign + name);
      return Reflect.get(variables, name) as unknown;
    },
    has: (variables, name) => {
      if (typeof name === 'string') note(variableSign + name);
      return Reflect.has(variables, name);
    },
    ownKeys: variables => {
      note(variableNames);
      return Reflect.ownKeys(variables);
    },
  });
}
