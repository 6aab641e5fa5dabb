/**
 * A pattern as an automaton without memory, run with all its states at once.
 *
 * States are numbers; a state takes one character of a class and goes to the next, or splits
 * into several without taking any. The work for one character is bounded by the states, so a
 * match costs text times pattern and never more.
 */
import {assert, unreachable} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import type {CodeRange, PatternNode} from './pattern-syntax.ts';

const statesMax = 20_000;

type State =
  | {readonly kind: 'take'; readonly test: (code: number) => boolean; next: number}
  | {readonly kind: 'split'; readonly next: number[]}
  | {readonly kind: 'end'};

export interface Automaton {
  readonly states: readonly State[];
  readonly start: number;
}

/** @throws {Refusal} `argument` when repetitions unfold to too many states. */
export function compileAutomaton(root: PatternNode, ignoreCase: boolean): Automaton {
  const builder = new AutomatonBuilder(ignoreCase);
  const end = builder.add({kind: 'end'});
  return {start: builder.build(root, end), states: builder.states};
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

/** Whether the automaton takes the whole text. */
export function matchesAutomaton({states, start}: Automaton, text: string): boolean {
  let current = new StateSet(states);
  let following = new StateSet(states);
  current.add(start);
  for (const character of text) {
    if (current.members.length === 0) return false;
    const code = character.codePointAt(0) ?? 0;
    following.clear();
    for (const member of current.members) {
      const state = states[member];
      if (state?.kind === 'take' && state.test(code)) following.add(state.next);
    }
    [current, following] = [following, current];
  }
  return current.members.some(member => states[member]?.kind === 'end');
}

/** States to be in at once; splits are followed as they are added. */
class StateSet {
  readonly members: number[] = [];
  readonly #states: readonly State[];
  readonly #seen: Uint32Array;
  #round = 1;

  constructor(states: readonly State[]) {
    this.#states = states;
    this.#seen = new Uint32Array(states.length);
  }

  clear(): void {
    this.members.length = 0;
    this.#round++;
  }

  add(number: number): void {
    const agenda = [number];
    for (let at = agenda.pop(); at !== undefined; at = agenda.pop()) {
      if (this.#seen[at] === this.#round) continue;
      this.#seen[at] = this.#round;
      const state = this.#states[at];
      assert(state !== undefined, 'a state leads to a state');
      if (state.kind === 'split') agenda.push(...state.next);
      else this.members.push(at);
    }
  }
}
