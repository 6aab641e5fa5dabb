/** The machine and the heap of this thread (see ../machine.ts); a look costs a call into V8. */
import {availableParallelism} from 'node:os';
import {getHeapStatistics, setFlagsFromString} from 'node:v8';
import {runInNewContext} from 'node:vm';
import type {Machine} from '../machine.ts';
import {isNearLimit} from './process-memory.ts';

const betweenCollectionsMs = 1_000;

export function createMachine(askLargePages?: Machine['askLargePages']): Machine {
  let collectedAt = Number.NEGATIVE_INFINITY;
  let collect: (() => void) | undefined;
  return {
    processors: availableParallelism(),
    askLargePages,
    get heapBytes() {
      return getHeapStatistics().used_heap_size;
    },
    get heapBytesMax() {
      return getHeapStatistics().heap_size_limit;
    },
    get isNearLimit() {
      return isNearLimit();
    },
    collectGarbage() {
      if (performance.now() - collectedAt < betweenCollectionsMs) return;
      if (collect === undefined) {
        setFlagsFromString('--expose-gc');
        collect = runInNewContext('gc') as () => void;
      }
      collect();
      collectedAt = performance.now();
    },
  };
}
