/**
 * The snapshots that this server gives to others: made when one is asked for, shared by all who
 * can use the same one, removed when nobody does.
 *
 * A receiver holds a snapshot by a number that nobody guesses; the files stay as long as somebody
 * holds them, and a little longer, so that a second receiver takes what the first one took. The
 * directory belongs to the shelf: what an earlier process left in it is removed at the start.
 */
import {type FileHandle, open} from 'node:fs/promises';
import {Refusal} from '#server/base/errors.ts';
import type {Random, Timers} from '#server/platform/clock.ts';
import type {Disk} from '#server/platform/disk.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {Checkpoint} from '#server/raft/membership.ts';
import type {ServerState} from '#server/engine/server-state.ts';
import {encodeManifest, type SnapshotDatabase, type SnapshotFile} from './manifest.ts';

/** What the shelf asks of the server whose snapshots it keeps. */
export interface SnapshotMaker {
  /** `Engine.capture`. */
  capture(directory: string): Promise<ServerState>;
  /**
   * The place of the log that has this index, which is applied, and who belonged to the group;
   * undefined when the log forgot it meanwhile.
   */
  checkpointAt(index: number): Checkpoint | undefined;
  /** Resolves when the entry is applied here. */
  whenApplied(index: number): Promise<void>;
}

export interface SnapshotStoreOptions {
  readonly maker: SnapshotMaker;
  readonly disk: Disk;
  readonly random: Random;
  readonly timers: Timers;
  readonly logger: Logger;
  /** `checksumOfFile` of a whole file, on whichever thread. */
  readonly checksum: (path: string, bytes: number) => Promise<number>;
  /** A directory on the file system of the databases, so that files can be linked. */
  readonly directory: string;
  /** `svc.ha.snapshotMaxConcurrent`. */
  readonly holdsMax: number;
  /** `svc.ha.snapshotWriteTimeout`: how long a hold lasts while nothing is read. */
  readonly idleMs: number;
}

interface KeptSnapshot {
  readonly directory: string;
  readonly index: number;
  readonly manifest: string;
  readonly databases: readonly SnapshotDatabase[];
  /** The checksums of files that somebody asked about, by path. */
  readonly checksums: Map<string, Promise<number>>;
  holders: number;
}

interface Hold {
  readonly receiver: string;
  readonly snapshot: KeptSnapshot;
  cancelExpiry: () => void;
}

/** How long a snapshot is kept that nobody holds: others of the group may need one, too. */
const keptMs = 30_000;
const attemptsMax = 3;
/** Well below the patience of who asks. */
const appliedMs = 10_000;

export class SnapshotStore {
  readonly #options: SnapshotStoreOptions;
  readonly #holds = new Map<string, Hold>();
  #newest: KeptSnapshot | undefined;
  #making: Promise<KeptSnapshot> | undefined;
  #cancelRemoval: () => void = () => {};
  #made = 0;
  /** Receivers whose hold is being made. */
  #asking = 0;

  constructor(options: SnapshotStoreOptions) {
    this.#options = options;
    options.disk.removeTree(options.directory);
    options.disk.makeDirectory(options.directory);
  }

  async hold(receiver: string, atLeast: number): Promise<{hold: string; manifest: string}> {
    for (const [hold, {receiver: other}] of this.#holds) {
      if (other === receiver) this.release(hold);
    }
    const {holdsMax} = this.#options;
    if (this.#holds.size + this.#asking >= holdsMax) {
      throw new Refusal(
        'cluster.snapshot-busy',
        `${holdsMax} snapshots are being given out (svc.ha.snapshotMaxConcurrent)`,
      );
    }
    this.#asking += 1;
    try {
      return await this.#begin(receiver, atLeast);
    } finally {
      this.#asking -= 1;
    }
  }

  async #begin(receiver: string, atLeast: number): Promise<{hold: string; manifest: string}> {
    await this.#applied(atLeast);
    const snapshot = await this.#atLeast(atLeast);
    snapshot.holders += 1;
    const hold = this.#makeName();
    this.#holds.set(hold, {receiver, snapshot, cancelExpiry: () => {}});
    this.#touch(hold);
    this.#options.logger.log('info', 'snapshot.given', {receiver, index: snapshot.index});
    return {hold, manifest: snapshot.manifest};
  }

  /** Waits a while: who asks for what nobody has yet is told to ask again. */
  async #applied(index: number): Promise<void> {
    const {maker, timers} = this.#options;
    const {promise, reject} = Promise.withResolvers<never>();
    const reason = `entry ${index} is not applied here yet`;
    const cancel = timers.after(appliedMs, () => {
      reject(new Refusal('cluster.snapshot-busy', reason));
    });
    try {
      await Promise.race([maker.whenApplied(index), promise]);
    } finally {
      cancel();
    }
  }

  /** Where the oldest snapshot stands that somebody holds. */
  get oldestIndex(): number | undefined {
    const indexes = [...this.#holds.values()].map(({snapshot}) => snapshot.index);
    return indexes.length === 0 ? undefined : Math.min(...indexes);
  }

  databases(hold: string): readonly SnapshotDatabase[] {
    return this.#holds.get(hold)?.snapshot.databases ?? [];
  }

  async open(hold: string, databaseId: number, name: string): Promise<OpenFile | undefined> {
    const snapshot = this.#holds.get(hold)?.snapshot;
    const database = snapshot?.databases.find(({id}) => id === databaseId);
    const file = database?.files.find(one => one.name === name);
    if (snapshot === undefined || file === undefined) return undefined;
    this.#touch(hold);
    const path = `${snapshot.directory}/databases/${databaseId}/${name}`;
    return new OpenFile(await open(path, 'r'), file.bytes, {
      checksum: () => this.#checksum(snapshot, path, file.bytes),
      onRead: () => this.#touch(hold),
    });
  }

  release(hold: string): void {
    const held = this.#holds.get(hold);
    if (held === undefined) return;
    held.cancelExpiry();
    this.#holds.delete(hold);
    held.snapshot.holders -= 1;
    if (held.snapshot.holders > 0) return;
    if (held.snapshot !== this.#newest) return this.#remove(held.snapshot);
    this.#cancelRemoval = this.#options.timers.after(keptMs, () => this.#removeNewest());
  }

  /** Ends every hold and removes every file. */
  close(): void {
    for (const hold of this.#holds.keys()) this.release(hold);
    this.#cancelRemoval();
    this.#newest = undefined;
    this.#options.disk.removeTree(this.#options.directory);
  }

  async #atLeast(index: number): Promise<KeptSnapshot> {
    this.#cancelRemoval();
    const newest = this.#newest;
    if (newest !== undefined && newest.index >= index) return newest;
    // One that is under way is as new as one begun now, or nearly: look at it first.
    const making = this.#making;
    if (making !== undefined) {
      const made = await making;
      if (made.index >= index) return made;
    }
    this.#making = this.#make();
    try {
      const made = await this.#making;
      const {disk} = this.#options;
      const before = this.#newest;
      this.#newest = made;
      if (before !== undefined && before.holders === 0) disk.removeTree(before.directory);
      return made;
    } finally {
      this.#making = undefined;
    }
  }

  async #make(): Promise<KeptSnapshot> {
    const {disk, directory: parent} = this.#options;
    this.#made += 1;
    const directory = `${parent}/${this.#made}`;
    const {state, checkpoint} = await this.#capture(directory);
    const databases = state.databases.map(({id, name}) => ({
      id,
      name,
      files: filesOf(disk, `${directory}/databases/${id}`),
    }));
    const index = state.durableIndex;
    const manifest = encodeManifest({checkpoint, state, databases});
    return {directory, index, manifest, databases, checksums: new Map(), holders: 0};
  }

  async #capture(directory: string): Promise<{state: ServerState; checkpoint: Checkpoint}> {
    const {maker} = this.#options;
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const state = await maker.capture(directory);
      const checkpoint = maker.checkpointAt(state.durableIndex);
      if (checkpoint !== undefined) return {state, checkpoint};
    }
    this.#options.disk.removeTree(directory);
    throw new Refusal('database.operation', 'the log forgets faster than a checkpoint is made');
  }

  /** Reads each file once, however many ask for its checksum. */
  #checksum({checksums}: KeptSnapshot, path: string, bytes: number): Promise<number> {
    const known = checksums.get(path);
    if (known !== undefined) return known;
    const checksum = this.#options.checksum(path, bytes);
    checksums.set(path, checksum);
    // One that failed is tried again by whoever asks next.
    checksum.catch(() => checksums.delete(path));
    return checksum;
  }

  #touch(hold: string): void {
    const held = this.#holds.get(hold);
    if (held === undefined) return;
    held.cancelExpiry();
    held.cancelExpiry = this.#options.timers.after(this.#options.idleMs, () => {
      const {receiver, snapshot} = held;
      this.#options.logger.log('warn', 'snapshot.abandoned', {receiver, index: snapshot.index});
      this.release(hold);
    });
  }

  #removeNewest(): void {
    const newest = this.#newest;
    if (newest === undefined || newest.holders > 0) return;
    this.#newest = undefined;
    this.#remove(newest);
  }

  #remove(snapshot: KeptSnapshot): void {
    this.#options.disk.removeTree(snapshot.directory);
  }

  #makeName(): string {
    const bytes = Buffer.alloc(16);
    this.#options.random.fill(bytes);
    return bytes.toString('hex');
  }
}

function filesOf(disk: Disk, directory: string): SnapshotFile[] {
  return disk.list(directory).map(name => {
    const file = disk.open(`${directory}/${name}`, 'read');
    const bytes = file.size();
    file.close();
    return {name, bytes};
  });
}

/** One file that is being given out. Its bytes never change. */
export class OpenFile {
  readonly bytes: number;
  readonly checksum: () => Promise<number>;
  readonly #handle: FileHandle;
  readonly #onRead: () => void;

  constructor(
    handle: FileHandle,
    bytes: number,
    calls: {readonly checksum: () => Promise<number>; readonly onRead: () => void},
  ) {
    this.bytes = bytes;
    this.checksum = calls.checksum;
    this.#handle = handle;
    this.#onRead = calls.onRead;
  }

  async read(target: Uint8Array, offset: number): Promise<number> {
    this.#onRead();
    const {bytesRead} = await this.#handle.read(target, 0, target.length, offset);
    return bytesRead;
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }
}
