/**
 * The way from what lies on the disk to the databases of a member of a cluster.
 *
 * Nothing is replayed: the log says what is committed only once a leader is known, so entries
 * behind what is durable everywhere come again from there, and each database passes over those
 * that it has. What differs from a single server's recovery (recovery.ts) is that nothing is
 * proposed here either: only a leader appends. The install of a snapshot that was cut off is
 * finished before anything is looked at. A server that becomes a member brings its own log to its
 * end first, and then keeps its data or sets it aside, as the cluster begins (member-beginning.ts).
 */
import {Refusal} from '#server/base/errors.ts';
import type {DatabaseSet} from '../database-set.ts';
import type {MemberLog, MemberLogOpener} from '../engine-log.ts';
import {beginMember} from './member-beginning.ts';
import {databaseNames, openKnown} from './known-databases.ts';
import {
  databasesOf,
  loadState,
  memberDirectory,
  prepareStorage,
  type Recovered,
  refuseOtherNodes,
} from './recovery.ts';
import type {RecoveryOptions} from './recovery-options.ts';
import {emptyServerState, type ServerState, ServerStateFile} from '../server-state.ts';
import {SnapshotInstall} from '../snapshot-install.ts';

export interface RecoveredMember extends Omit<Recovered, 'log'> {
  readonly log: MemberLog;
  /** Every entry up to here is durable in every database. */
  readonly durableIndex: number;
  /** Up to here entries are known to be committed: something of this server has applied them. */
  readonly committedIndex: number;
}

/**
 * Opens the replicated log and the databases that the state names.
 *
 * @throws {Refusal} `start.refused` when the two do not belong together; the log is let go then.
 */
export async function recoverMember(
  options: RecoveryOptions,
  opener: MemberLogOpener,
): Promise<RecoveredMember> {
  const storage = prepareStorage(options, memberDirectory);
  await refuseOtherNodes(options);
  const install = new SnapshotInstall({...options, storage});
  const installed = install.finish();
  if (installed === undefined) await install.rollBack();
  const directory = `${storage}/${memberDirectory}`;
  const isNew = installed === undefined && !opener.exists(directory);
  const beginning = isNew ? await beginMember(options, storage, opener) : undefined;
  const stateFile = new ServerStateFile(options.disk, `${storage}/server`);
  const saved = loadState(options, stateFile, storage);
  const log = await opener.open(directory, installed?.checkpoint ?? beginning?.checkpoint);
  try {
    const {level} = options.formats;
    const state = saved ?? emptyServerState(log.logId, log.firstIndex - 1, level);
    checkSame(state, log);
    if (installed !== undefined) install.forget();
    if (saved === undefined) stateFile.save(state);
    const parts = databasesOf(options, {storage, stateFile, logId: log.logId, state});
    await openKnown(options, parts.databases, log);
    parts.databases.sweep();
    const known = new Set(state.databases.map(entry => entry.name));
    for (const found of databaseNames(options)) {
      if (!known.has(found)) options.logger.log('warn', 'database.not-ours', {directory: found});
    }
    const committedIndex = knownCommitted(state, parts.databases, log);
    return {...parts, log, durableIndex: state.durableIndex, committedIndex};
  } catch (error) {
    await log.abandon();
    throw error;
  }
}

/**
 * What is known to be committed. A leader that did not know it would hold databases that are ahead,
 * and could not give a snapshot of them to the very follower that it needs for the next commit.
 */
function knownCommitted(state: ServerState, databases: DatabaseSet, log: MemberLog): number {
  let index = Math.max(state.index, state.durableIndex);
  for (const {position} of databases.openDatabases) {
    // Of a copy from elsewhere this log need not hold the same entry.
    const isHeld = position.chain !== 0 && log.chainAt(position.index) === position.chain;
    if (isHeld) index = Math.max(index, position.index);
  }
  return index;
}

function checkSame(
  state: {readonly logId: string; readonly index: number; readonly durableIndex: number},
  log: MemberLog,
): void {
  if (state.logId !== log.logId) {
    throw new Refusal(
      'start.refused',
      'the data of this server belongs to another log than that of its cluster: it cannot become ' +
        'a member with it; start it with an empty root, or without svc.ha.enabled',
    );
  }
  const known = Math.max(state.index, state.durableIndex);
  if (known <= log.lastIndex && state.durableIndex >= log.firstIndex - 1) return;
  throw new Refusal(
    'start.refused',
    `the databases hold the entries up to ${known}, and the log those from ${log.firstIndex} to ` +
      `${log.lastIndex}: entries are missing, restore the directory of the log as a whole`,
  );
}
