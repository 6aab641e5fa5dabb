/** What this process may use of memory: the limit of its container, else what the machine has. */
import {readFileSync} from 'node:fs';
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

const nearPart = 7 / 8;
/** A look reads a file of the system, and statements ask for each megabyte. */
const betweenLooksMs = 20;
let lookedAt = Number.NEGATIVE_INFINITY;
let wasNear = false;

/**
 * Whether what nobody but the process holds is nearly all that its container may have. Pages of
 * files count there too, but the kernel takes those back before it ends anybody.
 */
export function isNearLimit(): boolean {
  const now = performance.now();
  if (now - lookedAt < betweenLooksMs) return wasNear;
  const limit = memoryLimit();
  wasNear = limit < totalmem() && ownBytes() > nearPart * limit;
  lookedAt = now;
  return wasNear;
}

function ownBytes(): number {
  const status = readFileSync('/proc/self/status', 'utf8');
  return 1_024 * Number(/^RssAnon:\s+(\d+)/m.exec(status)?.[1] ?? 0);
}

/** Bytes that this process may still take before it meets its limit, or the machine its end. */
export function memoryLeft(): number {
  const limit = memoryLimit();
  // What a control group counts includes pages of files, which the kernel takes back by itself.
  const own = limit - process.memoryUsage.rss();
  return limit < totalmem() ? own : Math.min(own, process.availableMemory());
}
