/**
 * What one step wants done, gathered in any order and given out in the right one: first what must
 * be durable, then what may be said because of it, then the rest.
 */
import type {Effect, HardState} from './effect.ts';
import type {Checkpoint} from './membership.ts';
import type {AppendHead, Entry, LogIndex, NodeId} from './message.ts';

type Send = Extract<Effect, {readonly kind: 'send'}>;
type SendEntries = Extract<Effect, {readonly kind: 'send-entries'}>;
type Unsent = Omit<Send, 'after'> | Omit<SendEntries, 'after'>;

/**
 * What a message relies on: `log` on everything written so far, this step included; `term` on the
 * sender's term and vote alone, so that a leader's appends do not wait for its own disk; `nothing`
 * on what is durable already.
 */
type Relies = 'log' | 'term' | 'nothing';

export class Outbox {
  membershipChanged = false;
  #hardStateChanged = false;
  #restart: Checkpoint | undefined;
  #keepThrough: LogIndex | undefined;
  #entries: Entry[] = [];
  #sends: {readonly unsent: Unsent; readonly relies: Relies}[] = [];
  #others: Effect[] = [];
  #lastNumber = 0;
  /** The persist effect that carried the term and vote now in force. */
  #termNumber = 0;

  /** Whether the term and vote now in force are durable, when all writes up to `persisted` are. */
  termIsDurable(persisted: number): boolean {
    return !this.#hardStateChanged && persisted >= this.#termNumber;
  }

  hardStateChanged(): void {
    this.#hardStateChanged = true;
  }

  /** The log keeps what it has up to `keepThrough` and goes on with `entries`. */
  write(keepThrough: LogIndex, entries: readonly Entry[]): void {
    if (this.#keepThrough === undefined) {
      this.#keepThrough = keepThrough;
      this.#entries = [...entries];
      return;
    }
    // A second write of a step: what it replaces never reaches the disk.
    const kept = keepThrough - this.#keepThrough;
    if (kept < 0) this.#keepThrough = keepThrough;
    this.#entries = [...this.#entries.slice(0, Math.max(0, kept)), ...entries];
  }

  restart(checkpoint: Checkpoint): void {
    this.#restart = checkpoint;
    this.#keepThrough = checkpoint.last.index;
    this.#entries = [];
  }

  send(to: NodeId, message: Send['message'], relies: Relies): void {
    this.#sends.push({unsent: {kind: 'send', to, message}, relies});
  }

  sendEntries(to: NodeId, head: AppendHead, through: LogIndex, mayWait: boolean): void {
    this.#sends.push({unsent: {kind: 'send-entries', to, head, through, mayWait}, relies: 'term'});
  }

  add(effect: Exclude<Effect, {readonly kind: 'send' | 'send-entries' | 'persist'}>): void {
    this.#others.push(effect);
  }

  /** Everything gathered, and an empty outbox; `written` is told the number of a write. */
  take(
    hardState: HardState,
    lastIndex: LogIndex,
    written: (number: number) => void,
  ): readonly Effect[] {
    const effects: Effect[] = [];
    if (this.#hardStateChanged || this.#keepThrough !== undefined) {
      const number = ++this.#lastNumber;
      if (this.#hardStateChanged) this.#termNumber = number;
      effects.push({
        kind: 'persist',
        number,
        hardState,
        restart: this.#restart,
        keepThrough: this.#keepThrough ?? lastIndex,
        entries: this.#entries,
      });
      written(number);
    }
    for (const {unsent, relies} of this.#sends) {
      effects.push({...unsent, after: this.#writeOf(relies)});
    }
    effects.push(...this.#others);
    this.#clear();
    return effects;
  }

  /** Number of the write that has to be durable before. */
  #writeOf(relies: Relies): number {
    if (relies === 'nothing') return 0;
    return relies === 'log' ? this.#lastNumber : this.#termNumber;
  }

  #clear(): void {
    this.membershipChanged = false;
    this.#hardStateChanged = false;
    this.#restart = undefined;
    this.#keepThrough = undefined;
    this.#entries = [];
    this.#sends = [];
    this.#others = [];
  }
}
