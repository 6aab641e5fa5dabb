/** The way to the other members as the driver sees it, over the simulated network. */
import type {NodeId} from '#server/raft/message.ts';
import type {
  PeerAddress,
  PeerConnection,
  PeerTransport,
  PeerTransportNews,
} from '#server/replication/peer-transport.ts';

export class SimulatedTransport implements PeerTransport {
  news: PeerTransportNews | undefined;
  readonly #carry: (to: NodeId, bytes: Buffer) => void;
  #peers: readonly PeerAddress[] = [];

  constructor(carry: (to: NodeId, bytes: Buffer) => void) {
    this.#carry = carry;
  }

  listen(news: PeerTransportNews): void {
    this.news = news;
  }

  setPeers(peers: readonly PeerAddress[]): void {
    this.#peers = peers;
  }

  send(to: NodeId, pieces: readonly Uint8Array[]): boolean {
    this.#carry(to, Buffer.concat(pieces));
    return true;
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
    return Promise.resolve();
  }
}
