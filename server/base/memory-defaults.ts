/**
 * Defaults of the settings that bound memory, by what the process may use: pure.
 *
 * The values of the table suit a machine with room. In a container the same sums would be larger
 * than everything that there is, and the process would be ended by V8 or by the kernel in the
 * middle of its work, where a refused statement is all that was needed. What somebody sets is
 * taken as it is.
 *
 * Two memories are shared out: the heap of V8 (what statements keep), and what the process may use
 * beside it (caches of the stores, packed columns and edges, heaps of further threads).
 */
import {GB, MB} from './setting-row.ts';
import type {SettingKey} from './settings.ts';

export interface ProcessMemory {
  /** Bytes that the heap of the main thread may take. */
  readonly heapBytesMax: number;
  /** Bytes that the process may use: the limit of its container, else what the machine has. */
  readonly processBytesMax: number;
}

/** Gives each setting a part of the heap or of the whole process, at most its row's default. */
const parts = {
  'svc.queryMemoryTotalMax': {of: 'heap', part: 1 / 3, most: GB},
  'svc.queryMemoryMax': {of: 'heap', part: 1 / 6, most: 256 * MB},
  'svc.keptMemoryMax': {of: 'heap', part: 1 / 8, most: 512 * MB},
  'svc.keptMemoryMaxPerUser': {of: 'heap', part: 1 / 12, most: 256 * MB},
  'svc.queryValueSizeMax': {of: 'heap', part: 1 / 12, most: 64 * MB},
  'svc.batch.idMapMemoryMax': {of: 'heap', part: 1 / 16, most: 64 * MB},
  'svc.txSizeMax': {of: 'heap', part: 1 / 12, most: 256 * MB},
  'svc.storage.blockCacheSize': {of: 'process', part: 1 / 16, most: 64 * MB},
  'svc.storage.writeBufferSize': {of: 'process', part: 1 / 64, most: 32 * MB},
  'svc.graphViewMemoryMax': {of: 'process', part: 1 / 24, most: 512 * MB},
  'svc.columnViewMemoryMax': {of: 'process', part: 1 / 24, most: 512 * MB},
  'svc.searchMemoryMax': {of: 'process', part: 1 / 24, most: 256 * MB},
} as const satisfies Partial<Record<SettingKey, object>>;

/** Values in whole megabytes, at least one. */
export function memoryDefaults(memory: ProcessMemory): ReadonlyMap<SettingKey, number> {
  const {heapBytesMax, processBytesMax} = memory;
  return new Map(
    Object.entries(parts).map(([key, {of, part, most}]) => {
      const bytes = part * (of === 'heap' ? heapBytesMax : processBytesMax);
      const whole = Math.max(1, Math.floor(bytes / MB)) * MB;
      return [key as SettingKey, Math.min(most, whole)];
    }),
  );
}
