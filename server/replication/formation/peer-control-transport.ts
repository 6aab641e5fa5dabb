/**
 * What servers say to each other besides consensus, over the same connections: short values that
 * are repeated until they had their effect, so that none of them needs to arrive.
 *
 * Stands between the connections and the replicator: it keeps those to the declared peers up where
 * the replicator knows nobody yet, and passes everything else on.
 */
import type {NodeId} from '#server/raft/message.ts';
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
const nameLengthMax = 300;
const reasonLengthMax = 2_000;

export class PeerControlTransport implements PeerTransport {
  readonly #transport: PeerTransport;
  readonly #declared: readonly PeerAddress[];
  #news: PeerTransportNews | undefined;
  #listener: (from: NodeId, saying: ControlMessage) => void = () => {};

  /** `declared`: without this node. */
  constructor(transport: PeerTransport, declared: readonly PeerAddress[]) {
    this.#transport = transport;
    this.#declared = declared;
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

  /** To everybody that there is a connection to. */
  sayToAll(saying: ControlMessage): void {
    for (const {id} of this.connections()) this.say(id, saying);
  }

  listen(news: PeerTransportNews): void {
    this.#news = news;
  }

  setPeers(peers: readonly PeerAddress[]): void {
    const known = new Set(peers.map(({id}) => id));
    const others = this.#declared.filter(({id}) => !known.has(id));
    this.#transport.setPeers([...peers, ...others]);
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
    if (saying !== undefined) this.#listener(from, saying);
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
  const {kind, standing, data, baseline, id, reason} = fields;
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
      return {kind, standing, data, baseline: isBaseline(baseline) ? baseline : undefined};
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
