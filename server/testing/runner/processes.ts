/**
 * The processes below this one, as Linux tells of them under /proc; elsewhere there are none to
 * see, and a file that hangs has to be ended by hand.
 */
import {readdirSync, readFileSync} from 'node:fs';

/** The child of this process that was started with `word` among its arguments. */
export function childWith(word: string): number | undefined {
  return childrenOf(process.pid).find(pid => wordsOf(pid).includes(word));
}

/** A process and all below it, parents first. */
export function treeOf(pid: number): readonly number[] {
  return [pid, ...childrenOf(pid).flatMap(treeOf)];
}

/** Sends `signal` to those of `pids` that are still there. */
export function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It ended meanwhile.
    }
  }
}

function childrenOf(pid: number): readonly number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap(task => {
      const text = readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8');
      return text.split(' ').filter(Boolean).map(Number);
    });
  } catch {
    return [];
  }
}

function wordsOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return [];
  }
}
