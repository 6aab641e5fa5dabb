/**
 * The cluster that this server belongs to, as sessions and protocols see it.
 *
 * Declared here because protocols need it, implemented over `replication/` and wired in `node/`.
 * A single server has none: there, every question below answers itself.
 *
 * Source: docs/cluster.md.
 */

/** A member, or a server that is declared and is none. */
export interface ClusterPeer {
  /** `<host>_<raftPort>`. */
  readonly id: string;
  /** `svc.server.name` or the name in the list, where known. */
  readonly name: string | undefined;
  readonly host: string;
  readonly raftPort: number;
  /** Undefined where it cannot be told. `ambiguous`: another peer has the same, so none is used. */
  readonly httpPort: number | 'ambiguous' | undefined;
  readonly httpsPort: number | undefined;
  readonly priority: number;
  /** True when the live configuration has the server. */
  readonly inConfiguration: boolean;
  /** True when `svc.ha.serverList` names the server. */
  readonly isDeclared: boolean;
  readonly isVoter: boolean;
  /** Release and format levels that it reads; undefined while it is not known. */
  readonly release: string | undefined;
  readonly formats: {readonly from: number; readonly to: number} | undefined;
  /** Why those are not known. */
  readonly unknownReason: 'unreachable' | 'older build' | 'not identified' | undefined;
  /** Why this server does not reach it; undefined where it does, and of this server itself. */
  readonly obstacle: string | undefined;
  /** Milliseconds since anything came from it; undefined: never, and of this server itself. */
  readonly silentMs: number | undefined;
  /** What the leader knows of a follower; undefined elsewhere. */
  readonly progress: PeerProgress | undefined;
}

/** Where a peer's requests go; what people read is printed from it (base/addresses.ts). */
export interface HttpAddress {
  readonly host: string;
  readonly port: number;
}

/** Nobody is the same as nobody. */
export function isSameAddress(
  one: HttpAddress | undefined,
  other: HttpAddress | undefined,
): boolean {
  return one?.host === other?.host && one?.port === other?.port;
}

/** Undefined where it cannot be told. */
export function httpAddressOf({
  host,
  httpPort,
}: Pick<ClusterPeer, 'host' | 'httpPort'>): HttpAddress | undefined {
  return typeof httpPort === 'number' ? {host, port: httpPort} : undefined;
}

/** Who is a member besides this server. */
export function otherMembers({peers, localPeerId}: ClusterState): readonly ClusterPeer[] {
  return peers.filter(({id, inConfiguration}) => inConfiguration && id !== localPeerId);
}

export interface PeerProgress {
  readonly matchIndex: number;
  readonly nextIndex: number;
  /** Milliseconds since it was last heard; undefined: never. */
  readonly lastContactMs: number | undefined;
  /** Milliseconds for which its match index has not moved while it lags. */
  readonly laggingForMs: number;
  readonly isInstallingSnapshot: boolean;
  /** Milliseconds that it takes to answer; undefined while it never did. */
  readonly roundTrip: {readonly medianMs: number; readonly p99Ms: number} | undefined;
}

/** What came of taking copies of databases from other members, since the start. */
export interface CopiesTaken {
  /** Snapshots of the whole server that were put in place, and what the last one held. */
  readonly installs: number;
  readonly installed: readonly string[];
  readonly isInstalling: boolean;
  /** How the last attempt went, keyed by database. */
  readonly byDatabase: ReadonlyMap<string, CopyTaken>;
}

export interface BegunWith {
  /** SHA-256 over what it held, in hexadecimal digits. */
  readonly fingerprint: string;
  /** Commits that it held. */
  readonly transactions: number;
}

export interface CopyTaken {
  readonly status: 'ACQUIRING' | 'ACQUIRED' | 'LEADER_MISSING' | 'FAILED';
  /** Wall clock, milliseconds. */
  readonly at: number;
  readonly error: string | undefined;
}

/** Somebody who wanted to connect as a member, and was turned away. */
export interface TurnedAway {
  readonly remoteAddress: string;
  readonly reason: string;
  readonly times: number;
  /** Milliseconds since the last time. */
  readonly agoMs: number;
}

/** A server that asks to be taken in. */
export interface WaitingOutside {
  readonly id: string;
  readonly reason: string;
  /** Milliseconds since it asked last. */
  readonly agoMs: number;
}

export interface ClusterState {
  readonly clusterName: string;
  readonly localPeerId: string;
  readonly raftState: 'STARTING' | 'RUNNING' | 'CLOSED' | 'EXCEPTION';
  readonly isLeader: boolean;
  /** The leader has committed an entry of its own term, and applied it. */
  readonly leaderReady: boolean;
  readonly leaderId: string | undefined;
  /** This server was a member and was removed. */
  readonly wasRemoved: boolean;
  /** Index of the log at which the live configuration stands; grows with every change of it. */
  readonly configurationIndex: number;
  /** Servers that ask this leader to be taken in, and why they are not yet. */
  readonly waiting: readonly WaitingOutside[];
  readonly currentTerm: number;
  readonly electionCount: number;
  /** Wall clock, milliseconds; undefined: none seen. */
  readonly lastElectionTime: number | undefined;
  readonly uptimeMs: number;
  readonly appliedIndex: number;
  readonly commitIndex: number;
  /** What the leader reported last; undefined without a leader. */
  readonly leaderCommitIndex: number | undefined;
  readonly peers: readonly ClusterPeer[];
  /** Lately, the latest first. */
  readonly turnedAway: readonly TurnedAway[];
  /** Entries of the log that wait for a quorum, in bytes. */
  readonly uncommittedBytes: number;
  /** Why the log takes nothing more on this node. */
  readonly logFailure: string | undefined;
  /** Why its disks have no room for what would be written; undefined while they have. */
  readonly spaceObstacle: string | undefined;
  /** A checkpoint of another node is being fetched or put in place. */
  readonly isInstallingSnapshot: boolean;
  readonly copies: CopiesTaken;
  /** What databases held when the cluster began, of one that began with data. */
  readonly begunWith: ReadonlyMap<string, BegunWith>;
}

export interface AddedPeer {
  readonly id: string;
  readonly host: string;
  readonly raftPort: number;
  readonly httpPort: number | undefined;
  readonly httpsPort?: number | undefined;
  readonly name: string | undefined;
  readonly priority: number;
  /** The server asks for itself, and nobody for it. */
  readonly asksItself?: boolean;
}

export interface Cluster {
  state(): ClusterState;
  /** Leads, has applied all of before, and takes writes. Cheap: asked on every request. */
  readonly isLeader: boolean;
  /** The same as in `state`, cheap: asked on every read. */
  readonly wasRemoved: boolean;
  /**
   * Where another server takes writes; undefined while nobody leads, where it cannot be told, and
   * where this server leads itself.
   */
  leaderHttpAddress(): HttpAddress | undefined;
  /**
   * Calls `listener` after the leader changed or was lost, or `isLeader` did; the returned
   * function ends it.
   */
  onLeaderChange(listener: () => void): () => void;
  /**
   * Resolves when writes can be taken: here, or where `leaderHttpAddress` says. False when
   * `timeoutMs` went by first.
   */
  whenLeaderKnown(timeoutMs: number): Promise<boolean>;
  /**
   * While a leadership takes no writes for the moment: this server was elected and is not ready,
   * or hands over. Resolves when that has ended, whoever leads then, or `timeoutMs` went by;
   * undefined when there is nothing to wait for.
   */
  whenSettled(timeoutMs: number): Promise<void> | undefined;
  /**
   * The index from which a read is linearizable.
   *
   * @throws {Refusal} `cluster.no-quorum` after `timeoutMs`.
   */
  readIndex(timeoutMs: number): Promise<number>;
  /** False when the entry was not applied here within `timeoutMs`. */
  whenApplied(index: number, timeoutMs: number): Promise<boolean>;
  /** `svc.ha.clusterToken`, its file, or what is derived from name and root password. */
  readonly token: string;
  /** Tokens that others may come with besides, while the token changes. */
  readonly alsoAccepted?: readonly string[];
  /**
   * The changes below are made on the leader.
   *
   * @throws {Refusal} `cluster.not-leader`, `cluster.peer`, `cluster.quorum`, `cluster.no-quorum`.
   */
  addPeer(peer: AddedPeer): Promise<void>;
  removePeer(id: string, force: boolean): Promise<void>;
  /** Resolves with the new leader's id. Without `to` the fittest one is chosen. */
  transferLeadership(to: string | undefined, timeoutMs: number): Promise<string>;
  /** Has a follower throw its copy of a database away and take the leader's. */
  resync(database: string): Promise<void>;
}
