/**
 * An automaton of all texts within some edits of a word, that is asked terms in their order and
 * tells behind each which text is the next that could be within: a search goes there and passes
 * over all terms between. Edits are those of `editsTest` (term-patterns.ts), over code points.
 *
 * A state is what the edits from each beginning of the word to the read part of the term are, near
 * the diagonal; beyond `editsMax` nothing is told apart. States are made as they are met, one a
 * character, whatever the length of the word. A state from which no text can come within is dead.
 * Source: K. Schulz, S. Mihov, Fast String Correction with Levenshtein Automata, IJDAR 2002.
 */

/** The edits of beginnings `depth - editsMax` to `depth + editsMax` of the word. */
type State = Uint8Array;

/** No character of any text: stands for one that the word has not. */
const other = -1;
const lastCodePoint = 0x10ffff;
const surrogates = {first: 0xd800, behind: 0xe000};

export class FuzzyWord {
  readonly #word: readonly number[];
  readonly #editsMax: number;
  /** What was asked last, and the state behind each of its beginnings until one is dead. */
  #text: readonly number[] = [];
  readonly #states: State[];

  constructor(word: string, editsMax: number) {
    this.#word = codePoints(word);
    this.#editsMax = editsMax;
    const first = Array.from({length: 2 * editsMax + 1}, (_, at) => {
      const length = at - editsMax;
      return length >= 0 && length <= this.#word.length ? length : editsMax + 1;
    });
    this.#states = [Uint8Array.from(first)];
  }

  /** Edits from the word; undefined where they are more. Cost: the characters that are new. */
  edits(text: string): number | undefined {
    const asked = codePoints(text);
    const states = this.#states;
    let depth = 0;
    const known = Math.min(asked.length, this.#text.length, states.length - 1);
    while (depth < known && asked[depth] === this.#text[depth]) depth++;
    states.length = depth + 1;
    this.#text = asked;
    while (depth < asked.length && this.#isAlive(states[depth])) {
      states.push(this.#behind(depth, asked[depth] ?? other));
      depth++;
    }
    const end = this.#word.length - asked.length + this.#editsMax;
    const edits = depth === asked.length ? (states[depth]?.[end] ?? Infinity) : Infinity;
    return edits <= this.#editsMax ? edits : undefined;
  }

  /**
   * A text behind the one that was asked last, before which none is within; undefined where none is
   * behind it. Cost: some states for each character that is given back.
   */
  next(): string | undefined {
    const text = this.#text;
    for (let depth = this.#states.length - 1; depth >= 0; depth--) {
      if (!this.#isAlive(this.#states[depth])) continue;
      // Behind the whole text come those that begin with it.
      const least = depth === text.length ? 0 : after(text[depth] ?? 0);
      const character = least === undefined ? undefined : this.#leastAlive(depth, least);
      if (character === undefined) continue;
      const kept = Array.from(text.slice(0, depth), one => String.fromCodePoint(one));
      return kept.join('') + String.fromCodePoint(character);
    }
    return undefined;
  }

  #isAlive(state: State | undefined): boolean {
    return state?.some(edits => edits <= this.#editsMax) ?? false;
  }

  /** The least character from `least` on behind which some text is within. */
  #leastAlive(depth: number, least: number): number | undefined {
    if (this.#isAlive(this.#behind(depth, other))) return least;
    const from = Math.max(0, depth - this.#editsMax - 1);
    const near = this.#word.slice(from, depth + this.#editsMax + 1);
    const fitting = near.filter(
      character => character >= least && this.#isAlive(this.#behind(depth, character)),
    );
    return fitting.length === 0 ? undefined : Math.min(...fitting);
  }

  /** The state behind one more character. */
  #behind(depth: number, character: number): State {
    const word = this.#word;
    const [state, older] = [this.#states[depth], this.#states[depth - 1]];
    const editsMax = this.#editsMax;
    const next = new Uint8Array(2 * editsMax + 1).fill(editsMax + 1);
    for (let at = 0; at < next.length; at++) {
      const length = depth + 1 - editsMax + at;
      if (length < 0 || length > word.length) continue;
      let edits = (state?.[at + 1] ?? editsMax) + 1;
      if (at > 0) edits = Math.min(edits, (next[at - 1] ?? editsMax) + 1);
      if (length > 0) {
        const isSame = word[length - 1] === character;
        edits = Math.min(edits, (state?.[at] ?? editsMax) + (isSame ? 0 : 1));
      }
      const isSwap =
        length > 1 && word[length - 2] === character && word[length - 1] === this.#text[depth - 1];
      if (isSwap) edits = Math.min(edits, (older?.[at] ?? editsMax) + 1);
      next[at] = Math.min(edits, editsMax + 1);
    }
    return next;
  }
}

function codePoints(text: string): readonly number[] {
  return Array.from(text, character => character.codePointAt(0) ?? 0);
}

/** Surrogates are no characters. */
function after(codePoint: number): number | undefined {
  if (codePoint === lastCodePoint) return undefined;
  return codePoint + 1 === surrogates.first ? surrogates.behind : codePoint + 1;
}
