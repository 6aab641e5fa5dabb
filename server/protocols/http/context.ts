/**
 * What all requests of one HTTP server share: its parts, its settings, and how it makes ids.
 */
import type {AgentEndpoint} from './agent-endpoint.ts';
import {BackgroundPlaces} from './background-places.ts';
import {setMaxListeners} from 'node:events';
import type {IncomingMessage, ServerResponse} from 'node:http';
import type {Socket} from 'node:net';
import type {AdministrationParts} from '#server/administration/command.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {RequestPlacement} from '#server/forwarding/request-placement.ts';
import type {Acceptors} from '#server/listeners/acceptors.ts';
import {JsonParser} from '#server/model/json-parser.ts';
import {Meters} from '#server/monitoring/meters.ts';
import type {Traces} from '#server/monitoring/request-span.ts';
import type {Random} from '#server/platform/clock.ts';
import type {Administration} from '#server/session/administration.ts';
import type {Cluster} from '#server/cluster/cluster.ts';
import type {LocalHealth} from '#server/cluster/local-health.ts';
import type {ReplicaHealth} from '#server/cluster/replica-health.ts';
import {LateTurns, type Pace} from '#server/security/late-turns.ts';
import type {Security} from '#server/security/security.ts';
import {UserTurns} from '#server/security/user-turns.ts';
import type {Principal} from '#server/security/principal.ts';
import type {Service} from '#server/session/session.ts';
import type {MemberSnapshotSource} from '#server/cluster/snapshot-source.ts';
import {BodyTurns} from './message/body.ts';
import {AllowedOrigins} from './message/cross-origin.ts';
import {IdempotentAnswers} from './message/idempotency.ts';
import {LeaderGateway} from './relay/leader-gateway.ts';
import type {MemberCopies} from './relay/member-copies.ts';
import type {PeerClient} from './relay/peer-client.ts';

import {RequestTimings} from './request-timings.ts';
import {Transport} from './transport.ts';

export interface HttpOptions extends AdministrationParts {
  readonly random: Random;
  /** Absent: a server alone. */
  readonly cluster?: Cluster | undefined;
  /** Where requests run; absent: a server alone. */
  readonly placement?: RequestPlacement | undefined;
  /** Asks other members; whoever gives it closes it. */
  readonly peerClient: PeerClient;
  /** Certificates of those who vouch for other members; empty or absent: the system's. */
  readonly authorities?: (() => readonly string[]) | undefined;
  /** Takes spans of requests; absent where nothing is traced. */
  readonly traces?: Traces | undefined;
  /** Absent in a build without the agent tool server. */
  readonly agents?: AgentEndpoint | undefined;
  /** What the members hold of each database; absent on a single server. */
  readonly copies?: MemberCopies | undefined;
  /** What other members of the cluster fetch from here; undefined on a single server. */
  readonly snapshots?: MemberSnapshotSource | undefined;
  /** How this leader's followers do; absent where nobody samples. */
  readonly replicaHealth?: ReplicaHealth | undefined;
  /** What goes wrong with this member itself; absent where nobody samples. */
  readonly ownTroubles?: (() => LocalHealth) | undefined;
}

/** Deepest nesting of a request's JSON; parameters have a bound of their own. */
const bodyDepthMax = 64;

/** Most values in a request's JSON: parsing more would hold up all others, and take memory. */
const bodyValuesMax = 2_000_000;

/** A user whose share is used up has other requests that are answered: he is told more often. */
const paceOfShares: Pace = {gapMs: 5, gapOfAskerMs: 100, waitMsMax: 5_000};

/** The credentials that a connection brought last, and whom they were found to be. */
export interface KnownCredentials {
  readonly value: string;
  readonly principal: Principal;
  /** `Security.generation` at that time. */
  readonly generation: number;
}

/** The last request that was begun on a socket, for when its connection breaks. */
interface BegunRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Told when the body will never be complete though the client still reads. */
  readonly onBodyLost: (() => void) | undefined;
}

export class HttpContext {
  readonly options: HttpOptions;
  readonly service: Service;
  readonly security: Security;
  readonly administration: Administration;
  readonly answers: IdempotentAnswers;
  readonly transport: Transport;
  /** Sites whose pages may use this server from a browser. */
  readonly origins: AllowedOrigins;
  /** Undefined: a server alone. */
  readonly gateway: LeaderGateway | undefined;
  readonly json = new JsonParser(bodyDepthMax, bodyValuesMax);
  /** Constant for one process: a client that sees another one talks to a restarted server. */
  readonly replayProtection: string;
  /** Credentials kept for each socket: requests of one connection mostly bring the same ones. */
  readonly credentials = new WeakMap<object, KnownCredentials>();
  readonly begun = new WeakMap<Socket, BegunRequest>();
  /** Where it listens, by protocol. */
  readonly ports: Record<string, number> = {};
  /** What takes its connections, by protocol. */
  readonly acceptors: Partial<Record<'http' | 'https', Acceptors>> = {};
  /** Set when the server closes: answers then end their connections. */
  isStopping = false;
  /** Commands that run without anybody waiting for their answer. */
  backgroundCount = 0;
  readonly backgroundPlaces = new BackgroundPlaces();
  /** When refusals are told of what is beyond a share. */
  readonly lateTurns: LateTurns;
  readonly bodyTurns: BodyTurns;
  /** When requests of users are carried out. */
  readonly userTurns: UserTurns;
  /** Bytes of large answers held now, by everybody together. */
  heldBytes = 0;
  /** The begin of every request id that this server makes. */
  readonly requestIdPrefix: string;
  /** How often routes are asked. */
  readonly meters: Meters;
  readonly #timings: RequestTimings;
  readonly #signals = new WeakMap<object, AbortSignal>();
  #requestIdLast = 0;

  constructor(options: HttpOptions, replayProtection: string) {
    this.options = options;
    this.service = options.service;
    this.security = options.security;
    this.administration = options.administration;
    this.replayProtection = replayProtection;
    this.answers = new IdempotentAnswers(options);
    this.transport = new Transport(this.settings.get('svc.server.apiTokenTrustedProxies'));
    this.origins = new AllowedOrigins(this.settings.get('svc.server.httpCorsOrigins'));
    const {placement} = options;
    this.gateway = placement && new LeaderGateway(this, placement);
    this.lateTurns = new LateTurns({...options, pace: paceOfShares});
    this.bodyTurns = new BodyTurns(options.timers);
    this.userTurns = new UserTurns(options);
    this.#timings = new RequestTimings(
      () => options.clock.monotonic(),
      name => this.administration.databaseIdentity(name) !== '',
    );
    this.meters = new Meters({...options, counts: () => this.#timings.counts()});
    const prefix = Buffer.alloc(8);
    options.random.fill(prefix);
    this.requestIdPrefix = `${prefix.toString('hex')}-`;
  }

  get settings(): Settings {
    return this.administration.settings();
  }

  /** Undefined: metrics are switched off. */
  get timings(): RequestTimings | undefined {
    return this.settings.get('svc.serverMetrics') ? this.#timings : undefined;
  }

  /** Asks other members. */
  get peerClient(): PeerClient {
    return this.options.peerClient;
  }

  /** True in production, where errors leave out their details. */
  get hidesDetail(): boolean {
    return this.settings.get('svc.server.mode') === 'production';
  }

  /** Largest body of a request in bytes; no bound when negative. */
  get bodyBytesMax(): number {
    return this.settings.get('svc.server.httpBodyContentMaxSize');
  }

  /** What has taken a connection. */
  acceptorsOf(socket: Socket): Acceptors | undefined {
    return this.acceptors['encrypted' in socket ? 'https' : 'http'];
  }

  /** One signal for all requests of a connection: they come in turn and end with it. */
  connectionSignal(socket: Socket): AbortSignal {
    const known = this.#signals.get(socket);
    if (known !== undefined) return known;
    const controller = new AbortController();
    // Pipelined requests listen at the same time.
    setMaxListeners(0, controller.signal);
    this.#signals.set(socket, controller.signal);
    if (socket.destroyed) controller.abort();
    else socket.once('close', () => controller.abort());
    return controller.signal;
  }

  /** The id that a request sent, cleaned, or a new one. */
  requestIdFor(request: IncomingMessage): string {
    const sent = request.headers['x-request-id'];
    if (typeof sent === 'string') {
      const cleaned = sent.replaceAll(/[\u0000-\u001f\u007f]/g, '').slice(0, requestIdLengthMax);
      if (cleaned !== '') return cleaned;
    }
    return this.nextRequestId();
  }

  nextRequestId(): string {
    return `${this.requestIdPrefix}${this.nextRequestNumber().toString(16)}`;
  }

  /** What follows the prefix in the next request id, in hexadecimal digits. */
  nextRequestNumber(): number {
    return ++this.#requestIdLast;
  }
}

const requestIdLengthMax = 128;
