/**
 * Runs a program in namespaces of its own (processes, network, mounts), as the lab needs them, and
 * sees to it that all of it ends with this process, whatever that ends of.
 *
 * The chain: this process, then `unshare`, which the kernel kills when this process dies, then the
 * first process of the new namespaces, which the kernel kills when `unshare` dies, and with it
 * everything in them. What outlives namespaces is the work of the cleaner (cleaner.ts).
 */
import {type ChildProcess, spawn} from 'node:child_process';
import {once} from 'node:events';
import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {eventually} from '../eventually.ts';
import type {LabFolder} from './layout.ts';
import {livingNamespace, rememberSysctls, removeLeftovers} from './leftovers.ts';

export interface Inside {
  readonly folder: LabFolder;
  /** A source of ours and its arguments. */
  readonly program: string;
  readonly args: readonly string[];
  /** Folders that stand in front of those of this machine on the PATH. */
  readonly path: readonly string[];
}

export class Namespaces {
  readonly #child: ChildProcess;
  readonly #cleaner: ChildProcess;
  readonly #first: number;
  readonly #ended: Promise<number>;

  private constructor(child: ChildProcess, cleaner: ChildProcess, first: number) {
    this.#child = child;
    this.#cleaner = cleaner;
    this.#first = first;
    this.#ended = once(child, 'exit').then(([code]) => (typeof code === 'number' ? code : 1));
  }

  /** @throws {Error} when a lab runs in this folder already. */
  static async enter({folder, program, args, path}: Inside): Promise<Namespaces> {
    const other = livingNamespace(folder);
    if (other !== undefined) throw new Error(`a lab runs in ${folder.path} (process ${other})`);
    await removeLeftovers(folder, false);
    mkdirSync(folder.logs, {recursive: true});
    rememberSysctls(folder);
    const cleaner = startCleaner(folder);
    const node = [process.execPath, '--conditions=source', program, ...args];
    const child = spawn(
      'setpriv',
      [
        '--pdeathsig',
        'KILL',
        'unshare',
        '--mount',
        '--net',
        '--pid',
        '--fork',
        '--kill-child',
        '--mount-proc',
        '--propagation',
        'private',
        // The first process of a namespace has to bury those whose parents are gone.
        'sh',
        '-c',
        '"$@"; exit $?',
        'sh',
        ...node,
      ],
      {env: environment(path), stdio: ['ignore', 'inherit', 'inherit']},
    );
    const first = await eventually('the namespaces', () => childOf(child.pid), {everyMs: 10});
    writeFileSync(folder.namespacePid, String(first));
    return new Namespaces(child, cleaner, first);
  }

  /** The exit code of the program. */
  get ended(): Promise<number> {
    return this.#ended;
  }

  /** `unshare` does not pass signals on; without its first process a namespace is no more. */
  kill(): void {
    if (this.#child.exitCode === null) process.kill(this.#first, 'SIGKILL');
  }

  /** Resolves when nothing is left of the lab on this machine. */
  async cleanUp({keepsLogs}: {readonly keepsLogs: boolean}): Promise<void> {
    const cleaned = once(this.#cleaner, 'exit');
    this.#cleaner.stdin?.end(keepsLogs ? 'keep\n' : '');
    const [code] = (await cleaned) as [number | null];
    if (code !== 0) throw new Error(`the cleaner of the lab ended with ${code}`);
  }
}

function startCleaner(folder: LabFolder): ChildProcess {
  const source = join(import.meta.dirname, '../cleaner.ts');
  return spawn(process.execPath, ['--conditions=source', source, folder.path], {
    detached: true,
    stdio: ['pipe', 'ignore', 'inherit'],
  });
}

/** Nothing of this machine's: a proxy, least of all. */
function environment(path: readonly string[]): NodeJS.ProcessEnv {
  const {HOME, TERM} = process.env;
  const system = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];
  return {HOME, TERM, PATH: [...path, ...system].join(':')};
}

function childOf(pid: number | undefined): number | undefined {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return children === '' ? undefined : Number(children.split(' ')[0]);
}
