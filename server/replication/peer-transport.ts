/**
 * The way to the other members, as the driver sees it: messages that may be lost, repeated or
 * overtaken, and what is known of each connection.
 *
 * A peer is spoken to over one connection in each direction at most; who may connect, and who is
 * trusted, is decided below (handshake.ts, peer-addresses.ts). Queues are bounded in bytes, and
 * what does not fit is dropped: the core asks again.
 */
import type {NodeId} from '#server/raft/message.ts';

/** Where a member is reached. */
export interface PeerAddress {
  readonly id: NodeId;
  readonly host: string;
  readonly port: number;
}

/** What a peer says of itself when it connects. */
export interface PeerIntroduction {
  /** `svc.server.name`. */
  readonly serverName: string;
  readonly formats: {readonly from: number; readonly to: number};
  readonly release: string;
  /** Id of its log; another one under a known name is another node (note 10, Names). */
  readonly logId: string;
  /** Port of its HTTP listener, and of the one with TLS where there is one. */
  readonly httpPort: number;
  readonly httpsPort: number | undefined;
}

export interface PeerTransportNews {
  /** A whole message of a trusted peer; the bytes are the listener's. */
  message(from: NodeId, bytes: Buffer): void;
  /** A connection to the peer stands. */
  connected(peer: NodeId, introduction: PeerIntroduction): void;
  /** The connection was reset and a new one refused at once: the peer's process has ended. */
  lost(peer: NodeId): void;
  /** Somebody was turned away, with the reason; names no secret. Rate-limited per address. */
  rejected(remoteAddress: string, reason: string): void;
}

export interface PeerConnection {
  readonly id: NodeId;
  readonly isConnected: boolean;
  readonly introduction: PeerIntroduction | undefined;
  /** Monotonic time at which something was last heard of it; undefined: never. */
  readonly heardAt: number | undefined;
  readonly queuedBytes: number;
  /** Why the last attempt failed, for people. */
  readonly obstacle: string | undefined;
}

export interface PeerTransport {
  /** One listener. */
  listen(news: PeerTransportNews): void;
  /** Whom to keep connections with, this node not among them; others are let go. */
  setPeers(peers: readonly PeerAddress[]): void;
  /**
   * Queues one message, given in pieces that are not copied and change no more. False when it was
   * dropped: no connection, or the queue of the peer is full.
   */
  send(to: NodeId, pieces: readonly Uint8Array[]): boolean;
  /** Closes the connection to a peer and opens a new one. */
  reset(peer: NodeId): void;
  connections(): readonly PeerConnection[];
  close(): Promise<void>;
}
