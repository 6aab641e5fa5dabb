/** What the kernel says of the threads of this process, for tests. */
import {readdirSync, readFileSync} from 'node:fs';
import {getPriority} from 'node:os';

export interface ThreadFacts {
  readonly niceness: number;
  /** Whether it is in the idle class. */
  readonly isIdle: boolean;
}

const idlePolicy = '5';

/** What a thread has that asks for that niceness: tests may be run with more, which it keeps. */
export function lowered(niceness: number): number {
  return Math.max(niceness, getPriority());
}

/** The threads that there are now, by their numbers. */
export function threadsOfProcess(): ReadonlyMap<string, ThreadFacts> {
  const of = (id: string): ThreadFacts => {
    const line = readFileSync(`/proc/self/task/${id}/stat`, 'utf8');
    // A name may hold anything; behind it the state comes first.
    const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
    return {niceness: Number(fields[16]), isIdle: fields[38] === idlePolicy};
  };
  return new Map(readdirSync('/proc/self/task').map(id => [id, of(id)]));
}
