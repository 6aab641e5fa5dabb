/**
 * A writer of the ledger: inserts, updates and deletes records of its own by statements, by
 * transactions and by the bulk route, and books what came of each.
 */
import type {Client} from '#server/client/client.ts';
import {NotConnected, ServerError, UnknownOutcome} from '#server/client/server-error.ts';
import type {Ledger, Write} from './ledger.ts';

/** The database in which writers work. */
export const ledgerDatabase = 'ledger';
const database = ledgerDatabase;

type Sending = {readonly writes: readonly Write[]; readonly send: () => Promise<unknown>};

/** One client with keys of its own. */
export class Writer {
  readonly surprises: string[] = [];
  readonly #index: number;
  readonly #ledger: Ledger;
  readonly #random: (below: number) => number;
  readonly #keys: string[] = [];
  #next = 0;

  constructor(index: number, ledger: Ledger, random: (below: number) => number) {
    this.#index = index;
    this.#ledger = ledger;
    this.#random = random;
  }

  /** Works until its connection is cut, or until it has been told that it is over. */
  async work(client: Client, isOver: () => boolean): Promise<void> {
    for (let cut = false; !cut && !isOver(); ) cut = await this.#carryOut(this.#choose(client));
  }

  /** Sends, books the outcome, and answers whether the connection is gone. */
  async #carryOut({writes, send}: Sending): Promise<boolean> {
    const ledger = this.#ledger;
    ledger.began(writes);
    try {
      await send();
      ledger.wasAcknowledged(writes);
      return false;
    } catch (error) {
      if (error instanceof NotConnected) {
        ledger.wasRefused(writes);
        return true;
      }
      if (error instanceof UnknownOutcome) {
        ledger.becameUnknown(writes);
        return true;
      }
      if (!(error instanceof ServerError)) throw error;
      if (error.exceptionName === 'CommitOutcomeUnknownException' || error.status === 500) {
        if (error.status === 500) this.surprises.push(error.message);
        ledger.becameUnknown(writes);
      } else ledger.wasRefused(writes);
      return false;
    }
  }

  #choose(client: Client): Sending {
    const lot = this.#random(100);
    const old = this.#oldKey();
    if (lot < 45 || old === undefined) return this.#insert(client, lot % 2 === 0 ? 'k' : 'p');
    if (lot < 60) return this.#update(client, old);
    if (lot < 68) return this.#delete(client, old);
    if (lot < 74) return this.#insertTwice(client, old);
    if (lot < 95) return this.#transaction(client, old);
    return this.#load(client);
  }

  #newKey(prefix: string): string {
    this.#next += 1;
    const key = `${prefix}-${this.#index}-${this.#next}`;
    if (prefix !== 'b') this.#keys.push(key);
    return key;
  }

  /** A key that is certainly stored and that no unknown write holds. */
  #oldKey(): string | undefined {
    const key = this.#keys[this.#random(Math.max(1, this.#keys.length))];
    if (key === undefined || !this.#ledger.isFree(key)) return undefined;
    return this.#ledger.state(key) === undefined ? undefined : key;
  }

  #insert(client: Client, prefix: 'k' | 'p'): Sending {
    const key = this.#newKey(prefix);
    return {
      writes: [{key, state: 1}],
      send: () => client.command(database, insertInto(key), {params: {id: key, value: 1}}),
    };
  }

  #update(client: Client, key: string): Sending {
    const value = (this.#ledger.state(key) ?? 0) + 1;
    return {
      writes: [{key, state: value}],
      send: () => client.command(database, updateOf(key), {params: {id: key, value}}),
    };
  }

  #delete(client: Client, key: string): Sending {
    const statement = `DELETE FROM ${typeOf(key)} WHERE id = :id`;
    return {
      writes: [{key, state: undefined}],
      send: () => client.command(database, statement, {params: {id: key}}),
    };
  }

  /** A transaction that must be refused as a whole: its second insert repeats a unique key. */
  #insertTwice(client: Client, old: string): Sending {
    const key = this.#newKey('p');
    const repeated = old.startsWith('k-') ? old : undefined;
    return {
      writes: [{key, state: 1}],
      send: async () => {
        const session = await client.begin(database);
        await session.command(database, insertInto(key), {params: {id: key, value: 1}});
        if (repeated !== undefined) {
          const params = {id: repeated, value: 1};
          await session.command(database, insertInto(repeated), {params});
        }
        await session.commit();
      },
    };
  }

  #transaction(client: Client, old: string): Sending {
    const [one, other] = [this.#newKey('k'), this.#newKey('p')];
    const value = (this.#ledger.state(old) ?? 0) + 1;
    return {
      writes: [
        {key: one, state: 1},
        {key: other, state: 1},
        {key: old, state: value},
      ],
      send: async () => {
        const session = await client.begin(database);
        await session.command(database, insertInto(one), {params: {id: one, value: 1}});
        await session.command(database, insertInto(other), {params: {id: other, value: 1}});
        await session.command(database, updateOf(old), {params: {id: old, value}});
        await session.commit();
      },
    };
  }

  /** A load of one vertex: loads of many are not atomic, so the books could not hold them. */
  #load(client: Client): Sending {
    const key = this.#newKey('b');
    const line = {'@type': 'v', '@class': 'Loaded', '@id': key, id: key, value: 1};
    return {
      writes: [{key, state: 1}],
      send: () => client.batch(database, `${JSON.stringify(line)}\n`, {query: {wal: true}}),
    };
  }
}

function typeOf(key: string): string {
  return key.startsWith('k-') ? 'Keyed' : 'Plain';
}

function insertInto(key: string): string {
  return `INSERT INTO ${typeOf(key)} SET id = :id, value = :value`;
}

function updateOf(key: string): string {
  return `UPDATE ${typeOf(key)} SET value = :value WHERE id = :id`;
}
