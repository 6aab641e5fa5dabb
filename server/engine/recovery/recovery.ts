/**
 * The way from what lies on the disk to a server that holds everything that was acknowledged.
 *
 * Finds the log and the server store (or makes them, adopting the databases that are there),
 * judges every database's position against the log, replays what is missing, makes the result
 * durable and gives the log's old segments back. Everything happens before the first request,
 * on one thread. Refuses the start where going on would lose or mix data; fences a single
 * database where only that one is concerned. Source: docs/durability.md.
 */
import {Refusal} from '#server/base/errors.ts';
import {recoverLog} from '#server/log/segment-recovery.ts';
import {SegmentLog} from '#server/log/segment-log.ts';
import type {LogRecord} from '#server/log/segment-reader.ts';
import type {Random} from '#server/platform/clock.ts';
import type {Disk} from '#server/platform/disk.ts';
import {Applier} from '#server/transactions/apply.ts';
import {DatabaseSet, readPosition} from '../database-set.ts';
import {
  decodeEntry,
  EntryEncoder,
  type EntryKind,
  type ServerBody,
} from '#server/transactions/entry.ts';
import {checkFormat} from '../formats/levels.ts';
import {
  type DatabaseEntry,
  emptyServerState,
  type ServerState,
  ServerStateFile,
} from '../server-state.ts';
import {encodePosition, positionKey} from '#server/transactions/system-keys.ts';
import {databaseNames, openFound, openKnown} from './known-databases.ts';
import type {RecoveryOptions} from './recovery-options.ts';

export interface Recovered {
  readonly log: SegmentLog;
  readonly databases: DatabaseSet;
  readonly applier: Applier;
}

const replayBatchEntries = 512;
/** Where the replicated log of a member lies, apart from a single server's. */
export const memberDirectory = 'raft';
const emptyEntriesAtOnce = 1024;

/** Makes the root where there is none; durable on return. */
export function prepareRoot(disk: Disk, rootPath: string): void {
  makeDirectories(disk, [rootPath]);
}

/** Brings the server's data up to the end of its log. */
export async function recover(options: RecoveryOptions): Promise<Recovered> {
  const {disk} = options;
  const storage = prepareStorage(options, 'log');
  await refuseOtherNodes(options);

  const stateFile = new ServerStateFile(disk, `${storage}/server`);
  const logOptions = {disk, directory: `${storage}/log`, segmentBytes: options.segmentBytes};
  const saved = loadState(options, stateFile, storage);
  const found = SegmentLog.open(logOptions);
  if (found?.wasRelaxed === true) await catchUp(options, found, saved);
  const start = await agree(options, {saved, log: found});
  const fits = found !== undefined && found.logId === start.state.logId;
  if (!fits) found?.destroy();
  const log = fits ? found : SegmentLog.create(logOptions, start.state.logId, start.firstIndex);
  if (saved === undefined || saved.logId !== start.state.logId) stateFile.save(start.state);

  const parts = databasesOf(options, {storage, stateFile, logId: log.logId, state: start.state});
  const {databases, applier} = parts;
  try {
    // Otherwise the log may hold what only it holds.
    const isWhole = databases.state.durableIndex >= log.lastIndex;
    const foreign = await openKnown(options, databases, log);
    await replay(databases, applier, log);
    databases.sweep();
    if (isWhole) await adoptForeign(options, databases, log, foreign);
    await adoptFound(options, databases, log);
    await raiseFormat(options, databases, log);
    settle(databases, applier, log);
    // A cluster's, of which this server is no member any more.
    disk.removeTree(`${storage}/${memberDirectory}`);
    return {log, ...parts};
  } catch (error) {
    databases.close(false);
    throw error;
  }
}

/** Makes the directories of the root; that of the node, with its log in `logDirectory`. */
export function prepareStorage(options: RecoveryOptions, logDirectory: string): string {
  const {disk, databaseDirectory, configDirectory} = options;
  const storage = storagePath(options.raftStorageParent, options.nodeName);
  const kept = [databaseDirectory, configDirectory];
  makeDirectories(disk, [...kept, storage, `${storage}/${logDirectory}`, `${storage}/server`]);
  // A killed process may have renamed in there without syncing.
  for (const path of kept) disk.syncDirectory(path);
  return storage;
}

/** Where a node keeps its log and its state, beside the databases. */
export function storagePath(parent: string, nodeName: string): string {
  return `${parent}/raft-storage-${nodeName}`;
}

/** The databases of a state, none open yet, and what applies entries to them meanwhile. */
export function databasesOf(
  {disk, databaseDirectory, configDirectory, stores, logger, formats}: RecoveryOptions,
  found: {
    readonly storage: string;
    readonly stateFile: ServerStateFile;
    readonly logId: string;
    readonly state: ServerState;
  },
): Omit<Recovered, 'log'> {
  const {stateFile, logId, state} = found;
  const applier = new Applier(logId);
  const directories = {databaseDirectory, configDirectory};
  const options = {...directories, disk, logId, stores, stateFile, logger, formats};
  return {databases: new DatabaseSet(options, state, applier), applier};
}

/** The server's own state, before anything is written: it says which formats to expect. */
export function loadState(
  options: RecoveryOptions,
  stateFile: ServerStateFile,
  storage: string,
): ServerState | undefined {
  const saved = stateFile.load();
  if (saved === undefined) return undefined;
  const level = saved.formatLevel;
  // Databases say for themselves how old their rows are.
  const oldest = Math.max(level, options.formats.level - 1);
  checkFormat(options.formats, {level, oldest}, `the data of this server (${storage})`);
  return saved;
}

/**
 * A database may hold what the log has lost in a power loss with `svc.txWalFlush` below 2.
 * The lost entries' places are taken by empty ones, so that no index is used twice.
 */
async function catchUp(
  options: RecoveryOptions,
  log: SegmentLog,
  saved: ServerState | undefined,
): Promise<void> {
  const positions = await ownPositions(options, log.logId);
  const greatest = Math.max(saved?.index ?? 0, saved?.durableIndex ?? 0, ...positions);
  const missing = greatest - log.lastIndex;
  if (missing <= 0) return;
  options.logger.log('warn', 'log.entries-lost', {entries: missing, walFlush: 'below 2'});
  const nothing = {head: {}, bytes: new Uint8Array(0)};
  const entry = Buffer.from(new EntryEncoder().encodeServer('nothing', 0, nothing));
  const chains = new Uint32Array(emptyEntriesAtOnce);
  for (let left = missing; left > 0; left -= emptyEntriesAtOnce) {
    const count = Math.min(left, emptyEntriesAtOnce);
    log.append(new Array<Buffer>(count).fill(entry), chains, true);
  }
}

async function ownPositions(options: RecoveryOptions, logId: string): Promise<number[]> {
  const positions: number[] = [];
  for (const name of databaseNames(options)) {
    const path = `${options.databaseDirectory}/${name}`;
    const store = await options.stores.open(path, {mustExist: true});
    const position = readPosition(store, path, options.formats);
    if (position?.logId === logId) {
      positions.push(position.index);
      // What stands at its index now is not what it applied.
      const batch = store.batch();
      batch.put(positionKey, encodePosition({...position, chain: 0}));
      store.write(batch, {sync: true});
    }
    store.close();
  }
  return positions;
}

/** Makes the present state durable and lets the log forget what is in it. */
function settle(databases: DatabaseSet, applier: Applier, log: SegmentLog): void {
  applier.makeDurable();
  const floor = databases.heldFloor(applier.durableFloor(log.lastIndex));
  databases.saveDurable(floor, applier.positions());
  log.recycle(floor);
}

interface Start {
  readonly state: ServerState;
  /** Where a log that must be made begins. */
  readonly firstIndex: number;
}

/** Decides whether server store and log belong together, and what to begin with if not. */
async function agree(
  options: RecoveryOptions,
  found: {readonly saved: ServerState | undefined; readonly log: SegmentLog | undefined},
): Promise<Start> {
  const {saved, log} = found;
  if (saved !== undefined && log !== undefined && saved.logId === log.logId) {
    if (saved.index > log.lastIndex || saved.durableIndex > log.lastIndex) {
      throw new Refusal(
        'start.refused',
        `the server store knows entry ${Math.max(saved.index, saved.durableIndex)}, but the log ` +
          `ends at ${log.lastIndex}: entries are missing, restore the log`,
      );
    }
    return {state: saved, firstIndex: log.firstIndex};
  }
  if (log !== undefined && log.lastIndex >= log.firstIndex) {
    throw new Refusal(
      'start.refused',
      `the log in raft-storage-${options.nodeName} holds entries, but the server store beside it ` +
        'is missing or belongs to another log: restore the directory as a whole',
    );
  }
  const greatest = Math.max(
    saved?.index ?? 0,
    log?.lastIndex ?? 0,
    await greatestPosition(options),
  );
  if (saved === undefined && log !== undefined && log.firstIndex > greatest) {
    const state = emptyServerState(log.logId, log.firstIndex - 1, options.formats.level);
    return {state, firstIndex: log.firstIndex};
  }
  const logId = makeLogId(options.random);
  const empty = emptyServerState(logId, greatest, options.formats.level);
  if (saved === undefined) return {state: empty, firstIndex: greatest + 1};
  options.logger.log('warn', 'log.missing', {node: options.nodeName, lastKnown: greatest});
  const state = {
    ...saved,
    logId,
    index: greatest,
    durableIndex: greatest,
    positions: {},
  };
  return {state, firstIndex: greatest + 1};
}

function makeLogId(random: Random): string {
  const bytes = Buffer.alloc(16);
  random.fill(bytes);
  return bytes.toString('hex');
}

/** Bookmarks never go backwards: a new log begins above everything any database has seen. */
async function greatestPosition(options: RecoveryOptions): Promise<number> {
  let greatest = 0;
  for (const name of databaseNames(options)) {
    const path = `${options.databaseDirectory}/${name}`;
    const store = await openFound(options, path);
    if (store === undefined) continue;
    greatest = Math.max(greatest, readPosition(store, path, options.formats)?.index ?? 0);
    store.close();
  }
  return greatest;
}

/**
 * Goes on with databases that another server wrote meanwhile: one of another name on this root, or
 * one from which they were copied. They keep their names, and begin anew in this log.
 */
async function adoptForeign(
  options: RecoveryOptions,
  databases: DatabaseSet,
  log: SegmentLog,
  foreign: readonly DatabaseEntry[],
): Promise<void> {
  const propose = proposer(options, databases, log);
  for (const {id, name} of foreign) {
    if (databases.entry(name)?.id !== id || databases.byId(id) !== undefined) continue;
    const store = await openFound(options, databases.path(name));
    if (store === undefined) continue;
    const position = readPosition(store, databases.path(name), options.formats);
    store.close();
    if (position === undefined) continue;
    const {logId: oldLogId, index: oldIndex, transactionCount} = position;
    const head = {id, name, oldLogId, oldIndex, transactionCount};
    await propose('attach-database', {head, bytes: new Uint8Array(0)});
    options.logger.log('warn', 'database.of-another-server', {database: name, oldLogId, oldIndex});
  }
}

/**
 * Proposes what lies in the root and no entry has told of: directories of databases (a copy, an
 * upgrade, a root whose log was removed) and documents in `config/` that a person wrote.
 */
async function adoptFound(
  options: RecoveryOptions,
  databases: DatabaseSet,
  log: SegmentLog,
): Promise<void> {
  const propose = proposer(options, databases, log);
  const known = new Set(databases.state.databases.map(entry => entry.name));
  for (const name of databaseNames(options)) {
    if (known.has(name)) continue;
    const store = await openFound(options, databases.path(name));
    if (store === undefined) {
      options.logger.log('warn', 'database.not-ours', {directory: name});
      continue;
    }
    const position = readPosition(store, databases.path(name), options.formats);
    store.close();
    if (position === undefined) {
      options.logger.log('warn', 'database.not-ours', {directory: name});
      continue;
    }
    const {logId, index, transactionCount} = position;
    const id = databases.state.nextDatabaseId;
    const head = {id, name, oldLogId: logId, oldIndex: index, transactionCount};
    await propose('attach-database', {head, bytes: new Uint8Array(0)});
  }
  for (const {name, bytes} of databases.editedDocuments()) {
    const version = (databases.document(name)?.version ?? 0) + 1;
    await propose('put-document', {head: {name, version}, bytes});
  }
}

/**
 * A single server raises its format level at its start, by an entry. A database that was not
 * there at an earlier raise (a copy, one that was fenced) is raised by another one.
 */
async function raiseFormat(
  options: RecoveryOptions,
  databases: DatabaseSet,
  log: SegmentLog,
): Promise<void> {
  const {level} = options.formats;
  const levels = [...databases.openDatabases].map(({position}) => position.formatLevel);
  if (Math.min(databases.state.formatLevel, ...levels) >= level) return;
  const propose = proposer(options, databases, log);
  await propose('format-level', {head: {level}, bytes: new Uint8Array(0)});
}

/** Appends server-level entries at the end of a start and executes them. */
function proposer(
  options: RecoveryOptions,
  databases: DatabaseSet,
  log: SegmentLog,
): (kind: EntryKind, body: ServerBody) => Promise<void> {
  const encoder = new EntryEncoder();
  const clock = Math.max(0, Math.floor(options.clock.now()));
  return async (kind, body) => {
    const bytes = Buffer.from(encoder.encodeServer(kind, clock, body));
    log.append([bytes], new Uint32Array(1), true);
    await databases.execute(log.lastIndex, decodeEntry(bytes));
  };
}

/** Applies, in log order, every entry that the state or a database does not have yet. */
async function replay(databases: DatabaseSet, applier: Applier, log: SegmentLog): Promise<void> {
  let oldest = databases.state.durableIndex;
  for (const {id, position} of databases.openDatabases) {
    // Idle databases stand far behind; one that is behind its own mark is an older copy.
    const mark = databases.state.positions[String(id)] ?? 0;
    if (position.index < mark) oldest = Math.min(oldest, position.index);
  }
  const from = Math.max(log.firstIndex, oldest + 1);
  let pending: LogRecord[] = [];
  const flush = () => {
    if (!applier.apply(pending)) {
      throw new Refusal('start.refused', 'the disk has no room for what the log holds: make some');
    }
    pending = [];
  };
  if (from > log.lastIndex) return;
  for (const record of log.read(from)) {
    const entry = decodeEntry(record.payload);
    if (entry.kind === 'transaction') {
      pending.push({...record, payload: Buffer.from(record.payload)});
      if (pending.length >= replayBatchEntries) flush();
    } else {
      flush();
      await databases.execute(record.index, entry);
    }
  }
  flush();
}

/** Another name's log with entries that its databases lack would be lost silently. */
export async function refuseOtherNodes(options: RecoveryOptions): Promise<void> {
  const {disk, raftStorageParent, nodeName, logger} = options;
  const isNew = !disk.exists(`${storagePath(raftStorageParent, nodeName)}/server/state`);
  for (const name of disk.list(raftStorageParent)) {
    const other = /^raft-storage-(.+)$/.exec(name)?.[1];
    if (other === undefined || other === nodeName) continue;
    const storage = `${raftStorageParent}/${name}`;
    const log = recoverLog(disk, `${storage}/log`);
    const tail = log?.segments.at(-1);
    if (log === undefined || tail === undefined) continue;
    const state = new ServerStateFile(disk, `${storage}/server`).load();
    if (state !== undefined && state.durableIndex >= tail.lastIndex) {
      if (isNew) logger.log('warn', 'root.of-another-node', {node: other, now: nodeName});
      continue;
    }
    throw new Refusal(
      'start.refused',
      `this data was written by the node '${other}', whose log holds entries that are not in the ` +
        `databases yet: start it once as '${other}' and stop it cleanly before '${nodeName}'`,
    );
  }
}

/**
 * Makes directories where there are none, and their names durable in any case: a process that
 * was killed between the two leaves a name that a power loss may still take.
 */
function makeDirectories(disk: Disk, paths: readonly string[]): void {
  const parents = new Set<string>();
  for (const path of paths) {
    const missing: string[] = [];
    for (let name = path; !disk.exists(name); name = parentOf(name)) missing.unshift(name);
    for (const name of missing) {
      disk.makeDirectory(name);
      parents.add(parentOf(name));
    }
    parents.add(parentOf(path));
  }
  for (const parent of [...parents].sort((left, right) => left.length - right.length)) {
    disk.syncDirectory(parent);
  }
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/';
}
