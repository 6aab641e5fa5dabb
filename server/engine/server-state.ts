/**
 * The server store: which databases there are, the server's documents, and how far both got.
 *
 * One small file, `raft-storage-<node>/server/state`, written anew (temporary name, sync, rename,
 * directory sync) for every server-level entry and before every recycling of the log; entries
 * call it database 0. The value is immutable; `apply*` make the next one from an entry alone, so
 * that a replayed entry gives what it gave before.
 *
 * Invariant T7: the state names a database only when its directory stands under its final name.
 */
import {CheckedFile} from '#server/platform/checked-file.ts';
import type {Disk} from '#server/platform/disk.ts';

/** The version of this file; what databases hold has a level of its own. */
const stateVersion = 1;

export interface DatabaseEntry {
  readonly id: number;
  readonly name: string;
}

export interface StoredDocument {
  readonly version: number;
  readonly base64: string;
}

/** What a cluster began with, when it began with the databases of one server. */
export interface Bootstrap {
  /** The place of the shared log behind which it begins. */
  readonly index: number;
  readonly term: number;
  readonly nextDatabaseId: number;
  /** Names of the server's documents at that time. */
  readonly documents: readonly string[];
  /** One digest over all databases, ids, formats and counts of commits among it. */
  readonly content: string;
  readonly databases: readonly BootstrapDatabase[];
}

export interface BootstrapDatabase extends DatabaseEntry {
  /** Commits that it held. */
  readonly transactions: number;
  /** A digest of what the database held. */
  readonly fingerprint: string;
}

export interface ServerState {
  readonly version: typeof stateVersion;
  /** What new databases are written in (formats/levels.ts). */
  readonly formatLevel: number;
  readonly logId: string;
  /** Last server-level entry that is in here. */
  readonly index: number;
  /** Everything up to here is durable in every database. */
  readonly durableIndex: number;
  readonly nextDatabaseId: number;
  readonly databases: readonly DatabaseEntry[];
  /** Applied positions when `durableIndex` was written: a database behind its own is too old. */
  readonly positions: Readonly<Record<string, number>>;
  readonly documents: Readonly<Record<string, StoredDocument>>;
  /** Set on a member of a cluster that did not begin empty. */
  readonly bootstrap?: Bootstrap | undefined;
}

export function emptyServerState(logId: string, index: number, formatLevel: number): ServerState {
  return {
    version: stateVersion,
    formatLevel,
    logId,
    index,
    durableIndex: index,
    nextDatabaseId: 1,
    databases: [],
    positions: {},
    documents: {},
  };
}

export class ServerStateFile {
  readonly #disk: Disk;
  readonly #file: CheckedFile<ServerState>;
  readonly path: string;

  constructor(disk: Disk, directory: string) {
    this.#disk = disk;
    this.path = `${directory}/state`;
    this.#file = new CheckedFile({
      disk,
      path: this.path,
      kind: 'svc-server-state',
      version: stateVersion,
      title: 'the server store',
    });
  }

  get exists(): boolean {
    return this.#disk.exists(this.path);
  }

  /** Undefined when there is none. @throws {Corruption | Refusal} as CheckedFile does. */
  load(): ServerState | undefined {
    return this.#file.load();
  }

  /** Durable on return. */
  save(state: ServerState): void {
    this.#file.save(state);
  }
}

export function withDatabase(state: ServerState, index: number, entry: DatabaseEntry): ServerState {
  return {
    ...state,
    index,
    nextDatabaseId: Math.max(state.nextDatabaseId, entry.id + 1),
    databases: [...state.databases.filter(other => other.id !== entry.id), entry],
  };
}

export function withoutDatabase(state: ServerState, index: number, id: number): ServerState {
  const {[String(id)]: _gone, ...positions} = state.positions;
  const databases = state.databases.filter(entry => entry.id !== id);
  return {...state, index, databases, positions};
}

/** What a checkpoint holds that was made when everything up to `index` was applied. */
export function atIndex(
  state: ServerState,
  index: number,
  positions: ReadonlyMap<number, {readonly index: number}>,
): ServerState {
  const known = [...positions].map(([id, position]) => [String(id), position.index]);
  return {...state, durableIndex: index, positions: Object.fromEntries(known)};
}

export function withDocument(
  state: ServerState,
  index: number,
  document: {readonly name: string; readonly version: number; readonly bytes: Uint8Array},
): ServerState {
  const base64 = Buffer.from(document.bytes).toString('base64');
  const documents = {...state.documents, [document.name]: {version: document.version, base64}};
  return {...state, index, documents};
}
