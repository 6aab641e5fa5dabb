/**
 * The connections that peers opened to us: who is let in, and what they say.
 *
 * A connection is a stranger's until its handshake is done. Strangers are few at any time: the one
 * that has kept silent for longest makes room for the next, so that a flood of them keeps no peer
 * out, whose handshake takes milliseconds. Of one peer there is one connection, the newest.
 */
import type {Socket} from 'node:net';
import {plainAddress} from '#server/base/addresses.ts';
import type {Clock, Timers} from '#server/platform/clock.ts';
import type {NodeId} from '#server/raft/message.ts';
import type {Hello} from './handshake.ts';
import type {PeerAddresses} from '../peer-addresses.ts';
import type {ChannelListener, Ending, PeerChannel} from './peer-channel.ts';
import type {PeerPort, SocketSecurity} from './socket-security.ts';

export interface IncomingLinksListener {
  judge(peer: Hello): string | undefined;
  connected(peer: Hello): void;
  message(from: NodeId, bytes: Buffer): void;
  heard(from: NodeId): void;
  /** The connection of a peer broke on the way, or its process ended. */
  broken(from: NodeId): void;
  rejected(remoteAddress: string, reason: string): void;
}

export interface IncomingLinksOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly security: SocketSecurity;
  /** Undefined lets every address in as far as the handshake. */
  readonly addresses: Pick<PeerAddresses, 'admit'> | undefined;
  readonly handshakeMs: number;
  readonly speak: (socket: Socket, listener: ChannelListener) => PeerChannel;
}

const strangersMax = 64;
const idleMsMax = 300_000;

interface Incoming {
  readonly channel: PeerChannel;
  heardAt: number;
}

export class IncomingLinks {
  readonly #options: IncomingLinksOptions;
  readonly #listener: IncomingLinksListener;
  readonly #port: PeerPort;
  /** The strangers and their addresses, in the order in which they came. */
  readonly #strangers = new Map<Socket, string>();
  readonly #links = new Map<NodeId, Incoming>();

  constructor(options: IncomingLinksOptions, listener: IncomingLinksListener) {
    this.#options = options;
    this.#listener = listener;
    this.#port = options.security.serve(socket => this.#arrived(socket));
  }

  /** Resolves with the port. @throws {Error} Of the system, when it cannot be had. */
  listenOn(host: string | undefined, port: number): Promise<number> {
    return this.#port.listenOn(host, port);
  }

  /** Lets go of a peer's connection; it may come again, and be judged again. */
  end(peer: NodeId, reason: string): void {
    this.#links.get(peer)?.channel.reject(reason);
  }

  /** Ends connections over which nothing came for long. */
  endIdle(): void {
    const now = this.#options.clock.monotonic();
    for (const {channel, heardAt} of this.#links.values()) {
      if (now - heardAt >= idleMsMax) channel.reject(`nothing came for ${idleMsMax} ms`);
    }
  }

  close(): Promise<void> {
    const closed = this.#port.close();
    for (const socket of this.#strangers.keys()) socket.destroy();
    for (const {channel} of this.#links.values()) channel.close();
    this.#links.clear();
    return closed;
  }

  #arrived(socket: Socket): void {
    const address = plainAddress(socket.remoteAddress ?? 'nowhere');
    if (this.#strangers.size >= strangersMax) this.#makeRoom();
    this.#strangers.set(socket, address);
    socket.once('close', () => this.#strangers.delete(socket));
    // Until somebody speaks over it, how it fails is nobody's business.
    socket.on('error', () => undefined);
    this.#admit(socket, address).catch((error: unknown) => {
      socket.destroy();
      this.#listener.rejected(address, String(error));
    });
  }

  /** The oldest stranger of the address that most of them come from has to go. */
  #makeRoom(): void {
    const counts = new Map<string, number>();
    for (const address of this.#strangers.values()) {
      counts.set(address, (counts.get(address) ?? 0) + 1);
    }
    const most = Math.max(...counts.values());
    for (const [socket, address] of this.#strangers) {
      if (counts.get(address) !== most) continue;
      this.#strangers.delete(socket);
      socket.destroy();
      return;
    }
  }

  async #admit(socket: Socket, address: string): Promise<void> {
    const {addresses, handshakeMs, security} = this.#options;
    const admission = (await addresses?.admit(address)) ?? 'allowed';
    if (socket.destroyed) return;
    if (admission !== 'refused') {
      security.receive(socket, handshakeMs, (received, objection) => {
        this.#speak({socket, received, address, objection});
      });
      return;
    }
    const settings = 'svc.ha.serverList, svc.ha.peerAllowlist.enabled';
    const objection = `${address} is no address of a peer (${settings})`;
    // With TLS no words can be said before a handshake, and none is worth its cost.
    const received = security.isClear ? socket : undefined;
    if (received === undefined) socket.destroy();
    this.#speak({socket, received, address, objection});
  }

  #speak(arrival: {
    readonly socket: Socket;
    readonly received: Socket | undefined;
    readonly address: string;
    readonly objection: string | undefined;
  }): void {
    const {socket, received, address, objection} = arrival;
    if (received === undefined) {
      if (objection !== undefined) this.#listener.rejected(address, objection);
      return;
    }
    let link: {readonly id: NodeId; readonly incoming: Incoming} | undefined;
    const channel = this.#options.speak(received, {
      judge: peer => this.#listener.judge(peer),
      trusted: peer => {
        this.#strangers.delete(socket);
        const incoming = {channel, heardAt: this.#options.clock.monotonic()};
        link = {id: peer.from, incoming};
        this.#links.get(peer.from)?.channel.close();
        this.#links.set(peer.from, incoming);
        this.#listener.connected(peer);
      },
      message: bytes => {
        if (link !== undefined) this.#listener.message(link.id, bytes);
      },
      heard: () => {
        if (link === undefined) return;
        link.incoming.heardAt = this.#options.clock.monotonic();
        this.#listener.heard(link.id);
      },
      ended: ending => this.#ended(ending, address, link?.id),
    });
    if (objection !== undefined) channel.reject(objection);
  }

  #ended({by, detail}: Ending, address: string, peer: NodeId | undefined): void {
    if (by === 'rejected') this.#listener.rejected(address, detail);
    if (peer === undefined) return;
    this.#links.delete(peer);
    if (by === 'broken') this.#listener.broken(peer);
  }
}
