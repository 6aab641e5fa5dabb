/**
 * What the HTTP server of a cluster's member does beside that of a server alone: it knows whom a
 * request of another member speaks for, relays what only the leader can do, and lets reads wait.
 *
 * `X-Svc-Cluster-Token` opens everything, so it is compared in constant time, never shown, and
 * believed only when it is not empty. Without it `X-Svc-Forwarded-User` and
 * `X-Svc-Forwarded-To-Leader` say nothing: they are passed over and the log tells of them.
 * Source: docs/cluster-connections.md; docs/design/0021-forwarding-and-reads.md.
 */
import {hash, timingSafeEqual} from 'node:crypto';
import type {IncomingMessage} from 'node:http';
import type {Socket} from 'node:net';
import {Refusal} from '#server/base/errors.ts';
import type {Cluster} from '#server/cluster/cluster.ts';
import {ReadConsistencyGate, type ReadConsistency} from '#server/cluster/read-consistency-gate.ts';
import type {Principal} from '#server/security/principal.ts';
import type {RunRequest} from '#server/session/session.ts';
import type {HttpContext} from '../context.ts';
import type {Exchange} from '../message/exchange.ts';
import {
  decodedUser,
  forwardedMark,
  forwardedUserHeader,
  invalidToken,
  type PeerCredentials,
} from './forwarded-headers.ts';
import {Forwarder, type RawHttpRequest} from './forwarder.ts';

const warningEveryMs = 60_000;

export class LeaderGateway {
  readonly cluster: Cluster;
  readonly #context: HttpContext;
  readonly #freshness: ReadConsistencyGate;
  readonly #forwarder: Forwarder;
  readonly #tokenHashes: readonly Buffer[];
  #warnedAt = Number.NEGATIVE_INFINITY;
  #suspects = 0;

  constructor(context: HttpContext, cluster: Cluster) {
    const {clock, logger} = context.options;
    this.cluster = cluster;
    this.#context = context;
    this.#freshness = new ReadConsistencyGate({
      cluster,
      clock,
      logger,
      settings: () => context.settings,
      appliedIndex: () => context.service.appliedIndex,
    });
    this.#forwarder = new Forwarder(context, cluster, index => this.#freshness.relayed(index));
    this.#tokenHashes = [cluster.token, ...(cluster.alsoAccepted ?? [])]
      .filter(token => token !== '')
      .map(token => hash('sha256', token, 'buffer'));
  }

  /** Waits until a read may be answered from here; see Freshness. */
  reached(requested: ReadConsistency): Promise<void> {
    return this.#freshness.reached(requested);
  }

  /**
   * Works like `reached`, for a statement; a promise only when it must wait. A transaction reads as
   * of its begin, and a write on the leader is confirmed by its commit, or where it wrote nothing
   * asks itself (transact.ts): neither waits.
   */
  readable(
    principal: Principal,
    request: RunRequest,
    requested: ReadConsistency | undefined,
  ): Promise<void> | undefined {
    if (request.transactionId !== undefined || !this.#freshness.waits(requested)) return undefined;
    const {cluster} = this;
    if (request.readOnly || !cluster.isLeader) return this.#freshness.reached(requested);
    const needs = this.needsLeader(principal, request);
    if (needs instanceof Promise) {
      return needs.then(is => (is ? undefined : this.#freshness.reached(requested)));
    }
    return needs ? undefined : this.#freshness.reached(requested);
  }

  /** Whether a statement that belongs to no transaction is one for the leader; see Service. */
  needsLeader(principal: Principal, request: RunRequest): boolean | Promise<boolean> {
    try {
      const needs = this.#context.service.needsLeader(principal, request);
      return needs instanceof Promise ? needs.catch(leaderKnows) : needs;
    } catch (error) {
      return leaderKnows(error);
    }
  }

  /** Resolves when a leadership that takes no writes for the moment does so again; see Cluster. */
  settled(): Promise<void> | undefined {
    const waitMs = this.#context.settings.get('svc.ha.forwardLeaderWaitTimeoutMs');
    return this.cluster.whenSettled(waitMs);
  }

  /**
   * Has the leader answer; see Forwarder.
   *
   * @returns false where this server leads and is to carry it out itself.
   */
  forward(exchange: Exchange, principal: Principal): Promise<boolean> {
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
    if (this.#tokenHashes.some(expected => timingSafeEqual(said, expected))) return;
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

/** Whether a statement is wrong, or about what has not arrived here yet. */
function leaderKnows(error: unknown): true {
  if (!(error instanceof Refusal)) throw error;
  return true;
}
