/**
 * The connection that we keep with one peer: dialled again whenever it ends, at first at once, then
 * after growing pauses.
 *
 * A connection that breaks is the first sign that the peer's process has ended; that its port then
 * refuses is the proof, and it is told within milliseconds (`lost`). A port may still answer for a
 * moment while the process is being taken apart, so a reset dial is repeated a few times. Silence,
 * a timeout or an unreachable host prove nothing and are never `lost`.
 */
import {isIP, type Socket} from 'node:net';
import {jitteredDelayMs} from '#server/base/retry-delay.ts';
import type {Random, Timers} from '#server/platform/clock.ts';
import type {Hello} from './handshake.ts';
import type {PeerAddress} from '../peer-transport.ts';
import type {ChannelListener, Ending, PeerChannel} from './peer-channel.ts';
import type {HostAddresses} from './host-addresses.ts';
import type {SocketSecurity} from './socket-security.ts';

export interface OutgoingLinkListener {
  judge(peer: Hello): string | undefined;
  connected(peer: Hello): void;
  heard(): void;
  /** The peer's process has ended. */
  lost(): void;
  /** Something stands in the way; called for each attempt that failed. */
  obstructed(obstacle: string): void;
}

export interface OutgoingLinkOptions {
  readonly peer: PeerAddress;
  readonly random: Random;
  readonly timers: Timers;
  readonly hosts: HostAddresses;
  readonly security: SocketSecurity;
  /** Makes what speaks over a socket that was dialled. */
  readonly speak: (socket: Socket, listener: ChannelListener) => PeerChannel;
}

const dialDelays = {firstMs: 5, mostMs: 1_000} as const;
/** Pauses after which a reset dial is repeated when a connection broke, the last one first. */
const suspiciousPausesMs = [32, 16, 8, 4, 2] as const;

export class OutgoingLink {
  readonly #options: OutgoingLinkOptions;
  readonly #listener: OutgoingLinkListener;
  #channel: PeerChannel | undefined;
  #cancelRetry: (() => void) | undefined;
  /** Grows with every dial, so that a look-up that comes late is known as such. */
  #dials = 0;
  #failures = 0;
  /** Where the peer was last reached, or is being dialled. */
  #address: string | undefined;
  /** More than none while a refusal would prove the end of the peer. */
  #suspiciousDials = 0;
  /** Whether the other side of the present connection was trusted. */
  #hasStood = false;
  #isClosed = false;

  constructor(options: OutgoingLinkOptions, listener: OutgoingLinkListener) {
    this.#options = options;
    this.#listener = listener;
    this.#dial();
  }

  get isConnected(): boolean {
    return this.#channel?.isTrusted === true;
  }

  get queuedBytes(): number {
    return this.#channel?.queuedBytes ?? 0;
  }

  send(pieces: readonly Uint8Array[]): boolean {
    return this.#channel?.send(pieces) ?? false;
  }

  ping(): void {
    this.#channel?.ping();
  }

  /** The peer was just heard elsewhere: there is no reason to wait any longer. */
  hurry(): void {
    this.#failures = 0;
    if (this.#channel === undefined) this.#dial();
  }

  /** A connection of the peer with us broke: perhaps its process has ended. */
  suspect(): void {
    if (this.isConnected) return;
    this.#suspiciousDials = suspiciousPausesMs.length;
    if (this.#channel === undefined) this.#dial();
  }

  /** Gives the connection up, and everything that was believed about the address. */
  reset(): void {
    this.#channel?.close();
    this.#channel = undefined;
    this.#hasStood = false;
    this.#options.hosts.forget(this.#options.peer.host);
    this.#suspiciousDials = 0;
    this.#failures = 0;
    this.#dial();
  }

  close(): void {
    this.#isClosed = true;
    this.#dials++;
    this.#cancelRetry?.();
    this.#channel?.close();
    this.#channel = undefined;
  }

  #dial(): void {
    if (this.#isClosed) return;
    this.#cancelRetry?.();
    const dial = ++this.#dials;
    const {host} = this.#options.peer;
    if (isIP(host) !== 0) return this.#connect(host);
    // A look-up would cost the time that this is about.
    if (this.#suspiciousDials > 0 && this.#address !== undefined) {
      return this.#connect(this.#address);
    }
    this.#options.hosts.resolve(host).then(
      addresses => {
        if (dial === this.#dials) this.#connect(addresses[this.#failures % addresses.length] ?? '');
      },
      (error: unknown) => {
        if (dial === this.#dials) this.#failed(`cannot resolve ${host}: ${String(error)}`);
      },
    );
  }

  #connect(address: string): void {
    const {peer, security, speak} = this.#options;
    this.#address = address;
    const socket = security.dial({host: peer.host, address, port: peer.port});
    const channel = speak(socket, {
      judge: hello => this.#listener.judge(hello),
      trusted: hello => this.#connected(hello),
      // It speaks to us over its own connection.
      message: () => channel.reject('messages come over the connection of who sends them'),
      heard: () => this.#listener.heard(),
      ended: ending => {
        if (this.#channel === channel) this.#ended(ending);
      },
    });
    this.#channel = channel;
  }

  #connected(hello: Hello): void {
    this.#failures = 0;
    this.#suspiciousDials = 0;
    this.#hasStood = true;
    this.#listener.connected(hello);
  }

  #ended({by, detail, code}: Ending): void {
    this.#channel = undefined;
    const stood = this.#hasStood;
    this.#hasStood = false;
    if (stood && by === 'broken') {
      this.#listener.obstructed(detail);
      this.#suspiciousDials = suspiciousPausesMs.length;
      return this.#dial();
    }
    const isSuspicious = this.#suspiciousDials > 0;
    if (isSuspicious && by === 'broken' && code !== 'ECONNREFUSED' && isReset(code)) {
      this.#suspiciousDials--;
      this.#retryAfter(suspiciousPausesMs[this.#suspiciousDials] ?? 0);
      return;
    }
    this.#suspiciousDials = 0;
    this.#failed(detail);
    if (isSuspicious && code === 'ECONNREFUSED') this.#listener.lost();
  }

  #failed(obstacle: string): void {
    this.#listener.obstructed(obstacle);
    const {random} = this.#options;
    this.#retryAfter(jitteredDelayMs(dialDelays, this.#failures++, {jitter: 'around', random}));
    this.#options.hosts.forget(this.#options.peer.host);
  }

  #retryAfter(pauseMs: number): void {
    if (this.#isClosed) return;
    this.#cancelRetry = this.#options.timers.after(pauseMs, () => this.#dial());
  }
}

/** The other side was there, and is gone. */
function isReset(code: string | undefined): boolean {
  return code === undefined || code === 'ECONNRESET' || code === 'EPIPE';
}
