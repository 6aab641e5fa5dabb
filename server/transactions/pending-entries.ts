/**
 * Entries on their way through the commit pipe, and who waits for which.
 *
 * Reports arrive in index order; each entry's `onApplied` runs before its promise resolves and
 * before anything later is reported. What was not applied when the log fails is `unknown`: it may
 * be on the disk (F1).
 */
import {Fifo} from '#server/base/fifo.ts';
import type {AppendResult, LogIndex} from './commit.ts';
import type {PipelineProgress} from './commit-pipeline.ts';

export interface PendingEntry {
  readonly index: LogIndex;
  readonly databaseId: number;
  readonly bytes: number;
  readonly onApplied: (() => void) | undefined;
  /** Undefined when nobody on this node asked for it. */
  readonly resolve: ((result: AppendResult) => void) | undefined;
}

export class PendingEntries {
  /** The entries in the order of their indexes. */
  readonly #entries = new Fifo<PendingEntry>();
  readonly #isShared: boolean;
  #appliedIndex: LogIndex;
  #settledWaiters: (() => void)[] = [];
  #appliedWaiters: {readonly index: LogIndex; readonly resolve: () => void}[] = [];

  /**
   * Everything up to `appliedIndex` is applied.
   *
   * @param isShared - What arrives here is committed by others too, whatever becomes of it here.
   */
  constructor(appliedIndex: LogIndex, {isShared}: {readonly isShared: boolean}) {
    this.#appliedIndex = appliedIndex;
    this.#isShared = isShared;
  }

  get appliedIndex(): LogIndex {
    return this.#appliedIndex;
  }

  get isEmpty(): boolean {
    return this.#entries.length === 0;
  }

  /** Somebody waits until entries are applied that are not. */
  get isAwaited(): boolean {
    return this.#appliedWaiters.length > 0;
  }

  add(entry: PendingEntry): void {
    this.#entries.push(entry);
  }

  /** Tells everybody whose entry is applied; the bytes of those entries. */
  advance({appliedIndex, fences}: PipelineProgress): number {
    let bytes = 0;
    for (;;) {
      const next = this.#entries.first;
      if (next === undefined || next.index > appliedIndex) break;
      this.#entries.shift();
      bytes += next.bytes;
      this.#appliedIndex = next.index;
      const fence = fences.get(next.databaseId);
      if (fence !== undefined && fence.index <= next.index) {
        const detail = `the database is fenced: ${fence.reason}`;
        const {index} = next;
        next.resolve?.(
          this.#isShared ? {kind: 'unapplied', index, detail} : {kind: 'unknown', detail},
        );
        continue;
      }
      next.onApplied?.();
      next.resolve?.({kind: 'committed', index: next.index});
    }
    this.#appliedIndex = Math.max(this.#appliedIndex, appliedIndex);
    return bytes;
  }

  /** Wakes those whose entries are applied, and everybody when nothing more will be. */
  wake(isOver: boolean): void {
    if (this.isEmpty) {
      const waiters = this.#settledWaiters;
      this.#settledWaiters = [];
      for (const resolve of waiters) resolve();
    }
    this.wakeApplied(isOver ? Number.POSITIVE_INFINITY : this.#appliedIndex);
  }

  /** Nothing of this is applied any more. */
  giveUp(reason: string): void {
    for (const {resolve} of this.#entries.takeAll()) resolve?.({kind: 'unknown', detail: reason});
  }

  /** Resolves when no entry is on its way. */
  async settled(): Promise<void> {
    if (this.isEmpty) return;
    await new Promise<void>(resolve => {
      this.#settledWaiters.push(resolve);
    });
  }

  /** Resolves when the entry is applied, or by `wake`. */
  async whenApplied(index: LogIndex): Promise<void> {
    if (index <= this.#appliedIndex) return;
    await new Promise<void>(resolve => this.#appliedWaiters.push({index, resolve}));
  }

  /** Wakes who waits for entries up to `index`. */
  wakeApplied(index: LogIndex): void {
    if (this.#appliedWaiters.length === 0) return;
    const waiters = this.#appliedWaiters;
    this.#appliedWaiters = waiters.filter(waiter => waiter.index > index);
    for (const waiter of waiters) if (waiter.index <= index) waiter.resolve();
  }
}
