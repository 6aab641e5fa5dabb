/** What an engine is made from, and whom it tells of what happens by itself (engine.ts). */
import type {SegmentLog} from '#server/log/segment-log.ts';
import type {Clock, Random, Timers} from '#server/platform/clock.ts';
import type {Disk} from '#server/platform/disk.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {Reader} from '#server/storage/store.ts';
import type {LogIndex} from '#server/transactions/commit.ts';
import type {CommitPipeline} from '#server/transactions/commit-pipeline.ts';
import type {CommitLimits} from '#server/transactions/coordinator.ts';
import type {Database} from './database.ts';
import type {MemberLogOpener} from './engine-log.ts';
import type {Formats} from './formats/levels.ts';
import type {StoreFactory} from './store-factory.ts';
import type {TransactionLimits} from '#server/transactions/transaction.ts';

export interface EngineSettings {
  /** `svc.ha.logSegmentSize`. */
  readonly segmentBytes: number;
  /** `svc.txWalFlush`: 2 syncs every commit; 1 and 0 leave that to the system. */
  readonly walFlush: 0 | 1 | 2;
  readonly commit: CommitLimits;
  readonly transaction: TransactionLimits;
  readonly formats: Formats;
  /** `svc.storage.freeSpaceMin`: what stays free besides the next segment of the log. */
  readonly freeBytesMin: number;
  /** `svc.ha.raftStorageDirectory`; undefined: the root. */
  readonly raftStorageParent?: string;
}

/** What a commit pipe is made from; it owns the log from then on. */
export interface PipeParts {
  /** Undefined in a cluster: what the pipe is enqueued is committed, and only applied. */
  readonly log: SegmentLog | undefined;
  readonly logId: string;
  /** Index of the last entry that the pipe is not given. */
  readonly startIndex: LogIndex;
  readonly settings: EngineSettings;
}

/** Where a server keeps what it holds; the three may lie on volumes of their own. */
export interface DataPaths {
  readonly rootPath: string;
  /** Databases, a folder each. */
  readonly databaseDirectory: string;
  /** Users, groups and tokens. */
  readonly configDirectory: string;
}

/** Folders that are not named lie in the root. */
export function dataPaths(given: Pick<DataPaths, 'rootPath'> & Partial<DataPaths>): DataPaths {
  const {rootPath} = given;
  return {
    rootPath,
    databaseDirectory: given.databaseDirectory ?? `${rootPath}/databases`,
    configDirectory: given.configDirectory ?? `${rootPath}/config`,
  };
}

export interface EngineOptions extends Partial<DataPaths> {
  readonly rootPath: string;
  readonly nodeName: string;
  readonly disk: Disk;
  readonly clock: Clock;
  readonly timers: Pick<Timers, 'after'>;
  readonly random: Random;
  readonly logger: Logger;
  readonly stores: StoreFactory;
  readonly settings: EngineSettings;
  /** Starts it on threads (commit/commit-threads.ts), or on one (commit/commit-tasks.ts). */
  readonly startPipe: (parts: PipeParts) => CommitPipeline;
  /** Set for a member of a cluster; undefined: the server has a log of its own. */
  readonly memberLog?: MemberLogOpener;
  /** See recovery/recovery.ts; for `memberLog`. */
  readonly fingerprint?: (reader: Reader) => Promise<string>;
}

export interface EngineEvents {
  /** The log takes nothing more: the process should be replaced. */
  readonly failed?: (reason: string) => void;
  /** An entry changed a document of the server. */
  readonly documentChanged?: () => void;
  /** Databases came or went, or were opened or closed here. */
  readonly databasesChanged?: () => void;
  /** An entry drops a database: whoever uses it has to end. */
  readonly dropping?: (database: Database) => void;
  /** A marker was executed (`Engine.mark`): the database holds what it held at its place. */
  readonly marked?: (marker: string, database: Database) => void;
  /** What this member had appended as a leader never happens: entries of another one are there. */
  readonly takenBack?: () => void;
  /** Called on a member of a cluster when it begins or ends to take commits. */
  readonly leadership?: (leads: boolean) => void;
}
