/**
 * First in, first out, for many short-lived items: what leaves gives its place up at once, so that
 * it dies young, and taking one costs the same however many wait.
 */
const headMin = 1024;

export class Fifo<Item> {
  #items: (Item | undefined)[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  /** The one that waits for longest; undefined when none does. */
  get first(): Item | undefined {
    return this.#items[this.#head];
  }

  push(item: Item): void {
    this.#items.push(item);
  }

  /** Takes the one that waits for longest. */
  shift(): Item | undefined {
    // Often one waits alone; its array serves the next one.
    if (this.#head === 0 && this.#items.length <= 1) return this.#items.pop();
    const item = this.#items[this.#head];
    this.#items[this.#head++] = undefined;
    if (this.#head === this.#items.length) {
      this.#items = [];
      this.#head = 0;
    } else if (this.#head >= headMin && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  /** Takes all, the one that waits for longest first. */
  takeAll(): Item[] {
    const items: Item[] = [];
    for (let item = this.shift(); item !== undefined; item = this.shift()) items.push(item);
    return items;
  }

  *[Symbol.iterator](): Generator<Item> {
    for (let at = this.#head; at < this.#items.length; at++) {
      const item = this.#items[at];
      if (item !== undefined) yield item;
    }
  }
}
