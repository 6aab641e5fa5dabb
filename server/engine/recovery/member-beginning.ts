/**
 * How a server that has data of its own, or none, becomes a member of a cluster.
 *
 * Its own log is brought to its end and everything made durable; then it finds out with the others
 * how the cluster begins. The one whose data is taken keeps it, under the cluster's log that goes
 * on behind it. So does one that holds the same, once the other says that it has begun: its place
 * in the log is then as good as a copy would be. Another one sets its databases aside, under names
 * that nobody serves, and gets a copy. Each step may be done again after a crash: what is found
 * then is a server with data.
 * Source: docs/design/0019-replicated-engine.md.
 */
import {hash} from 'node:crypto';
import type {LogCheckpoint, LocalData, MemberBeginning, MemberLogOpener} from '../engine-log.ts';
import {isServerDocument} from '../database-set.ts';
import {databaseNames} from './known-databases.ts';
import {recover, type Recovered} from './recovery.ts';
import type {RecoveryOptions} from './recovery-options.ts';
import {
  type Bootstrap,
  type BootstrapDatabase,
  emptyServerState,
  type ServerState,
  ServerStateFile,
} from '../server-state.ts';
import {setAside} from '../quarantine.ts';
import {encodePosition, positionKey} from '#server/transactions/system-keys.ts';

const nothing: LocalData = {databases: [], documents: 0};

/** Durable on return. @throws {Refusal} `start.refused`: nothing was changed. */
export async function beginMember(
  options: RecoveryOptions,
  storage: string,
  opener: MemberLogOpener,
): Promise<MemberBeginning> {
  if (!hasData(options, storage)) return await opener.form(nothing, 0);
  const local = await recover(options);
  const {databases, log} = local;
  try {
    const held = await heldBy(options, local);
    const data = {...databases.localData(), ...held};
    const beginning = await opener.form(data, log.lastIndex);
    const {logId} = opener;
    if (beginning.keepsData) {
      const bootstrap = bootstrapOf(databases.state, held, beginning);
      carryOver(options, {storage, local, logId, beginning, bootstrap});
    }
    databases.close(true);
    log.close();
    if (!beginning.keepsData) giveWay(options, storage, logId);
    options.disk.removeTree(`${storage}/log`);
    return beginning;
  } catch (error) {
    databases.close(false);
    log.close();
    throw error;
  }
}

function hasData(options: RecoveryOptions, storage: string): boolean {
  const {disk, configDirectory} = options;
  return (
    disk.exists(`${storage}/server/state`) ||
    databaseNames(options).length > 0 ||
    disk.list(configDirectory).some(isServerDocument)
  );
}

/** The state first: databases of another log are known to stand before this one's begin. */
function carryOver(
  {disk}: RecoveryOptions,
  carried: {
    readonly storage: string;
    readonly local: Recovered;
    readonly logId: string;
    readonly beginning: MemberBeginning;
    readonly bootstrap: Bootstrap | undefined;
  },
): void {
  const {storage, local, logId, beginning, bootstrap} = carried;
  const {last} = beginning.checkpoint;
  const before = local.databases.state;
  const nextDatabaseId = bootstrap?.nextDatabaseId ?? before.nextDatabaseId;
  const state = {...at(before, logId, last), nextDatabaseId, bootstrap};
  new ServerStateFile(disk, `${storage}/server`).save(state);
  for (const {store, id} of local.databases.openDatabases) {
    const position = local.applier.position(id);
    if (position === undefined) continue;
    const batch = store.batch();
    const chain = last.term >>> 0;
    batch.put(positionKey, encodePosition({...position, logId, index: last.index, chain}));
    store.write(batch, {sync: true});
  }
}

/** What this server holds, as others compare it with their own. */
interface Held {
  readonly documentNames: readonly string[];
  readonly content: string | undefined;
  readonly prints: readonly BootstrapDatabase[];
}

/** Cost: reads every database once. */
async function heldBy({fingerprint}: RecoveryOptions, local: Recovered): Promise<Held> {
  const {databases} = local;
  const documentNames = Object.keys(databases.state.documents).sort();
  if (fingerprint === undefined) return {documentNames, content: undefined, prints: []};
  const prints: BootstrapDatabase[] = [];
  const facts: unknown[] = [databases.state.formatLevel];
  for (const {id, name, store} of [...databases.openDatabases].sort((a, b) => a.id - b.id)) {
    const position = local.applier.position(id);
    if (position === undefined) return {documentNames, content: undefined, prints: []};
    const {formatLevel, schemaVersion, transactionCount: transactions} = position;
    const print = {id, name, transactions, fingerprint: await fingerprint(store)};
    prints.push(print);
    facts.push([print, formatLevel, schemaVersion]);
  }
  return {documentNames, content: hash('sha256', JSON.stringify(facts), 'hex'), prints};
}

function bootstrapOf(
  {nextDatabaseId}: ServerState,
  {content, prints, documentNames: documents}: Held,
  {checkpoint: {last}, baseline}: MemberBeginning,
): Bootstrap | undefined {
  if (content === undefined) return undefined;
  return {...last, nextDatabaseId, documents, content, ...baseline, databases: prints};
}

function at(state: ServerState, logId: string, {index}: LogCheckpoint['last']): ServerState {
  return {...state, logId, index, durableIndex: index, positions: {}};
}

function giveWay(options: RecoveryOptions, storage: string, logId: string): void {
  for (const name of databaseNames(options)) setAside(options, name);
  const state = emptyServerState(logId, 0, options.formats.level);
  new ServerStateFile(options.disk, `${storage}/server`).save(state);
}
