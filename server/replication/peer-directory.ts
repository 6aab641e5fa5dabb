/**
 * Who the servers of a cluster are and where their HTTP listeners are reached, from what is known
 * of them: the declared list, the membership in force, and what each says of itself.
 *
 * A declared port wins, then what the peer itself said. Without either its port is taken to be this
 * node's own, and the caller warns of it once. An address that two servers would share is used for
 * neither: a snapshot of the wrong one, or a write sent in a circle, would be worse than none.
 *
 * Pure; nothing is looked up. Source: docs/cluster-connections.md.
 */
import type {NodeId} from '#server/raft/message.ts';
import type {PeerAddress, PeerIntroduction} from './peer-transport.ts';
import {type DeclaredPeer, peerId} from './server-list.ts';

export interface KnownServers {
  readonly own: {
    readonly id: NodeId;
    readonly httpPort: number;
    /** Undefined where it does not listen for HTTPS. */
    readonly httpsPort: number | undefined;
  };
  /** The peers of `svc.ha.serverList`. */
  readonly declared: readonly DeclaredPeer[];
  /** The peers added while the cluster ran; a declared one of the same id comes before. */
  readonly added: readonly DeclaredPeer[];
  /** The members of the live configuration. */
  readonly members: readonly NodeId[];
  readonly introductions: ReadonlyMap<NodeId, PeerIntroduction>;
}

export interface ListedServer {
  readonly id: NodeId;
  /** The declared name, else the one that the peer gives itself. */
  readonly name: string | undefined;
  readonly host: string;
  readonly raftPort: number;
  readonly priority: number;
  readonly isDeclared: boolean;
  readonly inConfiguration: boolean;
  /** Undefined where it cannot be told. `ambiguous`: another server seems to have the same. */
  readonly httpPort: number | 'ambiguous' | undefined;
  /** Undefined where it has none, it cannot be told, or another server seems to have the same. */
  readonly httpsPort: number | undefined;
}

export interface PeerDirectory {
  /** This node among them, ordered by id. */
  readonly servers: readonly ListedServer[];
  /** Protocols whose port was taken to be this node's own for some peer: worth a warning each. */
  readonly derived: readonly PeerProtocol[];
}

export type PeerProtocol = 'http' | 'https';

interface Port {
  readonly number: number;
  readonly isDerived: boolean;
}

interface Candidate {
  readonly server: DeclaredPeer;
  readonly id: NodeId;
  readonly http: Port | undefined;
  readonly https: Port | undefined;
}

/** Everything that is known of every server, declared or member. */
export function peerDirectory(known: KnownServers): PeerDirectory {
  const {own, declared, added, members, introductions} = known;
  const servers = new Map<NodeId, DeclaredPeer>();
  for (const server of [...declared, ...added]) {
    if (!servers.has(peerId(server))) servers.set(peerId(server), server);
  }
  for (const id of [own.id, ...members]) {
    if (!servers.has(id)) servers.set(id, serverOfId(id));
  }
  const candidates = [...servers].map(([id, server]): Candidate => {
    const http = portOf({known, id, server, protocol: 'http'});
    return {id, server, http, https: portOf({known, id, server, protocol: 'https'})};
  });
  const declaredIds = new Set(declared.map(peerId));
  const isDerived = (protocol: PeerProtocol): boolean =>
    candidates.some(candidate => candidate[protocol]?.isDerived === true);
  return {
    servers: candidates
      .map((candidate): ListedServer => {
        const {id, server} = candidate;
        const isAmbiguous = isShared(candidate, 'http', candidates);
        const hasHttps = !isShared(candidate, 'https', candidates);
        return {
          id,
          name: server.name ?? introductions.get(id)?.serverName,
          host: server.host,
          raftPort: server.ports.raft,
          priority: server.priority,
          isDeclared: declaredIds.has(id),
          inConfiguration: members.includes(id),
          httpPort: isAmbiguous ? 'ambiguous' : candidate.http?.number,
          httpsPort: hasHttps ? candidate.https?.number : undefined,
        };
      })
      .sort((left, right) => (left.id < right.id ? -1 : 1)),
    derived: (['http', 'https'] as const).filter(isDerived),
  };
}

/** Where a server is dialled, from its id alone. */
export function addressOfId(id: NodeId): PeerAddress {
  const at = id.lastIndexOf('_');
  return {id, host: id.slice(0, at), port: Number(id.slice(at + 1))};
}

function serverOfId(id: NodeId): DeclaredPeer {
  const {host, port} = addressOfId(id);
  return {name: undefined, host, ports: {raft: port}, priority: 0};
}

function portOf({
  known: {own, introductions},
  id,
  server: {ports},
  protocol,
}: {
  readonly known: KnownServers;
  readonly id: NodeId;
  readonly server: DeclaredPeer;
  readonly protocol: PeerProtocol;
}): Port | undefined {
  const ownPort = protocol === 'http' ? own.httpPort : own.httpsPort;
  const introduction = introductions.get(id);
  const said = protocol === 'http' ? introduction?.httpPort : introduction?.httpsPort;
  const stated = ports[protocol] ?? said;
  if (stated !== undefined) return {number: stated, isDerived: false};
  // A peer that introduced itself and named no such port has none.
  if (ownPort === undefined || (introduction !== undefined && id !== own.id)) return undefined;
  return {number: ownPort, isDerived: id !== own.id};
}

/** Whether another server has the port on that host too; what is derived gives way. */
function isShared(
  candidate: Candidate,
  protocol: PeerProtocol,
  all: readonly Candidate[],
): boolean {
  const mine = candidate[protocol];
  if (mine === undefined) return false;
  const {host} = candidate.server;
  return all.some(other => {
    const theirs = other[protocol];
    if (other === candidate || other.server.host !== host) return false;
    if (theirs?.number !== mine.number) return false;
    return mine.isDerived || !theirs.isDerived;
  });
}
