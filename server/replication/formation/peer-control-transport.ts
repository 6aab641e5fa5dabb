/**
 * What servers say to each other besides consensus, over the same connections: short values that
 * are repeated until they had their effect, so that none of them needs to arrive.
 *
 * Stands between the connections and the replicator: it keeps those to the declared peers up where
 * the replicator knows nobody yet, and passes everything else on. Once there is a membership it
 * alone says whom to dial, so that a removed server loses its connections although the list names
 * it. A server outside that speaks, and so has proved that it knows the token, is dialled as well:
 * it waits for an answer.
 */
import type {NodeId} from '#server/raft/message.ts';
import {addressOfId} from '../peer-directory.ts';
import type {Baseline, LocalData} from '#server/engine/engine-log.ts';
import type {
  PeerAddress,
  PeerConnection,
  PeerTransport,
  PeerTransportNews,
} from '../peer-transport.ts';
import type {PeerReport} from './formation-decision.ts';

export type ControlMessage =
  | ({readonly kind: 'report'} & PeerReport)
  | ({readonly kind: 'join'} & Application)
  /** What another server asks, passed on by a member that does not lead. */
  | ({readonly kind: 'join-of'; readonly id: NodeId} & Application)
  /** The answer to one that was not taken in yet: why, for people. */
  | {readonly kind: 'not-joined'; readonly reason: string};

/** A server without a memory asks to be taken in. */
export interface Application {
  readonly priority: number;
  /** Id of the log that it begins with; undefined from a release that did not tell. */
  readonly memory: string | undefined;
  /** It kept data that the cluster began with; the server's documents it needs. */
  readonly adopts: boolean;
}

/** No message of consensus begins so: those begin with their version. */
const tag = 0xff;
const bytesMax = 1 << 20;
const databasesMax = 10_000;
const declaredMax = 1_000;
const nameLengthMax = 300;
const reasonLengthMax = 2_000;
/** Servers outside that are dialled at once; the one that spoke first gives way. */
const applicantsMax = 32;

export class PeerControlTransport implements PeerTransport {
  readonly #transport: PeerTransport;
  readonly #declared: readonly PeerAddress[];
  readonly #hasMembership: () => boolean;
  /** Peers that the replicator wants. */
  #peers: readonly PeerAddress[] = [];
  /** Who leads, where it is another server. */
  #leader: PeerAddress | undefined;
  /** Servers outside that spoke and wait for an answer. */
  readonly #applicants = new Map<NodeId, PeerAddress>();
  #news: PeerTransportNews | undefined;
  #listener: (from: NodeId, saying: ControlMessage) => void = () => {};

  /**
   * @param declared - Those of the list, without this node.
   * @param hasMembership - Whether this node knows who belongs to the group.
   */
  constructor(
    transport: PeerTransport,
    declared: readonly PeerAddress[],
    hasMembership: () => boolean,
  ) {
    this.#transport = transport;
    this.#declared = declared;
    this.#hasMembership = hasMembership;
    transport.listen({
      message: (from, bytes) => this.#receive(from, bytes),
      connected: (peer, introduction) => this.#news?.connected(peer, introduction),
      lost: peer => this.#news?.lost(peer),
      rejected: (remoteAddress, reason) => this.#news?.rejected(remoteAddress, reason),
    });
  }

  /** Begins to connect to the declared peers. */
  open(): void {
    this.setPeers([]);
  }

  /** One listener at a time. */
  hear(listener: (from: NodeId, saying: ControlMessage) => void): void {
    this.#listener = listener;
  }

  say(to: NodeId, saying: ControlMessage): void {
    const text = Buffer.from(JSON.stringify(saying), 'utf8');
    if (text.length < bytesMax) this.send(to, [Uint8Array.of(tag), text]);
  }

  /** Sends to everybody that there is a connection to. */
  sayToAll(saying: ControlMessage): void {
    for (const {id} of this.connections()) this.say(id, saying);
  }

  listen(news: PeerTransportNews): void {
    this.#news = news;
  }

  /**
   * Names who leads; undefined: nobody, or this node. It is answered although neither the list nor
   * the log of this node names it yet: that log comes from it, entry for answer.
   */
  follow(leader: NodeId | undefined): void {
    if (leader === this.#leader?.id) return;
    this.#leader = leader === undefined ? undefined : addressOfId(leader);
    this.#connect();
  }

  setPeers(peers: readonly PeerAddress[]): void {
    const before = new Set(this.#peers.map(({id}) => id));
    this.#peers = peers;
    const known = new Set(peers.map(({id}) => id));
    for (const id of this.#applicants.keys()) {
      // Who was taken in waits no more; who was removed has to ask anew.
      if (known.has(id) || before.has(id)) this.#applicants.delete(id);
    }
    this.#connect();
  }

  #connect(): void {
    const wanted = new Map(this.#peers.map(peer => [peer.id, peer]));
    const others = this.#hasMembership() ? [] : this.#declared;
    const leader = this.#leader === undefined ? [] : [this.#leader];
    for (const peer of [...others, ...this.#applicants.values(), ...leader]) {
      if (!wanted.has(peer.id)) wanted.set(peer.id, peer);
    }
    this.#transport.setPeers([...wanted.values()]);
  }

  #heardOutside(from: NodeId): void {
    if (this.#applicants.has(from) || this.#peers.some(({id}) => id === from)) return;
    if (!this.#hasMembership() && this.#declared.some(({id}) => id === from)) return;
    const [first] = this.#applicants.keys();
    if (first !== undefined && this.#applicants.size >= applicantsMax) {
      this.#applicants.delete(first);
    }
    this.#applicants.set(from, addressOfId(from));
    this.#connect();
  }

  send(to: NodeId, pieces: readonly Uint8Array[]): boolean {
    return this.#transport.send(to, pieces);
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

  #receive(from: NodeId, bytes: Buffer): void {
    if (bytes[0] !== tag) {
      this.#news?.message(from, bytes);
      return;
    }
    const saying = parseSaying(bytes.subarray(1));
    if (saying === undefined) return;
    const asks = saying.kind === 'join' || (saying.kind === 'report' && saying.standing === 'new');
    if (asks) this.#heardOutside(from);
    this.#listener(from, saying);
  }
}

/** Undefined for what this release does not understand. */
function parseSaying(bytes: Buffer): ControlMessage | undefined {
  if (bytes.length > bytesMax) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
  const fields = (value ?? {}) as Readonly<Record<string, unknown>>;
  const {kind, standing, data, baseline, declared, id, reason} = fields;
  switch (kind) {
    case 'join':
    case 'join-of': {
      const application = parseApplication(fields);
      if (application === undefined) return undefined;
      if (kind === 'join') return {kind, ...application};
      return isNodeId(id) ? {kind, id, ...application} : undefined;
    }
    case 'not-joined':
      return typeof reason === 'string' && reason.length <= reasonLengthMax
        ? {kind, reason}
        : undefined;
    case 'report':
      if (!isStanding(standing) || !isLocalData(data)) return undefined;
      return {
        kind,
        standing,
        data,
        baseline: isBaseline(baseline) ? baseline : undefined,
        declared: isListOfNodes(declared) ? declared : undefined,
      };
    default:
      return undefined;
  }
}

function parseApplication({
  priority,
  memory,
  adopts,
}: Readonly<Record<string, unknown>>): Application | undefined {
  if (!Number.isSafeInteger(priority)) return undefined;
  const isKnown = typeof memory === 'string' && memory.length <= nameLengthMax;
  const known = isKnown ? memory : undefined;
  return {priority: Number(priority), memory: known, adopts: adopts === true};
}

function isListOfNodes(value: unknown): value is readonly NodeId[] {
  return Array.isArray(value) && value.length <= declaredMax && value.every(isNodeId);
}

/** Accepts an address as it is dialled: `<host>_<raftPort>`. */
function isNodeId(value: unknown): value is NodeId {
  return typeof value === 'string' && value.length <= nameLengthMax && /^.+_\d{1,5}$/.test(value);
}

function isStanding(value: unknown): value is PeerReport['standing'] {
  return value === 'member' || value === 'formed' || value === 'new';
}

/** Undefined from a release that did not tell. */
function isBaseline(value: unknown): value is Baseline {
  const {index, term, nextDatabaseId, documents, content} = (value ?? {}) as Partial<Baseline>;
  return (
    [index, term, nextDatabaseId].every(number => Number.isSafeInteger(number)) &&
    Array.isArray(documents) &&
    documents.every(name => typeof name === 'string') &&
    typeof content === 'string'
  );
}

function isLocalData(value: unknown): value is LocalData {
  const {databases, documents} = (value ?? {}) as Partial<LocalData>;
  return (
    Number.isSafeInteger(documents) &&
    Array.isArray(databases) &&
    databases.length <= databasesMax &&
    databases.every(one => typeof one?.name === 'string' && Number.isSafeInteger(one?.transactions))
  );
}
