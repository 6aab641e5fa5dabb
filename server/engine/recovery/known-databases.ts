/**
 * Opens the databases that a start finds and judges each against the log: whether it goes on with
 * this log, belongs to another one, or is fenced because going on would lose or mix data.
 */
import {Corruption, Refusal} from '#server/base/errors.ts';
import {type Store, StoreFailure} from '#server/storage/store.ts';
import type {DatabaseSet, OpenDatabase} from '../database-set.ts';
import type {DatabaseEntry, ServerState} from '../server-state.ts';
import type {RecoveryOptions} from './recovery-options.ts';

/** What tells whether a database belongs to a log. */
export interface LogIdentity {
  readonly logId: string;
  readonly firstIndex: number;
  readonly lastIndex: number;
  chainAt(index: number): number | undefined;
}

const pendingReason =
  'not available: interrupted snapshot install. Start the server with svc.ha.enabled to finish ' +
  'it, or POST /api/v1/cluster/resync/{database} there';
/** Names of the directories that may be databases. */
export function databaseNames(options: RecoveryOptions): string[] {
  const {stores, databaseDirectory} = options;
  return stores
    .list(databaseDirectory)
    .filter(name => !name.startsWith('.') && !stores.isPending(`${databaseDirectory}/${name}`));
}

/**
 * Opens every database that the state names and judges where it stands. Answers those that another
 * log goes on, fenced here; the caller may adopt them.
 */
export async function openKnown(
  options: RecoveryOptions,
  databases: DatabaseSet,
  log: LogIdentity,
): Promise<readonly DatabaseEntry[]> {
  const foreign: DatabaseEntry[] = [];
  for (const entry of databases.state.databases) {
    if (options.stores.isPending(databases.path(entry.name))) {
      databases.pending.add(entry.id);
      fence(options, databases, {entry, reason: pendingReason});
      databases.holdLog(entry.id);
      continue;
    }
    if (!options.stores.exists(databases.path(entry.name))) {
      // An entry that drops it may follow: the directory then goes before the state is saved.
      const reason = `its directory ${databases.path(entry.name)} is missing`;
      fence(options, databases, {entry, reason});
      continue;
    }
    const database = await openSound(options, databases, entry);
    if (database === undefined) continue;
    const obstacle = judge(database, databases.state, log);
    if (obstacle === undefined) databases.adopt(database);
    else {
      database.store.close();
      if (database.position.logId !== log.logId) foreign.push(entry);
      fence(options, databases, {entry, reason: obstacle});
    }
  }
  return foreign;
}

/** Undefined, and fenced, when its files are damaged: the log keeps what a copy of it may lack. */
async function openSound(
  options: RecoveryOptions,
  databases: DatabaseSet,
  entry: DatabaseEntry,
): Promise<OpenDatabase | undefined> {
  try {
    return await databases.openStore(entry);
  } catch (error) {
    if (!(error instanceof Corruption)) throw error;
    const reason = `${error.message} (its files are damaged: restore it from a copy)`;
    fence(options, databases, {entry, reason});
    databases.holdLog(entry.id);
    return undefined;
  }
}

function fence(
  options: RecoveryOptions,
  databases: DatabaseSet,
  fenced: {readonly entry: {readonly id: number; readonly name: string}; readonly reason: string},
): void {
  databases.fences.set(fenced.entry.id, fenced.reason);
  options.logger.log('error', 'database.fenced', {
    database: fenced.entry.name,
    reason: fenced.reason,
  });
}

/** Why a database cannot go on with this log; throws where the whole start is in question. */
function judge(database: OpenDatabase, state: ServerState, log: LogIdentity): string | undefined {
  const {index, chain} = database.position;
  if (database.position.logId !== log.logId) {
    // The log was lost and made anew: it begins above everything that any database held.
    if (index < log.firstIndex) return undefined;
    return (
      `it was written by another server, up to entry ${index} of its log, and the log of this ` +
      'one holds entries of its own for it: put back the directory that was here, or stop this ' +
      'server, give this directory another name, and start: it is attached under that name (a ' +
      'member of a cluster takes the copy of the leader: svc cluster resync)'
    );
  }
  if (index > log.lastIndex) {
    throw new Refusal(
      'start.refused',
      `database ${database.name} holds entry ${index}, but the log ends at ${log.lastIndex}: ` +
        'entries are missing, restore the log or start without it',
    );
  }
  const needed = state.positions[String(database.id)] ?? 0;
  if (index < needed && index < log.firstIndex - 1) {
    return (
      `it stands at entry ${index} and needs those from ${index + 1} on, but the log begins at ` +
      `${log.firstIndex}: entries ${index + 1} to ${log.firstIndex - 1} are missing, restore a ` +
      'newer copy of the database'
    );
  }
  const expected = chain === 0 ? undefined : log.chainAt(index);
  if (expected === undefined || expected === chain) return undefined;
  return `its entry ${index} is not the one that the log holds: it is a copy of another history`;
}

/** The store in a directory; undefined when it is none, as `lost+found` of a volume is. */
export async function openFound(
  options: RecoveryOptions,
  path: string,
): Promise<Store | undefined> {
  try {
    return await options.stores.open(path, {mustExist: true});
  } catch (error) {
    if (error instanceof StoreFailure && error.kind === 'absent') return undefined;
    throw error;
  }
}
