/**
 * What a careful client knows about its own writes: acknowledged, refused, or unknown.
 *
 * Every key has one certain state (a value, or absent) and, after a write whose answer was lost,
 * further states that are possible as well. Writes of one transaction share a group: after a lost
 * commit either all of the group happened or none. The audit compares what is stored with what
 * may be, and what it finds becomes certain.
 *
 * Invariant: a key has at most one write under way, and none once a write of it is unknown.
 */

/** The value of a record, or `undefined` where there is none. */
export type State = number | undefined;

/** One write of one key. */
export interface Write {
  readonly key: string;
  readonly state: State;
}

/** One thing that must not be. */
export interface Finding {
  readonly kind: 'lost' | 'doubled' | 'resurrected' | 'torn';
  readonly key: string;
  readonly says: string;
}

/** Rows found in the server, by key: one value for each stored copy. */
export type Stored = ReadonlyMap<string, readonly number[]>;

interface Unknown {
  readonly writes: readonly Write[];
}

/** The books of all writers of one run. */
export class Ledger {
  readonly #certain = new Map<string, State>();
  readonly #unknown: Unknown[] = [];
  readonly #open = new Set<string>();
  acknowledged = 0;
  refused = 0;
  unknown = 0;

  /** Whether a writer may use `key` for its next write. */
  isFree(key: string): boolean {
    return !this.#open.has(key);
  }

  /** The certain state of a key. */
  state(key: string): State {
    return this.#certain.get(key);
  }

  /** Call before the writes are sent. */
  began(writes: readonly Write[]): void {
    for (const {key} of writes) this.#open.add(key);
  }

  /** The server said that the writes are done. */
  wasAcknowledged(writes: readonly Write[]): void {
    this.acknowledged += writes.length;
    for (const {key, state} of writes) {
      this.#certain.set(key, state);
      this.#open.delete(key);
    }
  }

  /** The server said that the writes are not done, or they never left. */
  wasRefused(writes: readonly Write[]): void {
    this.refused += writes.length;
    for (const {key} of writes) {
      if (!this.#certain.has(key)) this.#certain.set(key, undefined);
      this.#open.delete(key);
    }
  }

  /** No answer came: done together, or not done. The keys stay out of use until the audit. */
  becameUnknown(writes: readonly Write[]): void {
    this.unknown += writes.length;
    this.#unknown.push({writes});
  }

  /** How many records must be there when nothing is unknown. */
  get liveKeys(): number {
    let live = 0;
    for (const state of this.#certain.values()) if (state !== undefined) live += 1;
    return live;
  }

  /**
   * Compares the books with what is stored. Nothing may be under way.
   *
   * Unknown writes are settled by what is found, so that the next audit starts from certainty.
   */
  audit(stored: Stored): Finding[] {
    const findings: Finding[] = [];
    for (const [key, values] of stored) {
      if (values.length > 1) {
        const says = `stored ${values.length} times: ${values.join(', ')}`;
        findings.push({kind: 'doubled', key, says});
      }
    }
    const found = (key: string): State => stored.get(key)?.[0];
    for (const {writes} of this.#unknown) this.#settle(writes, found, findings);
    this.#unknown.length = 0;
    this.#open.clear();
    for (const [key, state] of this.#certain) {
      const actual = found(key);
      if (actual === state) continue;
      const says = `acknowledged ${print(state)}, stored ${print(actual)}`;
      findings.push({kind: state === undefined ? 'resurrected' : 'lost', key, says});
    }
    for (const key of stored.keys()) {
      if (this.#certain.has(key)) continue;
      findings.push({kind: 'resurrected', key, says: 'nobody wrote it'});
    }
    return findings;
  }

  #settle(writes: readonly Write[], found: (key: string) => State, findings: Finding[]): void {
    const done = writes.filter(({key, state}) => found(key) === state);
    if (done.length !== 0 && done.length !== writes.length) {
      const says = `${done.length} of ${writes.length} writes of one transaction are there`;
      findings.push({kind: 'torn', key: writes[0]?.key ?? '', says});
    }
    if (done.length === writes.length) {
      for (const {key, state} of writes) this.#certain.set(key, state);
      return;
    }
    for (const {key} of writes) {
      if (!this.#certain.has(key)) this.#certain.set(key, undefined);
    }
  }
}

function print(state: State): string {
  return state === undefined ? 'nothing' : String(state);
}
