/** A node of a cluster as far as its connections go: on real sockets, with what it was told. */
import {once} from 'node:events';
import {type AddressInfo, connect, createServer, type Server, type Socket} from 'node:net';
import {assert} from '#server/base/assert.ts';
import {createClock, createRandom, createTimers} from '#server/platform/real/clock.ts';
import {type Frame, type FrameKind, FrameReader, FrameWriter} from './frame.ts';
import {Handshake} from './handshake.ts';
import {type ChannelListener, PeerChannel} from './peer-channel.ts';
import {plainSockets} from './socket-security.ts';
import {PeerLinks, type PeerLinksOptions} from './peer-links.ts';
import type {PeerAddress, PeerIntroduction} from '../peer-transport.ts';

export const loopback = '127.0.0.1';

export class LinkedNode {
  readonly id: string;
  readonly links: PeerLinks;
  /** Everything it was told or logged, a line each. */
  readonly told: string[] = [];
  port = 0;
  readonly #waiting = new Set<() => void>();

  constructor(id: string, options: Partial<PeerLinksOptions> = {}) {
    this.id = id;
    this.links = new PeerLinks({
      clock: createClock(),
      timers: createTimers(),
      random: createRandom(),
      logger: {
        log: (level, event, fields) => this.#tell(`${level} ${event} ${JSON.stringify(fields)}`),
      },
      lookUp: async host => [host],
      security: plainSockets,
      cluster: 'c',
      id,
      introduce: () => introductionOf(id),
      token: 'secret',
      judge: () => undefined,
      allowList: undefined,
      messageBytesMax: 2 ** 27,
      queueBytesMax: 2 ** 25,
      ...options,
    });
    this.links.listen({
      message: (from, bytes) => this.#tell(`${from} says ${bytes.toString('utf8', 0, 40)}`),
      connected: peer => this.#tell(`connected ${peer}`),
      lost: peer => this.#tell(`lost ${peer}`),
      rejected: (_, reason) => this.#tell(`rejected: ${reason}`),
    });
  }

  async start(): Promise<this> {
    this.port = await this.links.listenOn(loopback, 0);
    return this;
  }

  get address(): PeerAddress {
    return {id: this.id, host: loopback, port: this.port};
  }

  say(to: LinkedNode, text: string): boolean {
    return this.links.send(to.id, [Buffer.from(text.slice(0, 2)), Buffer.from(text.slice(2))]);
  }

  /** Resolves once it was told so, so many times. */
  async hears(line: string | RegExp, times = 1): Promise<void> {
    while (this.#count(line) < times) {
      await new Promise<void>(resolve => this.#waiting.add(resolve));
    }
  }

  #count(line: string | RegExp): number {
    const isMeant = (told: string): boolean =>
      typeof line === 'string' ? told === line : line.test(told);
    return this.told.filter(isMeant).length;
  }

  #tell(line: string): void {
    this.told.push(line);
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resume of waiting) resume();
  }
}

export function introductionOf(
  id: string,
  changed: Partial<PeerIntroduction> = {},
): PeerIntroduction {
  return {
    serverName: id,
    formats: {from: 1, to: 1},
    release: '26.11.1',
    logId: `log of ${id}`,
    httpPort: 2480,
    httpsPort: undefined,
    ...changed,
  };
}

/** A connection to a node by somebody who may do anything with it. */
export class RawConnection {
  readonly #socket: Socket;
  readonly #reader = new FrameReader(2 ** 27);
  readonly #handshake: Handshake;
  readonly writer = new FrameWriter();
  readonly isClosed: Promise<void>;

  private constructor(socket: Socket, id: string) {
    this.#socket = socket;
    this.#handshake = new Handshake({
      side: 'dialler',
      own: {cluster: 'c', from: id, to: '', introduction: introductionOf(id)},
      token: 'secret',
      random: createRandom(),
    });
    socket.on('error', () => undefined);
    socket.on('data', (bytes: Buffer) => this.#reader.feed(bytes));
    this.isClosed = new Promise(resolve => socket.once('close', () => resolve()));
  }

  /** @param localAddress - The address that it comes from. */
  static async open(port: number, id = 'x_1', localAddress = loopback): Promise<RawConnection> {
    const socket = connect({port, host: loopback, localAddress});
    await once(socket, 'connect');
    return new RawConnection(socket, id);
  }

  /** Becomes a peer like any other. */
  async introduce(): Promise<this> {
    this.write(this.framed('hello', this.#handshake.hello));
    const rejection = this.#handshake.hear((await this.next()).payload);
    assert(rejection === undefined, 'the hello is taken');
    this.write(this.framed('proof', this.#handshake.proof()));
    const trust = this.#handshake.conclude((await this.next()).payload);
    assert('seeds' in trust, 'the proof is taken');
    this.writer.reseed(trust.seeds.dialler);
    this.#reader.trust(trust.seeds.listener, 2 ** 27);
    return this;
  }

  framed(kind: FrameKind, payload: Uint8Array): Buffer {
    return Buffer.concat(this.writer.frame(kind, [payload]));
  }

  write(bytes: Uint8Array): void {
    this.#socket.write(bytes);
  }

  /** The next frame that comes. */
  async next(): Promise<Frame> {
    for (;;) {
      const frame = this.#reader.next();
      if (frame !== undefined) {
        assert('kind' in frame, 'the node sends whole frames');
        return frame;
      }
      await once(this.#socket, 'data');
    }
  }

  close(): void {
    this.#socket.destroy();
  }
}

/** A peer that lets itself be dialled and reads nothing behind the handshake. */
export class SilentPeer {
  readonly address: PeerAddress;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server, address: PeerAddress) {
    this.#server = server;
    this.address = address;
  }

  static async open(id: string): Promise<SilentPeer> {
    const server = createServer();
    server.listen(0, loopback);
    await once(server, 'listening');
    const {port} = server.address() as AddressInfo;
    const peer = new SilentPeer(server, {id, host: loopback, port});
    server.on('connection', socket => peer.#greet(socket, id));
    return peer;
  }

  /** Ends its connections; new ones are taken. */
  drop(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    this.#server.close();
    this.drop();
  }

  #greet(socket: Socket, id: string): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    speakAs(id, socket, {
      judge: () => undefined,
      trusted: () => void socket.pause(),
      message: () => undefined,
      heard: () => undefined,
      ended: () => undefined,
    });
  }
}

/** What speaks over a connection that somebody opened to a node of this name. */
export function speakAs(id: string, socket: Socket, listener: ChannelListener): PeerChannel {
  return new PeerChannel(
    socket,
    {
      side: 'listener',
      own: {cluster: 'c', from: id, to: '', introduction: introductionOf(id)},
      token: 'secret',
      random: createRandom(),
      timers: createTimers(),
      handshakeMs: 5_000,
      messageBytesMax: 2 ** 20,
      queueBytesMax: 2 ** 20,
    },
    listener,
  );
}
