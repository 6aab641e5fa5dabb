/**
 * Kept connections to other members' HTTP listeners, in clear and over TLS, and which of the two a
 * request takes: the token of the cluster vouches for it, so it goes over TLS where this server
 * itself listens for it and the other's port is known.
 *
 * Source: docs/cluster-connections.md.
 */
import {Agent, type ClientRequest, type RequestOptions, request as sendPlainly} from 'node:http';
import {Agent as SecureAgent, request as sendSecurely} from 'node:https';
import {type ClusterPeer, type HttpAddress, httpAddressOf} from '#server/cluster/cluster.ts';

export interface HttpTarget extends HttpAddress {
  readonly isSecure: boolean;
}

/** Undefined where it is not known how the peer is reached. */
export function targetOf(
  peer: Pick<ClusterPeer, 'host' | 'httpPort' | 'httpsPort'>,
  prefersSecure: boolean,
): HttpTarget | undefined {
  const {host, httpsPort} = peer;
  if (prefersSecure && httpsPort !== undefined) return {host, port: httpsPort, isSecure: true};
  const plain = httpAddressOf(peer);
  return plain && {...plain, isSecure: false};
}

export interface KeptConnectionsOptions {
  /** The most connections to one peer at once. */
  readonly socketsMax: number;
  readonly idleSocketsMax: number;
  /**
   * Whose certificates are believed of a peer, asked at each request, since authorities are
   * replaced while servers run; empty: those that the machine trusts.
   */
  readonly authorities: () => readonly string[];
}

export class KeptConnections {
  readonly #agent: Agent;
  readonly #secureAgent: SecureAgent;
  readonly #authorities: () => readonly string[];

  constructor({socketsMax, idleSocketsMax, authorities}: KeptConnectionsOptions) {
    const kept = {
      keepAlive: true,
      maxSockets: socketsMax,
      maxFreeSockets: idleSocketsMax,
      scheduling: 'lifo',
    } as const;
    this.#agent = new Agent(kept);
    this.#secureAgent = new SecureAgent(kept);
    this.#authorities = authorities;
  }

  /** Begins a request; the caller listens to it and ends it. */
  request({host, port, isSecure}: HttpTarget, options: RequestOptions): ClientRequest {
    if (!isSecure) return sendPlainly({...options, host, port, agent: this.#agent});
    // The agent keeps connections apart that believed different authorities.
    const authorities = this.#authorities();
    const trusted = authorities.length > 0 && {ca: [...authorities]};
    return sendSecurely({...options, ...trusted, host, port, agent: this.#secureAgent});
  }

  /** Ends them all. */
  close(): void {
    this.#agent.destroy();
    this.#secureAgent.destroy();
  }
}
