/**
 * The directory of the cluster's servers as it is now (replication/peer-directory.ts), made anew
 * when the members, what a peer said of itself, or this server's ports changed: requests ask it.
 *
 * That a port is derived is warned of once for each protocol.
 */
import type {Logger} from '#server/platform/logger.ts';
import type {Membership} from '#server/raft/membership.ts';
import type {NodeId} from '#server/raft/message.ts';
import {
  type KnownServers,
  type ListedServer,
  type PeerProtocol,
  peerDirectory,
} from '#server/replication/peer-directory.ts';
import type {PeerIntroduction} from '#server/replication/peer-transport.ts';
import type {DeclaredPeer} from '#server/replication/server-list.ts';

/** Values that are replaced when they change, never changed. */
export interface DirectorySources {
  readonly own: KnownServers['own'];
  readonly membership: Membership;
  readonly introductions: ReadonlyMap<NodeId, PeerIntroduction>;
}

export class ServerDirectory {
  readonly #declared: readonly DeclaredPeer[];
  readonly #logger: Logger;
  readonly #warned = new Set<PeerProtocol>();
  /** The newest first. */
  readonly #added: DeclaredPeer[] = [];
  #sources: DirectorySources | undefined;
  #servers: ReadonlyMap<NodeId, ListedServer> = new Map();

  constructor(declared: readonly DeclaredPeer[], logger: Logger) {
    this.#declared = declared;
    this.#logger = logger;
  }

  /** A server that was taken in while the cluster ran, with what was said of it. */
  add(server: DeclaredPeer): void {
    this.#added.unshift(server);
    this.#sources = undefined;
  }

  /** The servers keyed by their id, this server among them. */
  servers(sources: DirectorySources): ReadonlyMap<NodeId, ListedServer> {
    const {own, membership, introductions} = sources;
    const last = this.#sources;
    if (
      last?.own === own &&
      last.membership === membership &&
      last.introductions === introductions
    ) {
      return this.#servers;
    }
    const {servers, derived} = peerDirectory({
      own,
      declared: this.#declared,
      added: this.#added,
      members: membership.map(({id}) => id),
      introductions,
    });
    for (const protocol of derived) this.#warn(protocol);
    this.#sources = sources;
    this.#servers = new Map(servers.map(server => [server.id, server]));
    return this.#servers;
  }

  #warn(protocol: PeerProtocol): void {
    if (this.#warned.has(protocol)) return;
    this.#warned.add(protocol);
    this.#logger.log('warn', 'cluster.port-derived', {
      protocol,
      reason: `a peer's ${protocol} port is taken to be this server's own until it says its own`,
      advice: `declare it in svc.ha.serverList, as in host:{raft:2434,${protocol}:2480}`,
    });
  }
}
