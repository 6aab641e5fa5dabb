/**
 * A queue in which parties take turns: one that brings many waits behind itself, not before others.
 *
 * Invariant: of the parties that wait, each gets its next turn before any gets two more. When the
 * queue is full, whoever waits most gives way to who waits less (`displace`).
 */
export class FairQueue<T> {
  /** The parties in the order of their next turns; nobody is in it without something that waits. */
  readonly #byParty = new Map<string, T[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(party: string, item: T): void {
    const waiting = this.#byParty.get(party);
    if (waiting === undefined) this.#byParty.set(party, [item]);
    else waiting.push(item);
    this.#size += 1;
  }

  /** The next one, of a party that may have its turn now; undefined when there is none. */
  shift(mayTurn: (party: string) => boolean = () => true): T | undefined {
    for (const [party, waiting] of this.#byParty) {
      if (!mayTurn(party)) continue;
      const [item] = waiting.splice(0, 1);
      this.#byParty.delete(party);
      if (waiting.length > 0) this.#byParty.set(party, waiting);
      this.#size -= 1;
      return item;
    }
    return undefined;
  }

  /** Whether somebody waits who may have its turn. */
  hasTurn(mayTurn: (party: string) => boolean): boolean {
    return [...this.#byParty.keys()].some(mayTurn);
  }

  /** Takes one out that waits no longer; false when it is not there. */
  remove(party: string, item: T): boolean {
    const waiting = this.#byParty.get(party);
    const at = waiting?.indexOf(item) ?? -1;
    if (waiting === undefined || at < 0) return false;
    waiting.splice(at, 1);
    if (waiting.length === 0) this.#byParty.delete(party);
    this.#size -= 1;
    return true;
  }

  /** Takes the newest one of the party that waits most out, if `party` waits for less than that. */
  displace(party: string): T | undefined {
    let most: [string, T[]] | undefined;
    for (const entry of this.#byParty) {
      if (most === undefined || entry[1].length > most[1].length) most = entry;
    }
    const own = this.#byParty.get(party)?.length ?? 0;
    if (most === undefined || most[1].length <= own + 1) return undefined;
    const item = most[1].at(-1);
    if (item !== undefined) this.remove(most[0], item);
    return item;
  }
}
