/**
 * The log of one engine: what the coordinators append to (`CommitLog`), and its life.
 *
 * Two implementations: a single server's own log (local-commit-log.ts), and that of a member of a
 * cluster (replication/replicated-commit-log.ts), where other nodes append too. The engine is told
 * of what they append by its observer.
 */
import type {AppendResult, CommitLog, LogIndex, Refused} from '#server/transactions/commit.ts';
import type {CommitPipeline, PipelineProgress} from '#server/transactions/commit-pipeline.ts';
import type {Entry} from '#server/transactions/entry.ts';
import type {Bootstrap} from './server-state.ts';

export interface EngineLog extends CommitLog {
  /** No snapshot that was taken before this is asked shows an entry behind it. */
  readonly readableIndex: LogIndex;
  /** Why the log takes nothing more, ever; undefined while it does. */
  readonly failure: string | undefined;
  /** Appends a server-level entry; resolves when it is executed here, or its fate is told. */
  propose(entry: Uint8Array): Promise<AppendResult>;
  /** Everything up to `floor` is durable in all stores; how much of it is executed as well. */
  executedFloor(floor: LogIndex): LogIndex;
  /** Resolves when the server-level entries up to `index`, all of them applied, are executed. */
  executed(index: LogIndex): Promise<void>;
  /** Lets the log forget entries up to `floor`. */
  recycle(floor: LogIndex): void;
  /** Refuses what comes from now on; what is under way is finished. */
  stop(): void;
  /** Resolves when nobody waits for an outcome any more. */
  settled(): Promise<void>;
  /** Takes nothing more; what waits is inFlight. */
  fail(reason: string): void;
  /** Called after `settled`: no entry reaches the pipe any more. */
  close(): Promise<void>;
}

/** Whom the log tells, in log order. */
export interface EngineLogObserver {
  /** The log can write nothing more; called once. */
  failed(reason: string): void;
  /** Entries of so many bytes were applied. */
  advanced(bytes: number, fences: PipelineProgress['fences']): void;
  /** Why an entry of `bytes` may not be written now, such as a full disk. */
  obstacle(bytes: number): Refused | undefined;
  /** Executes a server-level entry. */
  execute(index: LogIndex, entry: Entry): Promise<void>;
  /**
   * An entry that this node did not append is about to be applied. Answers what to call once it
   * is, or that its database takes no entries here.
   */
  follows(index: LogIndex, entry: Entry): Followed | 'passed-over';
  /**
   * Appends are taken from now on: everything is applied up to `index`, and nothing is under way
   * behind it. Called at the begin of each leadership, before its first append.
   */
  leads(index: LogIndex): void;
  /** What this node appended behind the entry at `index` never happens. */
  takenBack(index: LogIndex): void;
  /** The log should be shortened: everything is to be made durable, then `recycle`. */
  isLong(): void;
  /** Appends are refused from now on. */
  leadershipEnded(): void;
}

export type Followed = (() => void) | undefined;

/** The log of a member of a cluster before it runs: what its recovery needs to know. */
export interface MemberLog {
  readonly logId: string;
  /** Index of the first entry that is still there. */
  readonly firstIndex: LogIndex;
  readonly lastIndex: LogIndex;
  /** What a store that has applied the entry at `index` keeps beside it; undefined: not held. */
  chainAt(index: LogIndex): number | undefined;
  /**
   * Takes part in the cluster from now on; entries behind `pipe.startIndex` go to the pipe. Those
   * up to `committed` are known to be committed, since they were applied before.
   */
  start(pipe: CommitPipeline, observer: EngineLogObserver, committed: LogIndex): EngineLog;
  /** Instead of `start`, when the start was refused. */
  abandon(): Promise<void>;
}

/** A place in a replicated log behind which it can begin anew, and who belonged to the group. */
export interface LogCheckpoint {
  readonly last: {readonly index: LogIndex; readonly term: number};
  readonly membership: readonly {
    readonly id: string;
    readonly role: 'voter' | 'joining';
    readonly priority: number;
  }[];
}

/** What a server has of its own, before it becomes a member. */
export interface LocalData {
  readonly databases: readonly {
    readonly name: string;
    /** Commits that it holds, counted from its creation. */
    readonly transactions: number;
  }[];
  /** How many documents of the server (users and the like). */
  readonly documents: number;
  /** Their names, and one digest over all databases; of a server that becomes a member. */
  readonly documentNames?: readonly string[] | undefined;
  readonly content?: string | undefined;
}

/** What a cluster began with, as its members tell a server that may hold the same. */
export type Baseline = Omit<Bootstrap, 'databases'>;

/** How a member without a memory begins. */
export interface MemberBeginning {
  readonly checkpoint: LogCheckpoint;
  /** Its data becomes the cluster's, or is the same; else it is set aside. */
  readonly keepsData: boolean;
  /** What the cluster has begun with, where this server's data is the same. */
  readonly baseline?: Baseline | undefined;
}

export interface MemberLogOpener {
  /** The id of the group's log. */
  readonly logId: string;
  /** Whether there is a log in the directory. */
  exists(directory: string): boolean;
  /**
   * Finds out with the others how a server without a log begins. `lastIndex`: of anything that
   * its data holds.
   *
   * @throws {Refusal} `start.refused` when its data and the cluster's do not go together.
   */
  form(data: LocalData, lastIndex: LogIndex): Promise<MemberBeginning>;
  /**
   * Opens the log, or begins one. `checkpoint`: where the databases stand, where that is known; a
   * log that does not reach that place begins anew behind it.
   */
  open(directory: string, checkpoint: LogCheckpoint | undefined): Promise<MemberLog>;
}
