/**
 * What a snapshot consists of, as its giver tells before the first file is sent.
 *
 * JSON, since it is small and read by people when something went wrong. It names no checksums:
 * each follows its file (note 20). Whoever receives one believes nothing: names become paths.
 */
import {Corruption} from '#server/base/errors.ts';
import {type Checkpoint, ordered} from '#server/raft/membership.ts';
import {isStoreFile} from '#server/storage/file-names.ts';
import type {ServerState} from '#server/engine/server-state.ts';
import {checkedServerState} from '#server/engine/server-state-check.ts';

export interface SnapshotFile {
  readonly name: string;
  readonly bytes: number;
}

export interface SnapshotDatabase {
  readonly id: number;
  readonly name: string;
  readonly files: readonly SnapshotFile[];
}

export interface SnapshotManifest {
  /** The place of the group's log at which state and databases stand. */
  readonly checkpoint: Checkpoint;
  readonly state: ServerState;
  readonly databases: readonly SnapshotDatabase[];
}

/** The version of the manifest and of how files follow it: 2 has checksums after their bytes. */
const version = 2;

export interface ManifestLimits {
  /** `svc.ha.snapshotMaxEntrySize`: of one file. */
  readonly fileBytesMax: number;
}

export function encodeManifest(manifest: SnapshotManifest): string {
  return JSON.stringify({version, ...manifest});
}

/** @throws {Corruption} naming what in it cannot be, or is larger than the limit. */
export function decodeManifest(text: string, limits: ManifestLimits): SnapshotManifest {
  const value = parsed(text);
  if (value['version'] !== version) {
    throw new Corruption(
      `the snapshot is of version ${String(value['version'])}, this release reads ${version}`,
    );
  }
  const state = checkedServerState(value['state']);
  const checkpoint = checkedCheckpoint(value['checkpoint']);
  if (checkpoint.last.index !== state.durableIndex) throw wrong('two indexes');
  const {databases} = value;
  if (!Array.isArray(databases) || databases.length !== state.databases.length) {
    throw wrong('other databases than its state');
  }
  const checked = state.databases.map(({id, name}) => {
    const given = (databases as unknown[]).find(one => isObject(one) && one['id'] === id);
    if (!isObject(given) || !Array.isArray(given['files'])) throw wrong(`no files of ${name}`);
    const files = (given['files'] as unknown[]).map(file => checkedFile(file, name, limits));
    if (new Set(files.map(file => file.name)).size < files.length) throw wrong('a file twice');
    return {id, name, files};
  });
  return {checkpoint, state, databases: checked};
}

function checkedCheckpoint(value: unknown): Checkpoint {
  const {last, membership} = isObject(value) ? value : {};
  const {index, term} = isObject(last) ? last : {};
  if (!isNatural(index) || !isNatural(term) || !Array.isArray(membership)) {
    throw wrong('no place in the log');
  }
  const members = (membership as unknown[]).map(member => {
    const {id, role, priority} = isObject(member) ? member : {};
    const isKnown = role === 'voter' || role === 'joining';
    if (typeof id !== 'string' || !isKnown || !Number.isSafeInteger(priority)) {
      throw wrong('a member');
    }
    return {id, role, priority: priority as number} as const;
  });
  return {last: {index, term}, membership: ordered(members)};
}

function checkedFile(value: unknown, database: string, limits: ManifestLimits): SnapshotFile {
  const {name, bytes} = isObject(value) ? value : {};
  // The pattern has no separator in it.
  if (typeof name !== 'string' || !isStoreFile(name)) {
    throw wrong(`a file of ${database} named '${String(name)}'`);
  }
  if (!isNatural(bytes)) throw wrong(`the size of ${name} of ${database}`);
  if (bytes > limits.fileBytesMax) {
    throw new Corruption(
      `the file ${name} of ${database} has ${bytes} bytes, more than svc.ha.snapshotMaxEntrySize ` +
        `(${limits.fileBytesMax})`,
    );
  }
  return {name, bytes};
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // Said below.
  }
  throw wrong('no JSON object');
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isNatural(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function wrong(what: string): Corruption {
  return new Corruption(`the manifest of the snapshot cannot be: ${what}`);
}
