/**
 * A client that keeps books: it writes numbered entries one after the other, notes which of them
 * were acknowledged, and compares afterwards.
 *
 * An entry whose outcome is not known is written again under the same name until it is
 * acknowledged, which must not double it: no index keeps a second copy out, so that one would be
 * seen. Promise O1 of the scenarios: every acknowledged entry is on every member, once.
 */
import {setTimeout as sleep} from 'node:timers/promises';
import type {Cluster} from './cluster.ts';
import {RefusedByServer, type ServerClient} from './server-client.ts';

export interface Books {
  readonly acknowledged: number;
  /** The longest time between two acknowledgements, of whichever writer. */
  readonly longestGapMs: number;
  /** Attempts that were refused or broke off. */
  readonly repeated: number;
}

interface Entry {
  readonly writer: number;
  readonly n: number;
}

const database = 'ledger';
const pauseBehindFailureMs = 20;
const requestSeconds = 3;

export class Ledger {
  readonly #client: ServerClient;
  readonly #requestSeconds: number;
  readonly #pauseMs: number;
  readonly #acknowledged = new Set<string>();
  #stops = false;
  #running: Promise<unknown> = Promise.resolve();
  #lastMs = 0;
  #longestGapMs = 0;
  #repeated = 0;

  private constructor(client: ServerClient, requestSeconds: number, pauseMs: number) {
    this.#client = client;
    this.#requestSeconds = requestSeconds;
    this.#pauseMs = pauseMs;
  }

  /**
   * Makes the database and begins to write.
   *
   * @param client - Of a service in front of all.
   * @param options - `seconds`: how long a writer waits for an answer before it asks anew.
   *   `pauseMs`: behind each entry, so that one scenario leaves processors to those beside it.
   */
  static async open(
    client: ServerClient,
    {writers = 4, seconds = requestSeconds, pauseMs = pauseBehindFailureMs} = {},
  ): Promise<Ledger> {
    await client.server(`create database ${database}`);
    await client.command(database, 'CREATE DOCUMENT TYPE Entry');
    const ledger = new Ledger(client, seconds, pauseMs);
    ledger.#lastMs = performance.now();
    const numbers = Array.from({length: writers}, (_, writer) => writer);
    ledger.#running = Promise.all(numbers.map(writer => ledger.#write(writer)));
    return ledger;
  }

  get acknowledged(): number {
    return this.#acknowledged.size;
  }

  /** The longest silence since it was asked last; the one that lasts counts. */
  takeLongestGapMs(): number {
    const longest = Math.max(this.#longestGapMs, performance.now() - this.#lastMs);
    this.#longestGapMs = 0;
    return Math.round(longest);
  }

  /** Resolves when every writer has had its last entry acknowledged. */
  async close(): Promise<Books> {
    this.#stops = true;
    await this.#running;
    return {
      acknowledged: this.#acknowledged.size,
      longestGapMs: Math.round(this.#longestGapMs),
      repeated: this.#repeated,
    };
  }

  /** @throws {Error} naming what a member lacks, doubles or invented; after `close`. */
  async compareWith(name: string, member: ServerClient): Promise<void> {
    const command = 'SELECT writer, n FROM Entry';
    const asking = {consistency: 'linearizable', seconds: 60} as const;
    const rows = (await member.query(database, command, asking)) as Entry[];
    const found = new Set(rows.map(nameOf));
    const lost = [...this.#acknowledged].filter(entry => !found.has(entry));
    const invented = [...found].filter(entry => !this.#acknowledged.has(entry));
    const doubled = rows.length - found.size;
    if (lost.length + invented.length + doubled === 0) return;
    throw new Error(
      `${name} lost ${lost.length} acknowledged entries (${lost.slice(0, 5).join(', ')}), holds ` +
        `${doubled} twice and ${invented.length} that nobody wrote`,
    );
  }

  /** O2: all members hold the same, byte by byte of what a database contains. */
  async verify(member: ServerClient): Promise<void> {
    const status = await member.verify(database);
    if (status !== 'ALL_CONSISTENT') throw new Error(`the copies of ${database}: ${status}`);
  }

  async #write(writer: number): Promise<void> {
    for (let n = 0; !this.#stops; n++) {
      const entry = {writer, n};
      while (!(await this.#tried(entry))) {
        this.#repeated++;
        await sleep(pauseBehindFailureMs);
      }
      const now = performance.now();
      this.#longestGapMs = Math.max(this.#longestGapMs, now - this.#lastMs);
      this.#lastMs = now;
      this.#acknowledged.add(nameOf(entry));
      if (this.#pauseMs > 0) await sleep(this.#pauseMs);
    }
  }

  async #tried(entry: Entry): Promise<boolean> {
    try {
      await this.#client.command(database, 'INSERT INTO Entry SET writer = ?, n = ?', {
        requestId: nameOf(entry),
        params: [entry.writer, entry.n],
        seconds: this.#requestSeconds,
      });
      return true;
    } catch (error) {
      // An earlier attempt of the same name was committed.
      if (!(error instanceof RefusedByServer)) return false;
      return error.exception === 'TransactionCommittedRemotelyException';
    }
  }
}

/** O1 and O2 over all members of a whole cluster; after `close`. */
export async function compareBooks(cluster: Cluster, ledger: Ledger): Promise<void> {
  for (const pod of await cluster.untilWhole()) {
    await ledger.compareWith(pod.metadata.name, cluster.client(pod));
  }
  await ledger.verify(cluster.client(await cluster.leader()));
}

/** Ends the writers and compares the books of every member; answers what came out, for a note. */
export async function settleBooks(cluster: Cluster, ledger: Ledger): Promise<string> {
  await ledger.close();
  await compareBooks(cluster, ledger);
  return `${ledger.acknowledged} entries on each of three members, once`;
}

function nameOf({writer, n}: Entry): string {
  return `entry-${writer}-${n}`;
}
