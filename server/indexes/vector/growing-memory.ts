/**
 * Memory outside of the heap that grows in place, without a copy, to 4 GB; threads and kernels of
 * WebAssembly may share it.
 */
import {pagesMax} from './kernel-code.ts';

const pageBytes = 65_536;

/** Told of a memory when it has grown, for what the system can do to make it quick. */
export type MemoryAdvice = (bytes: Uint8Array) => void;

export class GrowingMemory {
  readonly memory: WebAssembly.Memory;
  readonly #advise: MemoryAdvice | undefined;

  constructor(bytes: number, advise?: MemoryAdvice) {
    const initial = Math.max(1, Math.ceil(bytes / pageBytes));
    this.memory = new WebAssembly.Memory({initial, maximum: pagesMax, shared: true});
    this.#advise = advise;
    advise?.(new Uint8Array(this.memory.buffer));
  }

  /** What was read of it before it has grown keeps the length that it had. */
  get buffer(): ArrayBufferLike {
    return this.memory.buffer;
  }

  /** Grows to at least so many bytes; false where it cannot be that large. */
  reserve(bytes: number): boolean {
    if (bytes > pagesMax * pageBytes) return false;
    const pages = Math.ceil((bytes - this.memory.buffer.byteLength) / pageBytes);
    if (pages <= 0) return true;
    this.memory.grow(pages);
    this.#advise?.(new Uint8Array(this.memory.buffer));
    return true;
  }
}
