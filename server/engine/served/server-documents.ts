/**
 * Documents of the whole server, such as its users, replaced through the log.
 *
 * Each change takes a version of its own: one further than those under way, and than those of
 * which nobody knows what became of them.
 */
import {Refusal} from '#server/base/errors.ts';
import type {DatabaseSet} from '../database-set.ts';
import {isUnknown, type ServerEntries} from './server-entries.ts';

export interface ServerDocument {
  readonly version: number;
  readonly bytes: Buffer;
}

export class ServerDocuments {
  readonly #set: DatabaseSet;
  readonly #entries: ServerEntries;
  readonly #versions = new DocumentVersions();

  constructor(set: DatabaseSet, entries: ServerEntries) {
    this.#set = set;
    this.#entries = entries;
  }

  get(name: string): ServerDocument | undefined {
    return this.#set.document(name);
  }

  /**
   * Replaces a document; durable and in `config/<name>` on return. With `expectedVersion`, only
   * if it has that version (0: absent); otherwise a retryable refusal.
   *
   * @throws {Refusal} `database.operation` where a directory stands in the place of the file.
   */
  async put(name: string, bytes: Uint8Array, expectedVersion?: number): Promise<ServerDocument> {
    const fault = this.#set.documentFault(name);
    if (fault !== undefined) throw new Refusal('database.operation', fault);
    const current = this.#versions.newest(name, this.#set.document(name)?.version ?? 0);
    if (expectedVersion !== undefined && expectedVersion !== current) {
      throw new Refusal('commit.conflict', `${name} was changed by another request meanwhile`);
    }
    const version = current + 1;
    const giveBack = this.#versions.take(name, version);
    try {
      await this.#entries.propose('put-document', {head: {name, version}, bytes});
    } catch (error) {
      // An unknown one may be executed yet.
      if (!isUnknown(error)) giveBack();
      throw error;
    }
    return {version, bytes: Buffer.from(bytes)};
  }

  /** What was under way is decided. */
  settled(): void {
    this.#versions.clear();
  }
}

/** The versions that the documents will have. */
class DocumentVersions {
  /** Newer than the stored one, by document. */
  readonly #taken = new Map<string, readonly number[]>();

  /** The newest version that the document has or may get yet; `stored`: the one it has. */
  newest(name: string, stored: number): number {
    const open = (this.#taken.get(name) ?? []).filter(version => version > stored);
    this.#taken.set(name, open);
    return Math.max(stored, ...open);
  }

  /** Returns what to call when the version came to nothing. */
  take(name: string, version: number): () => void {
    this.#taken.set(name, [...(this.#taken.get(name) ?? []), version]);
    return () => {
      const others = this.#taken.get(name)?.filter(other => other !== version);
      this.#taken.set(name, others ?? []);
    };
  }

  /** What was under way is decided. */
  clear(): void {
    this.#taken.clear();
  }
}
