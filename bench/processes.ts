/**
 * What the system knows of a process: memory and processor time from /proc, and the placing of
 * servers and clients on processors.
 *
 * With two processors and more, every server runs on the first and every client on the second, so
 * that a fast client cannot starve the server it measures; `PIN=0` leaves that to the system.
 */
import {spawn} from 'node:child_process';
import {readdirSync, readFileSync} from 'node:fs';
import {availableParallelism} from 'node:os';
import type {Job, Outcome} from './driver.ts';

const ticksPerSecond = 100;

/** Whether servers and clients are kept apart. */
export function pinned(): boolean {
  return process.env['PIN'] !== '0' && availableParallelism() >= 2;
}

/** Words to put before a command so that it runs where a server, or a client, belongs. */
export function placed(role: 'server' | 'client'): string[] {
  return pinned() ? ['taskset', '-c', role === 'server' ? '0' : '1'] : [];
}

/** Resident memory now, and the most there ever was; in bytes. */
export function memoryOf(pid: number): {resident: number; peak: number} {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const field = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) * 1_024;
  return {resident: field('VmRSS'), peak: field('VmHWM')};
}

/**
 * Processor time of a process and of everything it has started, in microseconds since the start.
 * Children that have ended count through the parent that waited for them.
 */
export function cpuMicrosOf(pid: number): number {
  let ticks = 0;
  for (const {own, waited, isRoot} of family(pid)) ticks += own + (isRoot ? waited : 0);
  return (ticks / ticksPerSecond) * 1e6;
}

function family(root: number): {own: number; waited: number; isRoot: boolean}[] {
  const members = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = statOf(Number(name));
    if (stat === undefined) continue;
    const isRoot = Number(name) === root;
    if (isRoot || stat.parent === root) members.push({...stat, isRoot});
  }
  return members;
}

function statOf(pid: number): {parent: number; own: number; waited: number} | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  // The name stands in parentheses and may hold blanks: count the fields after it.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const at = (index: number): number => Number(fields[index] ?? 0);
  return {parent: at(1), own: at(11) + at(12), waited: at(13) + at(14)};
}

/** Runs a program to its end and returns what it printed; throws with its errors otherwise. */
export function runProgram(
  words: readonly string[],
  options: {input?: string; env?: Record<string, string>; uid?: number; gid?: number} = {},
): Promise<string> {
  const [program = '', ...rest] = words;
  const {promise, resolve, reject} = Promise.withResolvers<string>();
  const child = spawn(program, rest, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: {...process.env, ...options.env},
    ...(options.uid === undefined ? {} : {uid: options.uid, gid: options.gid}),
  });
  let out = '';
  let error = '';
  child.stdout.on('data', chunk => (out += String(chunk)));
  child.stderr.on('data', chunk => (error += String(chunk)));
  child.stdin.on('error', () => undefined);
  child.on('error', reject);
  child.on('close', code => {
    if (code === 0) resolve(out);
    else reject(new Error(`${words.join(' ').slice(0, 200)} ended with ${code}: ${error}${out}`));
  });
  child.stdin.end(options.input ?? '');
  return promise;
}

/** Runs one job in a driver process of its own. Any error of an operation fails the run. */
export async function drive(job: Job): Promise<Outcome> {
  const driver = new URL('./driver.ts', import.meta.url).pathname;
  const words = [...placed('client'), process.execPath, '--conditions=source', driver];
  const outcome = JSON.parse(await runProgram(words, {input: JSON.stringify(job)})) as Outcome;
  if (outcome.errors > 0) {
    throw new Error(`${outcome.errors} of the operations failed, the first: ${outcome.firstError}`);
  }
  return outcome;
}

/** Drives until the rate no longer rises by 5 %, for compilers that work at run time. */
export async function warmUp(
  step: () => Promise<Outcome>,
  bounds: {secondsMin: number; secondsMax: number},
): Promise<number> {
  let operations = 0;
  let best = 0;
  let flat = 0;
  let seconds = 0;
  while (seconds < bounds.secondsMax && (seconds < bounds.secondsMin || flat < 2)) {
    const outcome = await step();
    operations += outcome.operations;
    seconds += outcome.seconds;
    if (outcome.perSecond > best * 1.05) {
      best = outcome.perSecond;
      flat = 0;
    } else flat += 1;
  }
  return operations;
}
