/**
 * The way between peers over TCP: to each of them one connection that we dial and that carries our
 * messages, and one that it dials and that carries its own.
 *
 * Two connections of one direction each need no rule for who dials, and each side learns from a
 * connection of its own that the other has ended. Every peer is pinged: what is silent for some
 * seconds on both is dialled anew, since after a partition the system would wait for minutes.
 * Queues are bounded in bytes for each peer; a slow one costs no other anything.
 *
 * Source: docs/design/0018-connections-between-peers.md; docs/cluster-connections.md.
 */
import type {Socket} from 'node:net';
import {assert} from '#server/base/assert.ts';
import {reasonOf, Refusal} from '#server/base/errors.ts';
import type {Clock, Random, Timers} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {NodeId} from '#server/raft/message.ts';
import type {Hello, Side} from './handshake.ts';
import {HostAddresses, type HostLookUp} from './host-addresses.ts';
import {IncomingLinks} from './incoming-links.ts';
import {OutgoingLink} from './outgoing-link.ts';
import {type ChannelListener, PeerChannel} from './peer-channel.ts';
import {QuietPeriod} from './quiet-period.ts';
import {type RoundTripFigures, RoundTrips} from './round-trips.ts';
import {RecentRejections, type Rejected} from './recent-rejections.ts';
import type {SocketSecurity} from './socket-security.ts';
import {PeerAddresses} from '../peer-addresses.ts';
import type {
  PeerAddress,
  PeerConnection,
  PeerIntroduction,
  PeerTransport,
  PeerTransportNews,
} from '../peer-transport.ts';

export interface PeerLinksOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly logger: Logger;
  readonly lookUp: HostLookUp;
  readonly security: SocketSecurity;
  /** `svc.ha.clusterName`. */
  readonly cluster: string;
  /** This node in the group. */
  readonly id: NodeId;
  /** What it says of itself; asked for each connection. */
  readonly introduce: () => PeerIntroduction;
  /** The cluster's token. */
  readonly token: string;
  /** Tokens that those who dial may come with besides. */
  readonly alsoAccepted?: readonly string[];
  /**
   * Why a peer that knows the token is not taken all the same, such as one that comes back with
   * another log, or was removed; undefined to take it.
   */
  readonly judge: (peer: NodeId, introduction: PeerIntroduction) => string | undefined;
  /** Undefined lets every address come as far as the handshake. */
  readonly allowList: AllowListOptions | undefined;
  /** `svc.ha.grpcMessageSizeMax`. */
  readonly messageBytesMax: number;
  /** `svc.ha.writeBufferSize`, for each peer. */
  readonly queueBytesMax: number;
}

export interface AllowListOptions {
  readonly refreshMs: number;
  readonly stickyMs: number;
  readonly graceMs: number;
  /** Names whose addresses are allowed besides those of the peers. */
  readonly alsoHosts: readonly string[];
}

export interface PeerLinkFigures extends PeerConnection {
  /** Messages that were not taken. */
  readonly dropped: number;
}

const handshakeMs = 5_000;
const pingMs = 1_000;
/**
 * A peer of which nothing is heard at all, and a connection over which nothing comes back. Behind a
 * cut of one direction the system would send again only after as long as the cut has lasted.
 */
const silenceMs = 5_000;
const unansweredMs = 10_000;
const quietMs = 60_000;
/** A stranger chooses the words of which he is turned away, and could fill the log with them. */
const rejectionsToldMax = 100;

interface Peer {
  readonly address: PeerAddress;
  readonly link: OutgoingLink;
  heardAt: number | undefined;
  /** When something last came back over our own connection. */
  answeredAt: number;
  readonly roundTrips: RoundTrips;
  obstacle: string | undefined;
  dropped: number;
}

export class PeerLinks implements PeerTransport {
  readonly #options: PeerLinksOptions;
  readonly #hosts: HostAddresses;
  readonly #addresses: PeerAddresses | undefined;
  readonly #incoming: IncomingLinks;
  readonly #quiet: QuietPeriod;
  readonly #quietOfStrangers: QuietPeriod;
  readonly #rejections: RecentRejections;
  readonly #peers = new Map<NodeId, Peer>();
  #introductions: ReadonlyMap<NodeId, PeerIntroduction> = new Map();
  #news: PeerTransportNews | undefined;
  #lookedAt: number;
  #cancelLook: () => void;

  constructor(options: PeerLinksOptions) {
    this.#options = options;
    const {clock, timers, security, lookUp, allowList} = options;
    const hosts = new HostAddresses(clock, lookUp);
    this.#hosts = hosts;
    this.#addresses =
      allowList && new PeerAddresses({...allowList, clock, resolve: host => hosts.resolve(host)});
    this.#quiet = new QuietPeriod(clock, quietMs);
    this.#quietOfStrangers = new QuietPeriod(clock, quietMs, rejectionsToldMax);
    this.#rejections = new RecentRejections(clock);
    this.#incoming = new IncomingLinks(
      {
        clock,
        timers,
        security,
        handshakeMs,
        addresses: this.#addresses,
        speak: (socket, listener) => this.#speak(socket, 'listener', '', listener),
      },
      {
        judge: peer => this.#judge(peer),
        connected: ({from, introduction}) => {
          this.#heard(from);
          this.#introduced(from, introduction);
          this.#peers.get(from)?.link.hurry();
        },
        message: (from, bytes) => this.#listener().message(from, bytes),
        heard: from => this.#heard(from),
        broken: from => this.#peers.get(from)?.link.suspect(),
        rejected: (remoteAddress, reason) => this.#rejected(remoteAddress, reason),
      },
    );
    this.#lookedAt = clock.monotonic();
    this.#cancelLook = timers.after(pingMs, () => this.#look());
  }

  listen(news: PeerTransportNews): void {
    this.#news = news;
  }

  /**
   * Takes connections of peers; without a host on every address. Resolves with the port.
   *
   * @throws {Refusal} `start.refused` when the port cannot be had.
   */
  async listenOn(host: string | undefined, port: number): Promise<number> {
    assert(this.#news !== undefined, 'somebody listens before peers are let in');
    try {
      return await this.#incoming.listenOn(host, port);
    } catch (error) {
      throw new Refusal(
        'start.refused',
        `cannot listen for peers on ${host ?? '*'}:${port}: ${reasonOf(error)} (svc.ha.raftPort)`,
      );
    }
  }

  setPeers(peers: readonly PeerAddress[]): void {
    assert(this.#news !== undefined, 'somebody listens before there are peers');
    const wanted = new Map(peers.map(peer => [peer.id, peer]));
    assert(!wanted.has(this.#options.id), 'nobody is a peer of its own');
    for (const [id, {address, link}] of this.#peers) {
      const {host, port} = wanted.get(id) ?? {};
      if (host === address.host && port === address.port) continue;
      link.close();
      this.#peers.delete(id);
      if (!wanted.has(id)) this.#incoming.end(id, `${id} is no member any more`);
    }
    this.#introductions = new Map([...this.#introductions].filter(([id]) => wanted.has(id)));
    for (const peer of peers) {
      if (!this.#peers.has(peer.id)) this.#peers.set(peer.id, this.#linked(peer));
    }
    // A name that cannot be resolved now is asked again with the next connection.
    const {alsoHosts = []} = this.#options.allowList ?? {};
    void this.#addresses?.setHosts([...peers.map(({host}) => host), ...alsoHosts]);
  }

  send(to: NodeId, pieces: readonly Uint8Array[]): boolean {
    const peer = this.#peers.get(to);
    if (peer === undefined) return false;
    const isTaken = peer.link.send(pieces);
    if (!isTaken) peer.dropped++;
    return isTaken;
  }

  reset(id: NodeId): void {
    const peer = this.#peers.get(id);
    if (peer === undefined) return;
    this.#incoming.end(id, 'the channel is built anew');
    peer.link.reset();
  }

  connections(): readonly PeerLinkFigures[] {
    return [...this.#peers].map(([id, {link, heardAt, dropped}]) => ({
      id,
      isConnected: link.isConnected,
      introduction: this.#introductions.get(id),
      heardAt,
      queuedBytes: link.queuedBytes,
      obstacle: this.obstacleOf(id),
      dropped,
    }));
  }

  /** Why the last attempt to reach a peer failed; undefined while it is reached. */
  obstacleOf(id: NodeId): string | undefined {
    const peer = this.#peers.get(id);
    return peer?.link.isConnected === true ? undefined : peer?.obstacle;
  }

  /** Milliseconds since anything came from a peer; undefined while nothing ever did. */
  silenceOf(id: NodeId): number | undefined {
    const heardAt = this.#peers.get(id)?.heardAt;
    return heardAt === undefined ? undefined : this.#options.clock.monotonic() - heardAt;
  }

  /** How long a peer takes to answer; undefined while it never did. */
  roundTripsOf(id: NodeId): RoundTripFigures | undefined {
    return this.#peers.get(id)?.roundTrips.figures;
  }

  /** What each peer said of itself last; another map whenever that changes. */
  get introductions(): ReadonlyMap<NodeId, PeerIntroduction> {
    return this.#introductions;
  }

  /** Who was turned away in the last ten minutes, the latest first. */
  get rejections(): readonly Rejected[] {
    return this.#rejections.list();
  }

  async close(): Promise<void> {
    this.#cancelLook();
    for (const {link} of this.#peers.values()) link.close();
    this.#peers.clear();
    await this.#incoming.close();
    this.#options.security.close();
  }

  #listener(): PeerTransportNews {
    assert(this.#news !== undefined, 'somebody listens before there are peers');
    return this.#news;
  }

  #linked(address: PeerAddress): Peer {
    const {id} = address;
    const {random, timers, security, clock} = this.#options;
    const link = new OutgoingLink(
      {
        peer: address,
        random,
        timers,
        security,
        hosts: this.#hosts,
        speak: (socket, listener) => this.#speak(socket, 'dialler', id, listener),
      },
      {
        judge: hello => this.#judge(hello),
        connected: ({introduction}) => {
          this.#peers.get(id)?.roundTrips.interrupted();
          this.#answered(id);
          this.#introduced(id, introduction);
          this.#log('info', 'peer.connected', {peer: id, release: introduction.release});
          this.#listener().connected(id, introduction);
        },
        heard: () => this.#answered(id),
        lost: () => {
          this.#log('warn', 'peer.lost', {peer: id});
          this.#listener().lost(id);
        },
        obstructed: obstacle => this.#obstructed(id, obstacle),
      },
    );
    return {
      address,
      link,
      heardAt: undefined,
      answeredAt: clock.monotonic(),
      roundTrips: new RoundTrips(),
      obstacle: undefined,
      dropped: 0,
    };
  }

  #speak(socket: Socket, side: Side, to: string, listener: ChannelListener): PeerChannel {
    const {cluster, id, introduce, token, alsoAccepted, random, timers} = this.#options;
    const {messageBytesMax, queueBytesMax} = this.#options;
    const own = {cluster, from: id, to, introduction: introduce()};
    return new PeerChannel(
      socket,
      {
        side,
        own,
        token,
        alsoAccepted,
        random,
        timers,
        handshakeMs,
        messageBytesMax,
        queueBytesMax,
      },
      listener,
    );
  }

  #judge({from, introduction}: Hello): string | undefined {
    return this.#options.judge(from, introduction);
  }

  #introduced(id: NodeId, introduction: PeerIntroduction): void {
    if (!this.#peers.has(id)) return;
    this.#introductions = new Map(this.#introductions).set(id, introduction);
  }

  #heard(id: NodeId): void {
    const peer = this.#peers.get(id);
    if (peer !== undefined) peer.heardAt = this.#options.clock.monotonic();
  }

  #answered(id: NodeId): void {
    const peer = this.#peers.get(id);
    const now = this.#options.clock.monotonic();
    if (peer !== undefined) {
      peer.answeredAt = now;
      peer.roundTrips.answered(now);
    }
    this.#heard(id);
  }

  #obstructed(id: NodeId, obstacle: string): void {
    const peer = this.#peers.get(id);
    if (peer !== undefined) peer.obstacle = obstacle;
    if (this.#quiet.mayTell(`${id} ${obstacle}`)) {
      this.#log('warn', 'peer.obstacle', {peer: id, reason: obstacle});
    }
  }

  #rejected(remoteAddress: string, reason: string): void {
    this.#rejections.add(remoteAddress, reason);
    if (!this.#quietOfStrangers.mayTell(`${remoteAddress} ${reason}`)) return;
    this.#log('warn', 'peer.rejected', {remoteAddress, reason});
    this.#news?.rejected(remoteAddress, reason);
  }

  /** Once a second: asks for signs of life, and gives up what gave none. */
  #look(): void {
    const {clock, timers} = this.#options;
    const now = clock.monotonic();
    // What arrived while this process stood still is read first.
    const isLate = now - this.#lookedAt >= 2 * pingMs;
    this.#lookedAt = now;
    this.#cancelLook = timers.after(pingMs, () => this.#look());
    if (isLate) {
      for (const peer of this.#peers.values()) peer.answeredAt = now;
    } else {
      for (const peer of this.#peers.values()) this.#endSilent(peer, now);
      this.#incoming.endIdle();
    }
    for (const {link, roundTrips} of this.#peers.values()) {
      if (link.isConnected) roundTrips.asked(now);
      link.ping();
    }
  }

  #endSilent({address, link, heardAt, answeredAt}: Peer, now: number): void {
    if (!link.isConnected) return;
    const unansweredFor = now - answeredAt;
    const isSilent = now - Math.max(heardAt ?? answeredAt, answeredAt) >= silenceMs;
    if (!isSilent && unansweredFor < unansweredMs) return;
    link.reset();
    this.#obstructed(address.id, `no answer for ${Math.round(unansweredFor)} ms`);
  }

  #log(level: 'info' | 'warn', event: string, fields: Readonly<Record<string, unknown>>): void {
    this.#options.logger.log(level, event, fields);
  }
}
