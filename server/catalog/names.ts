/**
 * The dictionary of a database: short ids for the names of properties.
 *
 * Ids count from 1 and are never given back, so a record stored once is readable for ever. The
 * dictionary only grows; it is filled from the store at open and by the entries applied since.
 */
import {assert} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';

/** Gives ids to names on behalf of transactions. */
export interface NameAllocator {
  /**
   * The name's id. `isNew` until a commit has stored it: then every transaction that uses the
   * name writes the dictionary entry too (the same one, so order is no matter).
   *
   * @throws {Refusal} `argument` for an empty name: its stored entry would have no bytes, which is
   *   what damage looks like.
   */
  idOf(name: string): {readonly id: number; readonly isNew: boolean};
  nameOf(id: number): string | undefined;
  /** The id of a name that a commit has stored. */
  storedId(name: string): number | undefined;
  /** The id of a name that has one; reading statements never make names. */
  knownId(name: string): number | undefined;
  /** The entry is stored: its name is not new any more. */
  learn(id: number, name: string): void;
}

export class NameDictionary implements NameAllocator {
  private readonly names: (string | undefined)[] = [undefined];
  private readonly ids = new Map<string, number>();
  private readonly stored = new Set<number>();

  idOf(name: string): {readonly id: number; readonly isNew: boolean} {
    const known = this.ids.get(name);
    if (known !== undefined) return {id: known, isNew: !this.stored.has(known)};
    if (name === '') throw new Refusal('argument', "a property's name cannot be empty");
    const id = this.names.length;
    this.names.push(name);
    this.ids.set(name, id);
    return {id, isNew: true};
  }

  nameOf(id: number): string | undefined {
    return this.names[id];
  }

  storedId(name: string): number | undefined {
    const id = this.ids.get(name);
    return id !== undefined && this.stored.has(id) ? id : undefined;
  }

  /** Least id without a stored name: what lies below need not be read again. */
  get firstUnknown(): number {
    let id = this.stored.size < this.names.length - 1 ? 1 : this.names.length;
    while (this.stored.has(id)) id += 1;
    return id;
  }

  knownId(name: string): number | undefined {
    return this.ids.get(name);
  }

  /**
   * A stored entry, met at open or when an entry of the log was applied. Another node may have
   * stored it under an id that was given to another name here, in a commit that never happened.
   */
  learn(id: number, name: string): void {
    const before = this.names[id];
    if (before !== undefined && before !== name) {
      assert(!this.stored.has(id), 'a stored id names one name');
      if (this.ids.get(before) === id) this.ids.delete(before);
    }
    while (this.names.length <= id) this.names.push(undefined);
    this.names[id] = name;
    this.ids.set(name, id);
    this.stored.add(id);
  }
}

/** Sorts what has a name by it, as by code units; the items stay as they are. */
export function byName<T extends {readonly name: string}>(items: Iterable<T>): readonly T[] {
  return [...items].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}
