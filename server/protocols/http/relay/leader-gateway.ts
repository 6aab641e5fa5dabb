/**
 * What the HTTP server of a cluster's member does beside that of a server alone: it knows whom a
 * request of another member speaks for, and relays what belongs to the leader.
 *
 * `X-Svc-Cluster-Token` opens everything, so it is compared in constant time, never shown, and
 * believed only when it is not empty. Without it `X-Svc-Forwarded-User` and
 * `X-Svc-Forwarded-To-Leader` say nothing: they are passed over and the log tells of them.
 * Source: docs/cluster-connections.md; docs/design/0021-forwarding-and-reads.md.
 */
import {hash, timingSafeEqual} from 'node:crypto';
import type {IncomingMessage} from 'node:http';
import type {Socket} from 'node:net';
import type {Cluster} from '#server/cluster/cluster.ts';
import type {Acceptors} from '#server/listeners/acceptors.ts';
import type {RequestPlacement} from '#server/forwarding/request-placement.ts';
import type {Principal} from '#server/security/principal.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {Security} from '#server/security/security.ts';
import type {RelayContext, RelayedExchange} from './relayed-exchange.ts';
import {
  decodedUser,
  forwardedMark,
  forwardedUserHeader,
  invalidToken,
  type PeerCredentials,
} from './forwarded-headers.ts';
import {Forwarder, type RawHttpRequest} from './forwarder.ts';

interface GatewayContext extends RelayContext {
  readonly security: Pick<Security, 'principalOf'>;
  acceptorsOf(socket: Socket): Pick<Acceptors, 'admit'> | undefined;
  readonly options: RelayContext['options'] & {readonly logger: Logger};
}

const warningEveryMs = 60_000;

export class LeaderGateway {
  readonly cluster: Cluster;
  readonly placement: RequestPlacement;
  readonly #context: GatewayContext;
  readonly #forwarder: Forwarder;
  readonly #tokenHashes: readonly Buffer[];
  #warnedAt = Number.NEGATIVE_INFINITY;
  #suspects = 0;

  constructor(context: GatewayContext, placement: RequestPlacement) {
    const {cluster} = placement;
    this.cluster = cluster;
    this.placement = placement;
    this.#context = context;
    this.#forwarder = new Forwarder(context, cluster, index => placement.relayed(index));
    this.#tokenHashes = [cluster.token, ...(cluster.alsoAccepted ?? [])]
      .filter(token => token !== '')
      .map(token => hash('sha256', token, 'buffer'));
  }

  /**
   * Has the leader answer; see Forwarder.
   *
   * @returns false where this server leads and is to carry it out itself.
   */
  forward(exchange: RelayedExchange, principal: Principal): Promise<boolean> {
    return this.#forwarder.forward(exchange, principal);
  }

  /** Works like `forward` for a request of the raw HTTP path; see Forwarder. */
  forwardBytes(request: RawHttpRequest): Promise<boolean> | undefined {
    return this.#forwarder.forwardBytes(request);
  }

  /** Ends the connections to the leader. */
  close(): void {
    this.#forwarder.close();
  }

  /** @throws {PlainFailure} 401 unless `given` is the token of the cluster. */
  requireToken(given: string, socket: Socket): void {
    const said = hash('sha256', given, 'buffer');
    if (this.#tokenHashes.some(expected => timingSafeEqual(said, expected))) {
      this.#context.acceptorsOf(socket)?.admit(socket);
      return;
    }
    this.#suspect(socket, 'a request carried a wrong cluster token');
    throw invalidToken();
  }

  /**
   * The user for whom another member asks.
   *
   * @throws {PlainFailure} 401 without the token, or when there is no such user here.
   */
  principalOf({token, user}: PeerCredentials, socket: Socket): Principal {
    this.requireToken(token, socket);
    const name = decodedUser(user);
    const principal = name === undefined ? undefined : this.#context.security.principalOf(name);
    if (principal === undefined) throw invalidToken();
    return principal;
  }

  /** Tells of headers that only a member may send, in a request that is none of a member. */
  passOver({headers, socket}: IncomingMessage): void {
    if (headers[forwardedUserHeader] === undefined && headers[forwardedMark] === undefined) return;
    this.#suspect(socket, 'headers of forwarded requests came without the cluster token');
  }

  #suspect({remoteAddress}: Socket, what: string): void {
    const {clock, logger} = this.#context.options;
    this.#suspects++;
    const now = clock.monotonic();
    if (now - this.#warnedAt < warningEveryMs) return;
    this.#warnedAt = now;
    logger.log('warn', 'cluster.untrusted', {remoteAddress, what, soFar: this.#suspects});
  }
}
