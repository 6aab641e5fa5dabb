/**
 * Shares of a server's memory for what is kept only to answer faster: each has a setting that
 * bounds it, and all caches of all databases that name it take it together.
 */
import type {Settings} from '#server/base/setting-values.ts';
import type {Machine} from '#server/platform/machine.ts';
import {CacheMemory} from './cache-memory.ts';

/** The value is the share: two with one setting are two. */
export interface MemoryShare {
  readonly bytesMax: (settings: Settings) => number;
}

/** Packed edges. */
export const edgesShare: MemoryShare = {
  bytesMax: settings => settings.get('svc.graphViewMemoryMax'),
};
/** Columns of records, and pages of indexes. */
export const columnsShare: MemoryShare = {
  bytesMax: settings => settings.get('svc.columnViewMemoryMax'),
};
/** Decoded lists of search indexes. */
export const listsShare: MemoryShare = {bytesMax: settings => settings.get('svc.searchMemoryMax')};
/** Graphs of dense vector indexes. */
export const vectorsShare: MemoryShare = {
  bytesMax: settings => settings.get('svc.vectorIndexMemoryMax'),
};

export class ServerCacheMemory {
  readonly settings: () => Settings;
  readonly askLargePages: Machine['askLargePages'];
  readonly #shares = new Map<MemoryShare, CacheMemory>();

  constructor(settings: () => Settings, machine?: Pick<Machine, 'askLargePages'>) {
    this.settings = settings;
    this.askLargePages = machine?.askLargePages;
  }

  /** The memory of a share. Cost: a look-up. */
  of(share: MemoryShare): CacheMemory {
    let memory = this.#shares.get(share);
    if (memory === undefined) {
      memory = new CacheMemory(() => share.bytesMax(this.settings()));
      this.#shares.set(share, memory);
    }
    return memory;
  }

  /** Lets go of everything: the memory is needed for answers. */
  dropAll(): void {
    for (const memory of this.#shares.values()) memory.dropAll();
  }
}
