/** The machine and the heap of this thread (see ../machine.ts); a look costs some microseconds. */
import {availableParallelism} from 'node:os';
import {getHeapStatistics} from 'node:v8';
import type {Machine} from '../machine.ts';

export function createMachine(): Machine {
  return {
    processors: availableParallelism(),
    get heapBytes() {
      return getHeapStatistics().used_heap_size;
    },
    get heapBytesMax() {
      return getHeapStatistics().heap_size_limit;
    },
  };
}
