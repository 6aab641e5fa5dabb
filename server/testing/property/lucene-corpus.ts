/** Documents with the frequencies of natural words, and queries of all forms, from a seed. */
import {SeededRandom} from './seeded-random.ts';

export const documentCount = 1_500;
const wordCount = 2_000;
const special = ["don't", '3.14', 'U.S.A.', 'wi-fi', 'naïve', 'Straße', 'running', 'foxes', '我们'];

/** How often the word of a rank is met against the first (Zipf), in thousandths, summed up. */
const sums: number[] = [];
for (let rank = 1; rank <= wordCount; rank += 1) {
  sums.push((sums.at(-1) ?? 0) + Math.ceil(1_000_000 / rank));
}

export class LuceneCorpus {
  readonly #random: SeededRandom;
  readonly #words: readonly string[];
  readonly documents: readonly string[];
  readonly queries: readonly string[];

  constructor(seed: number, queryCount: number) {
    this.#random = new SeededRandom(seed);
    this.#words = Array.from({length: wordCount}, () => this.#letters(2 + this.#random.below(8)));
    this.documents = Array.from({length: documentCount}, () => {
      const length = 1 + this.#random.below(1 + this.#random.below(120));
      return Array.from({length}, () => this.#word()).join(' ');
    });
    this.queries = Array.from({length: queryCount}, () => this.#query());
  }

  #letters(count: number): string {
    const letter = (): string => String.fromCharCode(97 + this.#random.below(26));
    return Array.from({length: count}, letter).join('');
  }

  #word(): string {
    if (this.#random.once(50)) return this.#random.pick(special);
    const at = this.#random.below(sums.at(-1) ?? 1);
    return this.#words[sums.findIndex(sum => sum > at)] ?? '';
  }

  #query(): string {
    const clauses = Array.from({length: 1 + this.#random.below(4)}, () => this.#clause());
    return clauses.join(this.#random.pick([' ', ' ', ' ', ' ', ' AND ', ' OR ', ' NOT ']));
  }

  #clause(): string {
    const term = this.#random.once(7) ? `(${this.#term()} ${this.#term()})` : this.#term();
    return this.#random.pick(['', '', '', '', '+', '-']) + term;
  }

  #term(): string {
    const word = this.#word();
    switch (this.#random.below(14)) {
      case 0:
        return `${word.slice(0, 2)}*`;
      case 1:
        return `${word.slice(0, 1)}?${word.slice(2)}`;
      case 2:
        return `*${word.slice(-2)}`;
      case 3:
        return /^[a-z]{4,}$/u.test(word) ? `${word}~${this.#random.pick(['', '1'])}` : word;
      case 4:
        return `${word}^${1 + this.#random.below(4)}.5`;
      case 5:
      case 6: {
        const words = this.#random.pick(this.documents).split(' ');
        const from = this.#random.below(words.length);
        const phrase = words.slice(from, from + 2 + this.#random.below(2)).join(' ');
        return `"${phrase}"${this.#random.pick(['', '', '~3'])}`;
      }
      case 7:
        return `t:${word}`;
      default:
        return word;
    }
  }
}
