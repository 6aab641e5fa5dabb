/**
 * What clients asked of registers and what they were told, with the times of question and answer:
 * the evidence that the checkers judge.
 *
 * A register is a key with a value and a version; every write that takes effect adds one to the
 * version. An operation that failed certainly did nothing; one with an unknown outcome may have,
 * or may still. Times are microseconds of one monotonic clock, so that clients can be compared.
 */
import {writeFileSync} from 'node:fs';

export const readModes = ['eventual', 'read_your_writes', 'linearizable'] as const;
export type ReadMode = (typeof readModes)[number];

export interface Operation {
  readonly client: number;
  /** Which member answered, and in which of its lives: `svc_1/3`. */
  readonly node: string;
  readonly key: string;
  readonly kind: 'read' | 'write' | 'compare';
  /** Set for a read. */
  readonly mode: ReadMode | undefined;
  /** Whether the member that was asked was no leader, as far as the client knew. */
  readonly atFollower: boolean;
  /** Written by `write`, and by `compare` over `expected`. No value is used twice. */
  readonly value: number;
  readonly expected: number;
  readonly outcome: 'ok' | 'failed' | 'unknown';
  /** Whether a comparison that is `ok` wrote. */
  readonly applied: boolean;
  /** What a read found. */
  readonly found: number;
  /** The version after the operation, as the answer tells. */
  readonly version: number;
  readonly call: number;
  readonly return: number;
  /** Why it failed, for people. */
  readonly reason: string | undefined;
}

/** Microseconds of the clock that histories use. */
export function historyTime(): number {
  return Math.round(performance.now() * 1_000);
}

/** Writes those operations, a line each, that bear on whether registers are linearizable. */
export function writeLinearizable(path: string, operations: readonly Operation[]): number {
  const relevant = operations.filter(({kind, mode}) => kind !== 'read' || mode === 'linearizable');
  writeFileSync(path, relevant.map(one => `${JSON.stringify(one)}\n`).join(''));
  return relevant.length;
}
