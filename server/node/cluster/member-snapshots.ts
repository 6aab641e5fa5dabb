/**
 * Snapshots of this member of a cluster, in both directions: those that it gives to others, and
 * those that it takes, because its log is too far behind or a database of its own is not sound.
 *
 * What is taken is fetched while the server goes on with what it has. Then nothing is applied
 * until it stands in its place: for all databases the log begins anew behind it, for one alone it
 * goes on, and the database passes over the entries that its new copy holds.
 */
import {reasonOf, Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {Clock, Random, Timers} from '#server/platform/clock.ts';
import type {Disk} from '#server/platform/disk.ts';
import type {Logger} from '#server/platform/logger.ts';
import {type HttpTarget, targetOf} from '#server/protocols/http/relay/idle-connections.ts';
import type {LogPosition, NodeId} from '#server/raft/message.ts';
import type {RunningMember} from '#server/replication/storage/member-log.ts';
import type {ListedServer} from '#server/replication/peer-directory.ts';
import type {PeerEndpoint} from '#server/replication/snapshot/peer-requests.ts';
import {
  fetchSnapshot,
  type SnapshotFetchOptions,
  type SnapshotRequest,
} from '#server/replication/snapshot/snapshot-fetch.ts';
import {
  type SnapshotStoreOptions,
  SnapshotStore,
} from '#server/replication/snapshot/snapshot-store.ts';
import type {Engine as StoreEngine} from '#server/storage/rocksdb/open.ts';
import type {Engine} from '#server/engine/engine.ts';
import type {ServerState} from '#server/engine/server-state.ts';
import type {CopiesTaken, CopyTaken} from '#server/cluster/cluster.ts';
import {isSetAside} from '#server/engine/quarantine.ts';
import {SnapshotThread} from './snapshot-thread.ts';

export interface MemberSnapshotsOptions {
  readonly engine: Engine;
  readonly member: () => RunningMember;
  readonly settings: () => Settings;
  /** Where the databases lie, a folder each. */
  readonly databaseDirectory: string;
  readonly disk: Disk;
  readonly clock: Clock;
  readonly random: Random;
  readonly timers: Timers;
  readonly logger: Logger;
  /** The engine of the databases on this server. */
  readonly storeEngine: StoreEngine;
  /** Where each server of the cluster answers, by id. */
  readonly servers: () => ReadonlyMap<NodeId, ListedServer>;
  /** The cluster's. */
  readonly token: string;
  /** Whose certificates are believed of a member; empty: those that the machine trusts. */
  readonly authorities: () => readonly string[];
  /** Hears of every member that is asked (PeerClient). */
  readonly warnOfClear: (target: HttpTarget) => void;
}

export const noCopies: CopiesTaken = {
  installs: 0,
  installed: [],
  isInstalling: false,
  byDatabase: new Map(),
};

const pollMs = 20;
const stagedMs = 600_000;
const committedMs = 30_000;

export class MemberSnapshots {
  readonly shelf: SnapshotStore;
  readonly #options: MemberSnapshotsOptions;
  readonly #closing = new AbortController();
  readonly #taking: SnapshotThread;
  readonly #giving: SnapshotThread;
  readonly #cancelDiscard: () => void;
  readonly #byDatabase = new Map<string, CopyTaken>();
  #installs = 0;
  #installed: readonly string[] = [];
  #isTakingAll = false;
  /** One at a time. */
  #underWay: Promise<void> | undefined;

  constructor(options: MemberSnapshotsOptions) {
    const {engine, databaseDirectory, settings} = options;
    this.#options = options;
    this.#taking = new SnapshotThread(options.timers, options.storeEngine);
    this.#giving = new SnapshotThread(options.timers, options.storeEngine);
    this.shelf = new SnapshotStore({
      ...options,
      maker: {
        capture: directory => engine.capture(directory),
        checkpointAt: index => options.member().replicator.heldCheckpointAt(index),
        whenApplied: index => engine.whenApplied(index),
      },
      checksum: (path, bytes) => this.#giving.checksum(path, bytes),
      directory: `${databaseDirectory}/.snapshots`,
      ...givingLimits(settings()),
    });
    // What an earlier process fetched is gone on with soon, or not needed any more.
    this.#cancelDiscard = options.timers.after(stagedMs, () => {
      if (!this.isInstalling) engine.snapshots.discard();
    });
  }

  get isInstalling(): boolean {
    return this.#underWay !== undefined;
  }

  /** What was taken since the start, and how that went. */
  get copies(): CopiesTaken {
    return {
      installs: this.#installs,
      installed: this.#installed,
      isInstalling: this.#isTakingAll,
      byDatabase: this.#byDatabase,
    };
  }

  /** Consensus needs a checkpoint of at least `atLeast`; it is told how that ended. */
  needed(from: NodeId, atLeast: LogPosition): void {
    const {logger, member} = this.#options;
    const work = this.#alone(async () => {
      this.#isTakingAll = true;
      try {
        await this.#takeAll(from, atLeast);
      } finally {
        this.#isTakingAll = false;
      }
    });
    work.catch((error: unknown) => {
      logger.log('error', 'snapshot.not-installed', {from, reason: String(error)});
      member().replicator.installFailed();
    });
  }

  /**
   * Throws this server's copy of a database away and takes the leader's.
   *
   * @throws {Refusal} `cluster.membership` on the leader and while a snapshot is taken;
   *   `database.missing`; `cluster.no-quorum` when the leader cannot be reached, or the snapshot
   *   is not one.
   */
  async resync(name: string): Promise<void> {
    const {engine, member, logger} = this.#options;
    if (!engine.state.databases.some(entry => entry.name === name)) {
      throw new Refusal('database.missing', `there is no database ${name}`);
    }
    if (member().replicator.role.name === 'leader') {
      throw new Refusal('cluster.membership', 'the leader has nobody to take a database from');
    }
    if (this.isInstalling) {
      throw new Refusal('cluster.membership', 'this server is taking a snapshot already');
    }
    logger.log('info', 'database.resync', {database: name});
    this.#tell(name, 'ACQUIRING');
    try {
      await this.#alone(() => this.#takeOne(name));
      this.#tell(name, 'ACQUIRED');
    } catch (error) {
      const lacks = error instanceof Refusal && error.code === 'database.missing';
      this.#tell(name, lacks ? 'LEADER_MISSING' : 'FAILED', reasonOf(error));
      if (error instanceof Refusal) throw error;
      throw new Refusal('cluster.no-quorum', `${name} was not taken anew: ${String(error)}`);
    }
  }

  /** Gives and takes nothing more. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#cancelDiscard();
    await this.#underWay?.catch(() => {});
    await Promise.all([this.#taking.close(), this.#giving.close()]);
    this.shelf.close();
  }

  #tell(name: string, status: CopyTaken['status'], error?: string): void {
    this.#byDatabase.set(name, {status, at: this.#options.clock.now(), error});
  }

  async #alone(work: () => Promise<void>): Promise<void> {
    while (this.#underWay !== undefined) await this.#underWay.catch(() => {});
    this.#underWay = work().finally(() => {
      this.#underWay = undefined;
    });
    await this.#underWay;
  }

  async #takeAll(from: NodeId, atLeast: LogPosition): Promise<void> {
    const {engine, member} = this.#options;
    const {manifest} = await this.#fetch(from, {atLeast: atLeast.index});
    const {state, checkpoint} = manifest;
    const {log, replicator} = member();
    await log.interrupted(async () => {
      await engine.install({state, checkpoint});
      await replicator.installed(checkpoint);
      engine.snapshots.forget();
      return state.durableIndex;
    });
    this.#installs += 1;
    this.#installed = state.databases.map(({name}) => name).sort();
    for (const name of this.#installed) this.#tell(name, 'ACQUIRED');
  }

  async #takeOne(name: string): Promise<void> {
    const {engine, member} = this.#options;
    const {log, replicator} = member();
    const {leader} = replicator.role;
    if (leader === undefined) throw new Refusal('cluster.no-quorum', 'no leader is known');
    await log.interrupted(async () => {
      const before = log.appliedIndex;
      const {manifest} = await this.#fetch(leader, {atLeast: before, only: name});
      await this.#untilCommitted(manifest.state.durableIndex);
      await engine.install({
        state: withCopy(engine.state, manifest.state, name),
        checkpoint: undefined,
      });
      engine.snapshots.forget();
      return before;
    });
  }

  /** The log must hold what a copy holds: a start compares them. */
  async #untilCommitted(index: number): Promise<void> {
    const {member, clock, timers} = this.#options;
    const deadline = clock.monotonic() + committedMs;
    while (member().replicator.commitIndex < index) {
      this.#closing.signal.throwIfAborted();
      if (clock.monotonic() > deadline) {
        throw new Refusal('cluster.no-quorum', `entry ${index} does not reach this server`);
      }
      await new Promise<void>(resolve => {
        timers.after(pollMs, resolve);
      });
    }
  }

  #endpointOf(id: NodeId): PeerEndpoint | undefined {
    const {servers, token, settings, authorities, warnOfClear} = this.#options;
    const server = servers().get(id);
    if (server === undefined) return undefined;
    const target = targetOf(server, settings().get('svc.ssl.enabled'));
    if (target === undefined) return undefined;
    warnOfClear(target);
    const {host, port, isSecure} = target;
    return {host, port, token, ...(isSecure && {tls: {ca: authorities()}})};
  }

  /** Where sorted files of a database lie that the leader may have, too. */
  #copiesOf(name: string): readonly string[] {
    const {disk, databaseDirectory: databases} = this.#options;
    const aside = disk.list(databases).filter(entry => isSetAside(entry, name));
    return [name, ...aside].map(entry => `${databases}/${entry}`);
  }

  #fetch(from: NodeId, requested: SnapshotRequest) {
    const {engine, member, settings, disk, databaseDirectory, timers, logger} = this.#options;
    const given = settings();
    return fetchSnapshot(
      {
        timers,
        logger,
        receiver: member().replicator.id,
        stagedPath: id => engine.snapshots.stagedPath(id),
        reusable: name => this.#copiesOf(name),
        transfer: (order, signal) => this.#taking.transfer(order, signal),
        ...takingLimits(given),
        obstacle: bytes => {
          const free = disk.freeBytes(databaseDirectory) - given.get('svc.storage.freeSpaceMin');
          return bytes <= free ? undefined : `it has ${bytes} bytes, and ${free} can be written`;
        },
        source: () => {
          const id = member().replicator.role.leader ?? from;
          return this.#endpointOf(id) ?? `where ${id} answers HTTP is not known`;
        },
      },
      {...requested, signal: this.#closing.signal},
    );
  }
}

/** What snapshots that are given out may take. */
export function givingLimits(
  settings: Settings,
): Pick<SnapshotStoreOptions, 'holdsMax' | 'idleMs'> {
  return {
    holdsMax: settings.get('svc.ha.snapshotMaxConcurrent'),
    idleMs: settings.get('svc.ha.snapshotWriteTimeout'),
  };
}

/** What one that is taken may. */
export function takingLimits(
  settings: Settings,
): Pick<SnapshotFetchOptions, 'fileBytesMax' | 'idleMs' | 'retries' | 'retryBaseMs'> {
  return {
    fileBytesMax: settings.get('svc.ha.snapshotMaxEntrySize'),
    idleMs: settings.get('svc.ha.snapshotDownloadTimeout'),
    retries: settings.get('svc.ha.snapshotInstallRetries'),
    retryBaseMs: settings.get('svc.ha.snapshotInstallRetryBaseMs'),
  };
}

/** This server's state with one database as another server has it. */
function withCopy(ours: ServerState, theirs: ServerState, name: string): ServerState {
  const own = ours.databases.find(entry => entry.name === name);
  const other = theirs.databases.find(entry => entry.name === name);
  if (own === undefined || own.id !== other?.id) {
    throw new Refusal('database.missing', `the leader has no database ${name} like this one`);
  }
  const index = theirs.positions[String(own.id)] ?? 0;
  return {...ours, positions: {...ours.positions, [String(own.id)]: index}};
}
