/**
 * What the operator asks of one server: what it says of the cluster, and the few changes that only
 * a leader makes. Two implementations: over HTTP, and the servers of the simulation.
 *
 * Requests go to a pod by its own name, never through a Service, and are never repeated here:
 * whether one did something is found out by looking again.
 */
import type {MemberReport} from '#operator/decide/agreement.ts';

/** One server, and the password of root there. */
export interface ServerAddress {
  readonly host: string;
  /**
   * Where the host is, when that is known: a name may still lead to the pod that was there before.
   */
  readonly address: string | undefined;
  readonly port: number;
  readonly password: string;
  /** Shown in the place of the password: the token by which the servers believe each other. */
  readonly token?: string;
}

export interface NewPeer {
  readonly peerId: string;
  /** `host:raftPort:httpPort`. */
  readonly address: string;
  readonly name: string;
  readonly priority: number;
}

export interface Archive {
  readonly fileName: string;
  readonly bytes: number;
}

/** Each call rejects with an AdminError and with nothing else. */
export interface ServerAdmin {
  status(server: ServerAddress): Promise<MemberReport>;
  addPeer(server: ServerAddress, peer: NewPeer): Promise<void>;
  removePeer(server: ServerAddress, peerId: string): Promise<void>;
  transferLeadership(server: ServerAddress, to: string): Promise<void>;
  setSetting(server: ServerAddress, key: string, value: string): Promise<void>;
  /** Gives root the password of `server`, by its token. */
  setRootPassword(server: ServerAddress & {readonly token: string}): Promise<void>;
  databases(server: ServerAddress): Promise<readonly string[]>;
  /** Resolves once the archive is whole. */
  triggerBackup(server: ServerAddress, database: string, timeoutMs: number): Promise<Archive>;
  /** The newest first. */
  listBackups(server: ServerAddress, database: string): Promise<readonly Archive[]>;
  deleteBackup(server: ServerAddress, database: string, fileName: string): Promise<void>;
  /** Databases that have archives, whether they are there or not. */
  archivedDatabases(server: ServerAddress): Promise<readonly string[]>;
  /** Resolves once a majority has the database. @param from - An archive by its name, or a URL. */
  restoreDatabase(
    server: ServerAddress,
    database: string,
    from: {readonly file: string} | {readonly url: string},
  ): Promise<void>;
}

export type AdminReason =
  /** Nobody listens, or no answer came: a change may have been made. */
  | 'silent'
  /** It is there and not yet able to answer, or not able now. */
  | 'starting'
  /** The password. */
  | 'refused'
  | 'not-leader'
  /** The change of members is made already, or it would cost the quorum. */
  | 'conflict'
  /** This release does not know the command. */
  | 'not-available'
  | 'other';

export class AdminError extends Error {
  override readonly name = 'AdminError';
  readonly reason: AdminReason;

  constructor(reason: AdminReason, message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : {cause});
    this.reason = reason;
  }
}
