/** How long the first thread of this process was ready to run while it was not let run. */
import {readFileSync} from 'node:fs';

/**
 * Milliseconds since its start, by Linux, of waiting for a processor that others had, or for the
 * next period of a container that had used up its limit; 0 where the system does not count them.
 * Cost: a small file of the system. `read`: the text of a file, throws where there is none.
 */
export function processorWaitMs(read: (path: string) => string = readText): number {
  try {
    // Nanoseconds on a processor, nanoseconds waited for one, and how often.
    return Number(read('/proc/self/schedstat').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}

function readText(path: string): string {
  return readFileSync(path, 'utf8');
}
