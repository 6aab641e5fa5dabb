/**
 * Digests of databases at one place of the log, on every member of a cluster, while clients write.
 *
 * The leader puts a marker into the log. Each member takes a view when it executes the marker:
 * everything before it is applied then, and nothing behind it. What the view shows is digested
 * when somebody asks for it, in slices, so that others have their turn; a view that nobody asks
 * for is let go of after a while.
 */
import {Refusal} from '#server/base/errors.ts';
import {digestDatabase, fingerprintDatabase} from '#server/integrity/digest.ts';
import type {Timers} from '#server/platform/clock.ts';
import type {Database} from '#server/engine/database.ts';
import type {Engine} from '#server/engine/engine.ts';
import type {ReadSession} from '#server/transactions/transaction.ts';
import type {LocalDigest} from '#server/cluster/verify.ts';

export interface DatabaseDigestsOptions {
  readonly engine: Pick<Engine, 'database' | 'mark'>;
  readonly timers: Timers;
  readonly serverName: string;
}

interface Held {
  readonly marker: string;
  readonly reader: ReadSession;
  readonly cancelExpiry: () => void;
}

/** How long a view waits to be asked for, and a question for its marker. */
const waitMs = 30_000;
/** Views hold what compactions would drop. */
const heldMax = 8;

export class DatabaseDigests {
  readonly #options: DatabaseDigestsOptions;
  /** Oldest first. */
  readonly #held: Held[] = [];
  readonly #waiters = new Map<string, (() => void)[]>();

  constructor(options: DatabaseDigestsOptions) {
    this.#options = options;
  }

  /**
   * Puts a marker for a database into the log; its name.
   *
   * @throws {Refusal} `database.missing`, and whatever stands in the way of a commit.
   */
  async mark(database: string): Promise<string> {
    return await this.#options.engine.mark(database);
  }

  /** The marker is executed: what the database holds now is what is asked for. */
  hold(marker: string, database: Database): void {
    if (database.fence !== undefined) return;
    const reader = database.read();
    // Taken now, not when it is first read.
    void reader.snapshot;
    const cancelExpiry = this.#options.timers.after(waitMs, () => this.#take(marker)?.close());
    this.#held.push({marker, reader, cancelExpiry});
    while (this.#held.length > heldMax) this.#take(this.#held[0]?.marker ?? '')?.close();
    for (const wake of this.#waiters.get(marker) ?? []) wake();
    this.#waiters.delete(marker);
  }

  /**
   * The digest of this server's copy: at a marker, for which it waits a while, or as it is now.
   *
   * @throws {Refusal} `database.missing`; `cluster.no-quorum` when the marker did not come;
   *   {Corruption} when the files are damaged.
   */
  async digest(database: string, marker: string | undefined): Promise<LocalDigest> {
    const {timers, serverName} = this.#options;
    const found = this.#database(database);
    const reader = marker === undefined ? found.read() : await this.#at(marker);
    try {
      const parts = await digestDatabase(reader, () => timers.yield());
      const files = parts.map(({name, checksum, bytes: size, kind: type}) => ({
        name,
        checksum,
        size,
        type,
      }));
      return {localServer: serverName, files};
    } finally {
      reader.close();
    }
  }

  /**
   * One digest over all of this server's copy as it is now, equal where contents are.
   *
   * @throws {Refusal} `database.missing`; {Corruption} when the files are damaged.
   */
  async fingerprint(database: string): Promise<string> {
    const reader = this.#database(database).read();
    try {
      return await fingerprintDatabase(reader, () => this.#options.timers.yield());
    } finally {
      reader.close();
    }
  }

  #database(name: string): Database {
    const found = this.#options.engine.database(name);
    if (found === undefined) throw new Refusal('database.missing', `there is no database ${name}`);
    return found;
  }

  /** Lets go of every view of a database that is going to be closed. */
  release(): void {
    for (const {marker} of this.#held.slice()) this.#take(marker)?.close();
  }

  async #at(marker: string): Promise<ReadSession> {
    if (!this.#held.some(held => held.marker === marker)) await this.#arrival(marker);
    const reader = this.#take(marker);
    if (reader !== undefined) return reader;
    throw new Refusal('cluster.no-quorum', 'this server did not come to the marker in time');
  }

  async #arrival(marker: string): Promise<void> {
    await new Promise<void>(resolve => {
      const cancel = this.#options.timers.after(waitMs, resolve);
      const wake = (): void => {
        cancel();
        resolve();
      };
      this.#waiters.set(marker, [...(this.#waiters.get(marker) ?? []), wake]);
    });
  }

  #take(marker: string): ReadSession | undefined {
    const at = this.#held.findIndex(held => held.marker === marker);
    const [held] = at < 0 ? [] : this.#held.splice(at, 1);
    held?.cancelExpiry();
    return held?.reader;
  }
}
