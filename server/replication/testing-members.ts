/**
 * What tests of replication run on instead of disks and sockets: a log in memory whose writes
 * become durable when the test's timers say so, and a network in memory that can be cut.
 */
import type {Persist} from '#server/raft/effect.ts';
import type {Checkpoint, Membership} from '#server/raft/membership.ts';
import type {Entry, LogIndex, LogPosition, NodeId} from '#server/raft/message.ts';
import type {Timers} from '#server/platform/clock.ts';
import type {
  PeerAddress,
  PeerConnection,
  PeerTransport,
  PeerTransportNews,
} from './peer-transport.ts';
import type {RaftStorage, RaftStorageNews} from './storage/raft-storage.ts';
import type {RecoveredLog} from './stored-log.ts';

/** What a node's disk holds; the storages over it come and go. */
export class MemoryLog {
  readonly logId = '0123456789abcdef0123456789abcdef';
  term = 0;
  vote: NodeId | undefined;
  base: LogPosition = {index: 0, term: 0};
  membership: Membership;
  entries: Entry[] = [];
  /** Nothing becomes durable meanwhile. */
  isHeld = false;

  constructor(membership: Membership) {
    this.membership = membership;
  }

  get recovered(): RecoveredLog {
    const {term, vote, base, membership, entries} = this;
    return {term, vote, base, membership, entries: [...entries]};
  }

  write({hardState, restart, keepThrough, entries}: Persist): void {
    this.term = hardState.term;
    this.vote = hardState.vote;
    if (restart !== undefined) {
      this.base = restart.last;
      this.membership = restart.membership;
      this.entries = [];
    }
    this.entries.length = keepThrough - this.base.index;
    this.entries.push(...entries);
  }
}

export class MemoryRaftStorage implements RaftStorage {
  readonly retainedBytes = 0;
  readonly #log: MemoryLog;
  readonly #timers: Timers;
  readonly #delayMs: number;
  readonly #waiting: Persist[] = [];
  #news: RaftStorageNews | undefined;
  #isClosed = false;

  constructor(log: MemoryLog, timers: Timers, delayMs = 1) {
    this.#log = log;
    this.#timers = timers;
    this.#delayMs = delayMs;
  }

  get pendingBytes(): number {
    return this.#waiting.length;
  }

  listen(news: RaftStorageNews): void {
    this.#news = news;
  }

  persist(effect: Persist): void {
    this.#waiting.push(effect);
    if (this.#waiting.length === 1) this.#writeLater();
  }

  read(first: LogIndex, through: LogIndex): Promise<Entry[] | undefined> {
    const {base, entries} = this.#log;
    const found = entries.slice(first - base.index - 1, through - base.index);
    return Promise.resolve(first <= base.index || found.length === 0 ? undefined : found);
  }

  compact({last, membership}: Checkpoint): void {
    this.#log.entries = this.#log.entries.slice(last.index - this.#log.base.index);
    this.#log.base = last;
    this.#log.membership = membership;
  }

  /** The process ends: what is not durable is lost. */
  crash(): void {
    this.#isClosed = true;
  }

  close(): Promise<void> {
    for (const effect of this.#waiting.splice(0)) this.#log.write(effect);
    this.#isClosed = true;
    return Promise.resolve();
  }

  #writeLater(): void {
    this.#timers.after(this.#delayMs, () => {
      if (this.#isClosed) return;
      if (this.#log.isHeld) return this.#writeLater();
      const written = this.#waiting.splice(0);
      for (const effect of written) this.#log.write(effect);
      const last = written.at(-1);
      if (last !== undefined) this.#news?.persisted(last.number);
    });
  }
}

/** Carries messages between nodes of one process, later and in order. */
export class MemoryNetwork {
  readonly #timers: Timers;
  readonly #delayMs: number;
  readonly #nodes = new Map<NodeId, MemoryTransport>();
  readonly #cut = new Set<NodeId>();

  constructor(timers: Timers, delayMs = 1) {
    this.#timers = timers;
    this.#delayMs = delayMs;
  }

  join(id: NodeId): MemoryTransport {
    const transport = new MemoryTransport({
      carry: (to, bytes) => this.carry(id, to, bytes),
      left: () => this.leave(id),
    });
    this.#nodes.set(id, transport);
    return transport;
  }

  /** Nothing reaches the node or comes from it. */
  cut(id: NodeId): void {
    this.#cut.add(id);
  }

  heal(): void {
    this.#cut.clear();
  }

  /** The node's process ended: the others hear that it refuses connections. */
  leave(id: NodeId): void {
    const gone = this.#nodes.get(id);
    this.#nodes.delete(id);
    for (const node of this.#nodes.values()) {
      if (gone !== undefined && node.knows(id)) {
        this.#timers.after(this.#delayMs, () => node.news?.lost(id));
      }
    }
  }

  carry(from: NodeId, to: NodeId, bytes: Buffer): boolean {
    if (this.#cut.has(from) || this.#cut.has(to) || !this.#nodes.has(to)) return false;
    this.#timers.after(this.#delayMs, () => {
      if (!this.#cut.has(to)) this.#nodes.get(to)?.news?.message(from, bytes);
    });
    return true;
  }
}

export interface MemoryTransportOptions {
  /** Answers false for what is dropped at once. */
  readonly carry: (to: NodeId, bytes: Buffer) => boolean;
  readonly left: () => void;
}

/** One node's way to the others, over whatever carries the bytes. */
export class MemoryTransport implements PeerTransport {
  news: PeerTransportNews | undefined;
  readonly #options: MemoryTransportOptions;
  #peers: readonly PeerAddress[] = [];

  constructor(options: MemoryTransportOptions) {
    this.#options = options;
  }

  knows(id: NodeId): boolean {
    return this.#peers.some(peer => peer.id === id);
  }

  listen(news: PeerTransportNews): void {
    this.news = news;
  }

  setPeers(peers: readonly PeerAddress[]): void {
    this.#peers = peers;
  }

  send(to: NodeId, pieces: readonly Uint8Array[]): boolean {
    return this.#options.carry(to, Buffer.concat(pieces));
  }

  reset(): void {}

  connections(): readonly PeerConnection[] {
    return this.#peers.map(({id}) => ({
      id,
      isConnected: true,
      introduction: undefined,
      heardAt: undefined,
      queuedBytes: 0,
      obstacle: undefined,
    }));
  }

  close(): Promise<void> {
    this.#options.left();
    return Promise.resolve();
  }
}
