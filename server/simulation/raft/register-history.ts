/**
 * What clients saw of registers, and whether one order explains it (linearizability).
 *
 * The order is known: a write takes place at its index in the log, a read right behind the last
 * entry that was applied where it was served. Left to check is that the order agrees with real
 * time (nothing takes place before something that had ended when it began) and that each read
 * saw the last write before it. Both together are linearizability; no search is needed.
 */
import type {LogIndex} from '#server/raft/message.ts';
import {Violation} from '../ledger.ts';

interface RegisterWrite {
  readonly index: LogIndex;
  readonly value: number;
}

/** An operation under way: what it may not take place before. */
export interface Begun {
  readonly name: string;
  readonly notBefore: LogIndex;
}

export class RegisterHistory {
  readonly #writes = new Map<number, RegisterWrite[]>();
  readonly #acknowledged: LogIndex[] = [];
  /** The latest place of an operation that has ended. */
  #ended: LogIndex = 0;
  reads = 0;
  followerReads = 0;

  get writes(): number {
    return this.#acknowledged.length;
  }

  begin(name: string): Begun {
    return {name, notBefore: this.#ended};
  }

  /** The committed write of `value` at `index`, told once, in the order of the log. */
  committed(register: number, index: LogIndex, value: number): void {
    const writes = this.#writes.get(register) ?? [];
    this.#writes.set(register, writes);
    writes.push({index, value});
  }

  wrote(begun: Begun, index: LogIndex): void {
    if (index <= begun.notBefore) {
      throw new Violation(`${begun.name} took place at ${index}, before it began`);
    }
    this.#acknowledged.push(index);
    this.#end(index);
  }

  /** A read of `value` by a node that had applied everything up to `index`. */
  read(begun: Begun, register: number, index: LogIndex, value: number | undefined): void {
    if (index < begun.notBefore) {
      throw new Violation(`${begun.name} saw ${index}, but ${begun.notBefore} had ended before`);
    }
    const expected = this.valueAt(register, index);
    if (value !== expected) {
      throw new Violation(`${begun.name} saw ${String(value)}, not ${String(expected)}`);
    }
    this.reads++;
    this.#end(index);
  }

  valueAt(register: number, index: LogIndex): number | undefined {
    return this.#writes.get(register)?.findLast(write => write.index <= index)?.value;
  }

  /** Committed never lost: every acknowledged write is among the first `count` entries. */
  checkAcknowledged(count: number): void {
    const lost = this.#acknowledged.find(index => index > count);
    if (lost !== undefined) throw new Violation(`the acknowledged write ${lost} is lost`);
  }

  #end(index: LogIndex): void {
    this.#ended = Math.max(this.#ended, index);
  }
}
