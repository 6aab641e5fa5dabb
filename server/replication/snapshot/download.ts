/**
 * Fetches a snapshot from another member into staged directories, so that it may be cut off and
 * begun again anywhere: what is there already is not sent again.
 *
 * Here it is held, its manifest checked, and the directories made ready; the files themselves
 * come in `transfer.ts`, on a thread of their own. Nothing outside the staged directories is
 * written, and what the snapshot does not have is removed from them.
 */
import {link, mkdir, open, readdir, rm, stat} from 'node:fs/promises';
import {join} from 'node:path';
import {Corruption} from '#server/base/errors.ts';
import {decodeManifest, type SnapshotDatabase, type SnapshotManifest} from './manifest.ts';
import {PeerFailure, type PeerRequests} from './peer-requests.ts';
import type {Transferred, TransferFile, TransferOrder} from './transfer.ts';

export interface DownloadOptions {
  readonly requests: PeerRequests;
  /** The id of this node. */
  readonly receiver: string;
  readonly atLeast: number;
  /** Where the files of a database come together. */
  readonly stagedPath: (databaseId: number) => string;
  /**
   * Directories where sorted files of a database may lie that the snapshot has too: of a copy that
   * is to be replaced, or was set aside. Nothing in them is changed.
   */
  readonly reusable: (database: string) => readonly string[];
  /** Takes this database alone; all without it. */
  readonly only?: string;
  /** `svc.ha.snapshotMaxEntrySize`. */
  readonly fileBytesMax: number;
  /** Why so many bytes cannot be taken; undefined: they can. */
  readonly obstacle: (bytes: number) => string | undefined;
  /** `transferFiles`, on whichever thread; breaks off when the signal says so. */
  readonly transfer: (order: TransferOrder, signal?: AbortSignal) => Promise<Transferred>;
  readonly signal?: AbortSignal;
}

export interface Downloaded {
  readonly manifest: SnapshotManifest;
  readonly figures: TransferFigures;
}

export interface TransferFigures extends Transferred {
  /** The bytes of all files of the snapshot. */
  readonly bytes: number;
  readonly files: number;
}

const manifestBytesMax = 256 << 20;

/**
 * Fetches what is missing; everything is durable when it resolves.
 *
 * @throws {PeerFailure} when the peer cannot be asked or broke off: may be tried again.
 * @throws {Corruption} when what it gives cannot be a snapshot.
 */
export async function downloadSnapshot(options: DownloadOptions): Promise<Downloaded> {
  const {requests, receiver, atLeast} = options;
  const body = JSON.stringify({receiver, atLeast});
  const headers = {'Content-Type': 'application/json'};
  const asked = {method: 'POST', path: '/api/v1/ha/checkpoint', headers, body} as const;
  const {head, text} = await requests.text(asked, manifestBytesMax);
  const hold = head.headers['x-svc-snapshot-hold'];
  if (typeof hold !== 'string' || !/^[0-9a-f]{32}$/.test(hold)) {
    throw new Corruption('the peer gave a snapshot without a number to hold it by');
  }
  try {
    const manifest = decodeManifest(text, options);
    if (manifest.state.durableIndex < atLeast) {
      throw new PeerFailure(`the snapshot ends at ${manifest.state.durableIndex}`);
    }
    return {manifest, figures: await fetchFiles(options, hold, manifest)};
  } finally {
    await letGo(requests, hold);
  }
}

async function letGo(requests: PeerRequests, hold: string): Promise<void> {
  try {
    const answer = await requests.send({method: 'DELETE', path: `/api/v1/ha/checkpoint/${hold}`});
    answer.resume();
  } catch (error) {
    // It ends by itself when nobody reads.
    if (!(error instanceof PeerFailure)) throw error;
  }
}

async function fetchFiles(
  options: DownloadOptions,
  hold: string,
  manifest: SnapshotManifest,
): Promise<TransferFigures> {
  const {only, stagedPath, reusable, obstacle, transfer, requests, signal} = options;
  const databases = manifest.databases.filter(({name}) => only === undefined || name === only);
  const files: TransferFile[] = [];
  for (const database of databases) {
    const prepared = await prepareFiles(database, stagedPath(database.id));
    for (const file of prepared) await reuse(file, reusable(database.name));
    files.push(...prepared);
  }
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const reason = obstacle(bytes);
  if (reason !== undefined) throw new PeerFailure(`the snapshot is not fetched: ${reason}`);
  const {endpoint, idleMs} = requests;
  const done = await transfer({endpoint, idleMs, hold, files}, signal);
  for (const {id} of databases) await syncDirectory(stagedPath(id));
  return {bytes, files: files.length, ...done};
}

/** Makes the directory and removes from it what the snapshot has not. */
async function prepareFiles(
  database: SnapshotDatabase,
  directory: string,
): Promise<TransferFile[]> {
  await mkdir(directory, {recursive: true});
  const names = new Set(database.files.map(({name}) => name));
  for (const name of await readdir(directory)) {
    if (!names.has(name)) await rm(join(directory, name), {recursive: true});
  }
  const databaseId = database.id;
  return database.files.map(file => ({...file, databaseId, path: join(directory, file.name)}));
}

/**
 * A sorted file of the same name and size that is here already becomes the one to ask about: its
 * checksum decides. Such files never change, so another name for one costs nothing.
 */
async function reuse({name, bytes, path}: TransferFile, from: readonly string[]): Promise<void> {
  if (!name.endsWith('.sst')) return;
  for (const directory of from) {
    try {
      const found = join(directory, name);
      if ((await stat(found)).size !== bytes) continue;
      await link(found, path);
      return;
    } catch {
      // Not there, or there is one from an earlier attempt: what is missing is fetched.
    }
  }
}

async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
