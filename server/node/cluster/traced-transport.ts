/**
 * The way to the other members with every message in the log: `svc.ha.logVerbose` 3, for a person
 * who has to see which ones arrive.
 */
import type {Logger} from '#server/platform/logger.ts';
import type {NodeId} from '#server/raft/message.ts';
import {decodeMessage} from '#server/raft/message-encoding.ts';
import type {
  PeerAddress,
  PeerConnection,
  PeerTransport,
  PeerTransportNews,
} from '#server/replication/peer-transport.ts';

export class TracedTransport implements PeerTransport {
  readonly #transport: PeerTransport;
  readonly #logger: Logger;
  readonly #isOn: () => boolean;

  constructor(transport: PeerTransport, logger: Logger, isOn: () => boolean) {
    this.#transport = transport;
    this.#logger = logger;
    this.#isOn = isOn;
  }

  listen(news: PeerTransportNews): void {
    this.#transport.listen({
      message: (from, bytes) => {
        if (this.#isOn()) this.#tell('peer.received', {from, bytes: bytes.length}, bytes);
        news.message(from, bytes);
      },
      connected: (peer, introduction) => news.connected(peer, introduction),
      lost: peer => news.lost(peer),
      rejected: (remoteAddress, reason) => news.rejected(remoteAddress, reason),
    });
  }

  send(to: NodeId, pieces: readonly Uint8Array[]): boolean {
    const isTaken = this.#transport.send(to, pieces);
    if (this.#isOn()) {
      const bytes = Buffer.concat(pieces);
      this.#tell('peer.sent', {to, bytes: bytes.length, isTaken}, bytes);
    }
    return isTaken;
  }

  setPeers(peers: readonly PeerAddress[]): void {
    this.#transport.setPeers(peers);
  }

  reset(peer: NodeId): void {
    this.#transport.reset(peer);
  }

  connections(): readonly PeerConnection[] {
    return this.#transport.connections();
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  #tell(event: string, fields: Readonly<Record<string, unknown>>, bytes: Uint8Array): void {
    this.#logger.log('info', event, {...fields, ...summaryOf(bytes)});
  }
}

function summaryOf(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const message = decodeMessage(bytes);
    const {kind} = message;
    return message.kind === 'append' ? {kind, entries: message.entries.length} : {kind};
  } catch {
    return {kind: 'unreadable'};
  }
}
