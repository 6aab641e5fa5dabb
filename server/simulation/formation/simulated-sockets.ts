/**
 * TCP between simulated machines: ports that may be taken, connections that are refused, lost or
 * ended, bytes in order and late. As much of a socket as a channel between peers uses.
 */
import {EventEmitter} from 'node:events';
import type {Socket} from 'node:net';
import type {PeerPort, SocketSecurity} from '#server/replication/links/socket-security.ts';
import type {Scheduler} from '../scheduler.ts';
import type {SeededRandom} from '../seeded-random.ts';

const delayMs = 3;
const dialTimeoutMs = 4_000;

/** The network of all machines; each has one address. */
export class SimulatedSockets {
  readonly #scheduler: Scheduler;
  readonly #random: SeededRandom;
  readonly #machines = new Map<string, SimulatedHost>();

  constructor(scheduler: Scheduler, random: SeededRandom) {
    this.#scheduler = scheduler;
    this.#random = random;
  }

  /** The sockets of a process that begins at `address`. */
  host(address: string): SimulatedHost {
    const host = new SimulatedHost(this, address);
    this.#machines.set(address, host);
    return host;
  }

  later(work: () => void, waitMs = 0.2 + this.#random.below(delayMs * 1_000) / 1_000): void {
    this.#scheduler.after(waitMs, 'socket', work);
  }

  get nowMs(): number {
    return this.#scheduler.nowMs;
  }

  /** Undefined: there is no such machine, or nothing runs on it. */
  at(address: string): SimulatedHost | undefined {
    return this.#machines.get(address);
  }
}

/** The sockets of one process; when it ends the others hear so. */
export class SimulatedHost implements SocketSecurity {
  readonly isClear = true;
  readonly address: string;
  readonly #sockets: SimulatedSockets;
  readonly #ports = new Map<number, (socket: Socket) => void>();
  readonly #open = new Set<SimulatedSocket>();
  hasEnded = false;

  constructor(sockets: SimulatedSockets, address: string) {
    this.#sockets = sockets;
    this.address = address;
  }

  serve(arrived: (socket: Socket) => void): PeerPort {
    let taken: number | undefined;
    return {
      listenOn: async (_, port) => {
        if (this.#ports.has(port)) throw new Error(`EADDRINUSE: ${this.address}:${port}`);
        this.#ports.set(port, arrived);
        taken = port;
        return port;
      },
      close: async () => {
        if (taken !== undefined) this.#ports.delete(taken);
      },
    };
  }

  dial({address, port}: Parameters<SocketSecurity['dial']>[0]): Socket {
    const own = new SimulatedSocket(this.#sockets, address);
    this.#keep(own);
    const host = this.#sockets.at(address);
    // Where no machine is nobody says no.
    if (host === undefined) this.#sockets.later(() => own.fail('ETIMEDOUT'), dialTimeoutMs);
    else this.#sockets.later(() => this.#arrive(own, host, port));
    return own as unknown as Socket;
  }

  receive(...[socket, , done]: Parameters<SocketSecurity['receive']>): void {
    done(socket, undefined);
  }

  close(): void {}

  /** The process ends, whatever it was about. */
  end(): void {
    this.hasEnded = true;
    this.#ports.clear();
    for (const socket of this.#open) socket.destroy();
  }

  #arrive(own: SimulatedSocket, host: SimulatedHost, port: number): void {
    const arrived = host.#ports.get(port);
    if (own.destroyed) return;
    if (arrived === undefined) return own.fail('ECONNREFUSED');
    const theirs = new SimulatedSocket(this.#sockets, this.address);
    host.#keep(theirs);
    own.joins(theirs);
    arrived(theirs as unknown as Socket);
  }

  #keep(socket: SimulatedSocket): void {
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
  }
}

class SimulatedSocket extends EventEmitter {
  readonly remoteAddress: string;
  connecting = true;
  destroyed = false;
  readonly #sockets: SimulatedSockets;
  #peer: SimulatedSocket | undefined;
  #waiting: Uint8Array[] = [];
  #isCorked = false;
  /** When the last bytes that were sent arrive. */
  #arrival = 0;

  constructor(sockets: SimulatedSockets, remoteAddress: string) {
    super();
    this.#sockets = sockets;
    this.remoteAddress = remoteAddress;
  }

  get writableLength(): number {
    return this.#waiting.reduce((sum, {length}) => sum + length, 0);
  }

  joins(peer: SimulatedSocket): void {
    this.#peer = peer;
    peer.#peer = this;
    this.connecting = false;
    peer.connecting = false;
    if (!this.#isCorked) this.#flush();
  }

  setNoDelay(): void {}

  setKeepAlive(): void {}

  cork(): void {
    this.#isCorked = true;
  }

  uncork(): void {
    this.#isCorked = false;
    this.#flush();
  }

  write(piece: Uint8Array): boolean {
    if (this.destroyed) return false;
    this.#waiting.push(Buffer.from(piece));
    if (!this.#isCorked) this.#flush();
    return true;
  }

  destroySoon(): void {
    this.#flush();
    this.destroy();
  }

  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    const peer = this.#peer;
    this.#inOrder(() => {
      if (peer?.destroyed === false) peer.emit('end');
    });
    this.#sockets.later(() => this.emit('close'));
  }

  fail(code: 'ECONNREFUSED' | 'ETIMEDOUT'): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.emit('error', Object.assign(new Error(`connect ${code}`), {code}));
    this.emit('close');
  }

  #flush(): void {
    const peer = this.#peer;
    if (peer === undefined || this.#waiting.length === 0) return;
    const bytes = Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#inOrder(() => {
      if (!peer.destroyed) peer.emit('data', bytes);
    });
  }

  #inOrder(work: () => void): void {
    const {nowMs} = this.#sockets;
    // Never at one moment: chance orders what is.
    this.#arrival = Math.max(this.#arrival + 0.01, nowMs + 0.5);
    this.#sockets.later(work, this.#arrival - nowMs);
  }
}
