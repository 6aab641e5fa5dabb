/**
 * The configuration in force: read from where documents are kept, changed by administrators.
 *
 * What cannot be used is told and never in force: the document before it stays, and a server that
 * never had a good one has the defaults, by which nobody is let in.
 */
import {withLeader} from '#server/cluster/leadership.ts';
import type {Logger} from '#server/platform/logger.ts';
import {
  changed,
  type Configuration,
  ConfigurationFault,
  defaultConfiguration,
  parseConfiguration,
  printConfiguration,
  unknownFields,
} from './configuration.ts';

/** Where the document lives. A `read` after a resolved `write` sees what was written. */
export interface ConfigurationStore {
  read(): Uint8Array | undefined;
  write(bytes: Uint8Array): Promise<void>;
}

export class AgentConfiguration {
  readonly #store: ConfigurationStore;
  readonly #logger: Logger;
  #value: Configuration = defaultConfiguration;
  #isForced = false;
  #last: Promise<unknown> = Promise.resolve();

  constructor(store: ConfigurationStore, logger: Logger) {
    this.#store = store;
    this.#logger = logger;
    this.reload();
  }

  get value(): Configuration {
    return this.#value;
  }

  /** The server is enabled whatever the document says, for as long as this process lives. */
  forceEnabled(): void {
    this.#isForced = true;
    this.#value = {...this.#value, enabled: true};
  }

  /** Takes over what the store says now. */
  reload(): void {
    const bytes = this.#store.read();
    if (bytes === undefined) return;
    try {
      this.#take(parseConfiguration(Buffer.from(bytes).toString('utf8')));
    } catch (error) {
      if (!(error instanceof ConfigurationFault)) throw error;
      this.#logger.log('warn', 'mcp.configuration', {
        reason: error.message,
        advice: 'the configuration before stays in force; correct config/mcp-config.json',
      });
    }
  }

  /**
   * Takes over a document that an administrator wrote by hand, if it can be used and is not the one
   * in force; whoever keeps documents then has it, too.
   *
   * @throws {ConfigurationFault} and nothing has changed.
   */
  async adopt(bytes: Uint8Array): Promise<void> {
    parseConfiguration(Buffer.from(bytes).toString('utf8'));
    const kept = this.#store.read();
    const isKept = kept !== undefined && Buffer.compare(kept, bytes) === 0;
    if (!isKept) await withLeader(() => this.#store.write(bytes));
    this.reload();
  }

  /** Tells of overrides for databases that are none; they are kept. */
  warnOfUnknown(databases: readonly string[]): void {
    for (const database of this.#value.databases.keys()) {
      if (databases.includes(database)) continue;
      const reason = 'there is an override for a database that does not exist';
      this.#logger.log('warn', 'mcp.configuration', {database, reason});
    }
  }

  /**
   * Merges a partial document, JSON text, and makes it durable.
   *
   * @throws {ConfigurationFault} and nothing has changed.
   */
  change(text: string): Promise<void> {
    const change = this.#last.then(async () => {
      const after = changed(this.#stored, text);
      const unknown = unknownFields(text);
      if (unknown.length > 0) {
        const reason = 'there are fields that mean nothing';
        this.#logger.log('warn', 'mcp.configuration', {fields: unknown.slice(0, 20), reason});
      }
      const bytes = Buffer.from(`${printConfiguration(after, 2)}\n`, 'utf8');
      await withLeader(() => this.#store.write(bytes));
      this.reload();
    });
    this.#last = change.catch(() => undefined);
    return change;
  }

  /** JSON text. */
  print(): string {
    return printConfiguration(this.#value);
  }

  /** The document as it is kept, without what belongs to this process. */
  get #stored(): Configuration {
    if (!this.#isForced) return this.#value;
    const bytes = this.#store.read();
    if (bytes === undefined) return {...this.#value, enabled: defaultConfiguration.enabled};
    return parseConfiguration(Buffer.from(bytes).toString('utf8'));
  }

  #take(value: Configuration): void {
    this.#value = this.#isForced ? {...value, enabled: true} : value;
  }
}
