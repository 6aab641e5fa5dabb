/** What the thread of one archive is given, and what it says. */
import {Corruption, reasonOf, Refusal, type RefusalCode} from '#server/base/errors.ts';
import type {ReadOrder} from '#server/backup/backups.ts';
import type {ArchiveOrder} from '#server/backup/write-archive.ts';

/** What a thread begins with. */
export type ArchiveWork =
  | {
      readonly kind: 'write';
      readonly order: ArchiveOrder;
      /** How busy the network thread is (busy-share.ts). */
      readonly busyShare: SharedArrayBuffer;
    }
  | {readonly kind: 'read'; readonly order: ReadOrder};

export type ArchiveNews =
  | {readonly kind: 'progress'; readonly done: number; readonly total: number}
  | {readonly kind: 'done'; readonly value: unknown}
  | {readonly kind: 'failed'; readonly failure: SentFailure};

/** Classes do not cross threads. */
export interface SentFailure {
  readonly code: RefusalCode | undefined;
  readonly message: string;
  readonly detail: Refusal['detail'];
}

export function sentFailure(error: unknown): SentFailure {
  if (error instanceof Refusal) {
    return {code: error.code, message: error.message, detail: error.detail};
  }
  // A disk that is full is an operator's matter, not a fault of the archive.
  const isFull = error instanceof Error && 'code' in error && error.code === 'ENOSPC';
  return {code: isFull ? 'storage.full' : undefined, message: reasonOf(error), detail: {}};
}

export function receivedFailure({code, message, detail}: SentFailure): Error {
  return code === undefined
    ? new Corruption(message, detail)
    : new Refusal(code, message, {detail});
}

/** A piece that was deflated, and the processor time that its thread took since the last one. */
export interface DeflatedPiece {
  readonly bytes: Uint8Array;
  readonly cpuMs: number;
}
