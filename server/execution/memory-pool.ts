/**
 * What the statements of one server keep in memory together.
 *
 * Budgets count in here what they count for their statement, and take it out when it ends. Their
 * figures are estimates and leave out what lives shortly, so the heap itself is looked at from
 * time to time: a statement that makes more values while little of it is left is refused, so that
 * no sum of statements ends the process.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Machine} from '#server/platform/machine.ts';

/** Part of the heap beyond which nothing new is made; the rest is for what others do meanwhile. */
const heapShareMax = 0.85;

export class MemoryPool {
  readonly #bytesMax: () => number;
  readonly #machine: Machine;
  #bytes = 0;
  #listener: (() => void) | undefined;

  /** @param bytesMax - `svc.queryMemoryTotalMax`. */
  constructor(bytesMax: () => number, machine: Machine) {
    this.#bytesMax = bytesMax;
    this.#machine = machine;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Part of what may be kept that is kept, 0 to 1. */
  get share(): number {
    return this.#bytes / this.#bytesMax();
  }

  /** @throws {Refusal} `query.memory-total`; nothing is counted then. */
  keep(bytes: number): void {
    const bytesMax = this.#bytesMax();
    if (this.#bytes + bytes > bytesMax) {
      throw new Refusal(
        'query.memory-total',
        `the statements that run keep more than ${bytesMax} bytes together ` +
          '(svc.queryMemoryTotalMax); retry later',
        {detail: {memoryBytesMax: bytesMax}},
      );
    }
    this.#bytes += bytes;
  }

  release(bytes: number): void {
    this.#bytes -= bytes;
    this.#listener?.();
  }

  /** Calls `listener` when something was given back. One listener. */
  onRelease(listener: () => void): void {
    this.#listener = listener;
  }

  /** @throws {Refusal} `query.memory-total` when the heap is nearly full. */
  checkHeap(): void {
    const {heapBytes, heapBytesMax} = this.#machine;
    if (heapBytes <= heapShareMax * heapBytesMax) return;
    throw new Refusal(
      'query.memory-total',
      `the server has ${heapBytes} of ${heapBytesMax} bytes of memory in use; retry later`,
      {detail: {memoryBytesMax: heapBytesMax}},
    );
  }
}
