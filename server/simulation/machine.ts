/**
 * The simulated machine: numbers every operation on disk and stores, hashes what happens, and
 * ends the process at the operation it was told to.
 *
 * An operation is counted when its effect is pending and nothing is promised yet, so a crash at
 * it is a crash in its middle. Once dead, every further operation of that process throws too:
 * nothing it still does can reach the disk. Invariant V1: one seed, one trace hash.
 */
export type OperationKind =
  | 'write'
  | 'sync'
  | 'preallocate'
  | 'truncate'
  | 'create'
  | 'rename'
  | 'link'
  | 'unlink'
  | 'make-directory'
  | 'remove-tree'
  | 'mark'
  | 'sync-directory'
  | 'store-write'
  | 'store-sync'
  | 'store-checkpoint'
  | 'store-open';

/** The end of the simulated process; nobody below the world handles it. */
export class SimulatedCrash extends Error {
  override readonly name = 'SimulatedCrash';
}

/** A fault of the disk as the system would report it. */
export class SimulatedDiskError extends Error {
  readonly code: 'EIO' | 'ENOSPC';

  constructor(code: 'EIO' | 'ENOSPC', path: string) {
    super(`${code}: simulated, ${path}`);
    this.code = code;
  }
}

export class Machine {
  readonly counts = new Map<OperationKind, number>();
  operationCount = 0;
  dead = false;
  /** Number of the operation in which the process ends. */
  crashAt = Number.POSITIVE_INFINITY;
  /** Number of the sync that fails. */
  failSyncAt = Number.POSITIVE_INFINITY;
  #hash = 0x811c_9dc5;

  get traceHash(): string {
    return (this.#hash >>> 0).toString(16).padStart(8, '0');
  }

  trace(text: string): void {
    // FNV-1a: texts are short, and what is to be noticed is a difference, not an intention.
    let hash = this.#hash;
    for (let at = 0; at < text.length; at++) {
      hash = Math.imul(hash ^ text.charCodeAt(at), 0x0100_0193);
    }
    this.#hash = hash;
  }

  operate(kind: OperationKind, detail: string): void {
    if (this.dead) throw new SimulatedCrash('the process has ended');
    this.operationCount++;
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
    this.trace(`${kind} ${detail}`);
    if (this.operationCount >= this.crashAt) {
      this.dead = true;
      throw new SimulatedCrash(`crash at operation ${this.operationCount}, ${kind} ${detail}`);
    }
  }

  /** A new process on the same machine. */
  boot(): void {
    this.dead = false;
    this.crashAt = Number.POSITIVE_INFINITY;
    this.failSyncAt = Number.POSITIVE_INFINITY;
  }
}
