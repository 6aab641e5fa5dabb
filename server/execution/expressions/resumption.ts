/**
 * Lets an expression with sub-plans be interrupted and evaluated again where it was.
 *
 * A closure runs to its end or throws. When a sub-plan wants to pause, the closure is left by an
 * `Interruption`; whoever evaluates the row passes the pause on and then evaluates the expression
 * anew: sub-plans that were done answer from memory, the one that was interrupted goes on. What
 * else the expression does is done again, which nobody sees, since expressions change nothing.
 */
import type {Value} from '#server/model/value.ts';
import type {Expression} from '#server/plan/expression.ts';
import {type Pause, pause} from '../batch.ts';

/** Leaves an expression whose sub-plan pauses. */
export class Interruption extends Error {}

/** A sub-plan at work; its value at the end. */
export type Answering = Generator<Pause, Value, undefined>;

export class Resumption {
  readonly #done: {readonly of: Expression; readonly value: Value}[] = [];
  #at = 0;
  #running: {readonly of: Expression; readonly answering: Answering} | undefined;

  /** Called before each evaluation of the same expression for the same row. */
  rewind(): void {
    this.#at = 0;
  }

  /**
   * The value of a sub-plan.
   *
   * @param isKept - Its value is remembered elsewhere: it is not asked for here again.
   * @throws {Interruption} when it pauses.
   */
  valueOf(of: Expression, start: () => Answering, isKept: boolean): Value {
    const known = this.#done[this.#at];
    if (known?.of === of) {
      this.#at++;
      return known.value;
    }
    // Chance took the expression another way than the last time.
    this.#done.length = this.#at;
    if (this.#running?.of !== of) {
      this.#running?.answering.return(null);
      this.#running = {of, answering: start()};
    }
    const step = this.#running.answering.next();
    if (step.done !== true) throw new Interruption();
    this.#running = undefined;
    if (!isKept) {
      this.#done.push({of, value: step.value});
      this.#at++;
    }
    return step.value;
  }

  /** What `work` answers, which is done once however often the expression is evaluated. */
  valueOnce(of: Expression, work: () => Value): Value {
    const known = this.#done[this.#at];
    const value = known?.of === of ? known.value : work();
    if (known?.of !== of) {
      this.#done.length = this.#at;
      this.#done.push({of, value});
    }
    this.#at++;
    return value;
  }

  /** Ends what runs and forgets the rest: another row or another expression is next. */
  clear(): void {
    this.#running?.answering.return(null);
    this.#running = undefined;
    this.#done.length = 0;
    this.#at = 0;
  }
}

/**
 * What `work` answers, which evaluates expressions in a cursor with that resumption; it is done
 * anew behind each pause. Whoever calls clears the resumption when it leaves early.
 */
export function* resumed<Result>(
  resumption: Resumption,
  work: () => Result,
): Generator<Pause, Result, undefined> {
  for (;;) {
    resumption.rewind();
    try {
      const result = work();
      resumption.clear();
      return result;
    } catch (error) {
      if (!(error instanceof Interruption)) throw error;
      yield pause;
    }
  }
}
