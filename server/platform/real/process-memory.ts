/** What this process may use of memory: the limit of its container, else what the machine has. */
import {totalmem} from 'node:os';
import {getHeapStatistics} from 'node:v8';

/** Figures of the thread that asks: each has a heap of its own. */
export function processMemory(): {
  readonly heapBytesMax: number;
  readonly processBytesMax: number;
} {
  return {heapBytesMax: getHeapStatistics().heap_size_limit, processBytesMax: memoryLimit()};
}

/** Bytes. Control groups of both versions are asked for by the runtime. */
export function memoryLimit(): number {
  const constrained = process.constrainedMemory();
  const total = totalmem();
  return constrained > 0 && constrained < total ? constrained : total;
}

/** Bytes that this process may still take before it meets its limit, or the machine its end. */
export function memoryLeft(): number {
  const limit = memoryLimit();
  // What a control group counts includes pages of files, which the kernel takes back by itself.
  const own = limit - process.memoryUsage.rss();
  return limit < totalmem() ? own : Math.min(own, process.availableMemory());
}
