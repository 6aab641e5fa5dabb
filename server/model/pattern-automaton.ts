/**
 * A pattern as an automaton without memory, run with all its states at once.
 *
 * States are numbers; a state takes one character of a class and goes to the next, or splits
 * into several without taking any. The states to be in at once are a subset; where a character
 * leads from it is worked out once and remembered, so that a usual match costs a look-up for a
 * character. Working out a step costs at most all states, and a match has only so much of that:
 * its time is bounded whatever the pattern and the text.
 */
import {assert, unreachable} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import type {CodeRange, PatternNode} from './pattern-syntax.ts';

const statesMax = 20_000;
/** Steps of states that one match may work out: some tens of milliseconds. */
const stepsMax = 5_000_000;
/** Remembered steps of subsets; beyond that all are forgotten. */
const memoryMax = 20_000;

type State =
  | {readonly kind: 'take'; readonly test: (code: number) => boolean; next: number}
  | {readonly kind: 'split'; readonly next: number[]}
  | {readonly kind: 'end'};

/** States to be in at once, and where characters lead from there as far as it is known. */
interface Subset {
  readonly members: readonly number[];
  readonly isEnd: boolean;
  readonly next: Map<number, Subset>;
}

/** @throws {Refusal} `argument` when repetitions decompress to too many states. */
export function compileAutomaton(root: PatternNode, ignoreCase: boolean): Automaton {
  const builder = new AutomatonBuilder(ignoreCase);
  const end = builder.add({kind: 'end'});
  return new Automaton(builder.states, builder.build(root, end));
}

export class Automaton {
  readonly #states: readonly State[];
  readonly #start: Subset;
  /** The subsets keyed by their members. */
  readonly #subsets = new Map<string, Subset>();
  readonly #seen: Uint32Array;
  #round = 0;
  #remembered = 0;
  #stepsLeft = stepsMax;

  constructor(states: readonly State[], start: number) {
    this.#states = states;
    this.#seen = new Uint32Array(states.length);
    this.#start = this.#subset([start]);
  }

  /**
   * Whether the automaton takes the whole text.
   *
   * @throws {Refusal} `argument` when that is too much work.
   */
  matches(text: string): boolean {
    this.#stepsLeft = stepsMax;
    let subset = this.#start;
    for (let at = 0; at < text.length; at++) {
      if (subset.members.length === 0) return false;
      const code = text.codePointAt(at) ?? 0;
      if (code > 0xffff) at++;
      subset = subset.next.get(code) ?? this.#step(subset, code);
    }
    return subset.isEnd;
  }

  /** Where a character leads, worked out and remembered. */
  #step(from: Subset, code: number): Subset {
    const numbers: number[] = [];
    for (const member of from.members) {
      const state = this.#states[member];
      if (state?.kind === 'take' && state.test(code)) numbers.push(state.next);
    }
    this.#spend(from.members.length);
    const next = this.#subset(numbers);
    if (this.#remembered >= memoryMax) this.#forget();
    from.next.set(code, next);
    this.#remembered++;
    return next;
  }

  /** The states that `numbers` are or split into. */
  #subset(numbers: readonly number[]): Subset {
    this.#round++;
    const members: number[] = [];
    const agenda = [...numbers];
    let steps = 0;
    for (let at = agenda.pop(); at !== undefined; at = agenda.pop()) {
      steps++;
      if (this.#seen[at] === this.#round) continue;
      this.#seen[at] = this.#round;
      const state = this.#states[at];
      assert(state !== undefined, 'a state leads to a state');
      if (state.kind === 'split') agenda.push(...state.next);
      else members.push(at);
    }
    this.#spend(steps);
    const key = members.join(',');
    const known = this.#subsets.get(key);
    if (known !== undefined) return known;
    const isEnd = members.some(member => this.#states[member]?.kind === 'end');
    const subset = {members, isEnd, next: new Map<number, Subset>()};
    this.#subsets.set(key, subset);
    return subset;
  }

  #forget(): void {
    for (const subset of this.#subsets.values()) subset.next.clear();
    this.#subsets.clear();
    this.#remembered = 0;
  }

  #spend(steps: number): void {
    this.#stepsLeft -= steps;
    if (this.#stepsLeft >= 0) return;
    throw new Refusal('argument', 'the regular expression takes too much work on this text');
  }
}

class AutomatonBuilder {
  readonly states: State[] = [];
  readonly #ignoreCase: boolean;

  constructor(ignoreCase: boolean) {
    this.#ignoreCase = ignoreCase;
  }

  add(state: State): number {
    if (this.states.length >= statesMax) {
      throw new Refusal('argument', 'the repetitions of the pattern multiply to too much');
    }
    return this.states.push(state) - 1;
  }

  /** The state that matches `node` and goes on at `next`. */
  build(node: PatternNode, next: number): number {
    switch (node.kind) {
      case 'empty':
        return next;
      case 'class':
        return this.add({kind: 'take', test: classTest(node, this.#ignoreCase), next});
      case 'sequence':
        return node.parts.reduceRight((after, part) => this.build(part, after), next);
      case 'choice':
        return this.add({kind: 'split', next: node.parts.map(part => this.build(part, next))});
      case 'repeat':
        return this.#repeat(node, next);
      default:
        return unreachable(node);
    }
  }

  #repeat(node: PatternNode & {readonly kind: 'repeat'}, next: number): number {
    let state = next;
    if (node.max === undefined) {
      const loop: number[] = [next];
      state = this.add({kind: 'split', next: loop});
      loop.push(this.build(node.of, state));
    } else {
      for (let count = node.min; count < node.max; count++) {
        state = this.add({kind: 'split', next: [next, this.build(node.of, state)]});
      }
    }
    for (let count = 0; count < node.min; count++) state = this.build(node.of, state);
    return state;
  }
}

function classTest(
  {ranges, negated}: {readonly ranges: readonly CodeRange[]; readonly negated: boolean},
  ignoreCase: boolean,
): (code: number) => boolean {
  const isIn = (code: number): boolean => ranges.some(([from, to]) => code >= from && code <= to);
  if (!ignoreCase) return code => isIn(code) !== negated;
  return code => {
    const character = String.fromCodePoint(code);
    const lower = character.toLowerCase().codePointAt(0) ?? code;
    const upper = character.toUpperCase().codePointAt(0) ?? code;
    return (isIn(code) || isIn(lower) || isIn(upper)) !== negated;
  };
}
