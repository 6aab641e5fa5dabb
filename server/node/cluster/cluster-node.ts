/**
 * This server as a member of its cluster: opens the log that it shares, speaks to the others, and
 * keeps what is known of leader and members for whoever asks (node-cluster.ts).
 */
import {assert} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {Clock, Random, Timers} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import {type Membership, memberOf} from '#server/raft/membership.ts';
import type {LogIndex, NodeId} from '#server/raft/message.ts';
import type {PeerReport} from '#server/replication/formation/formation-decision.ts';
import {formCluster} from '#server/replication/formation/forming.ts';
import {Joining, type WaitingServer} from '#server/replication/formation/joining.ts';
import {PeerControlTransport} from '#server/replication/formation/peer-control-transport.ts';
import type {Replicator, Role} from '#server/replication/replicator.ts';
import {type DeclaredPeer, peerId} from '#server/replication/server-list.ts';
import {
  type OpenedLog,
  ReplicatedMemberLog,
  type RunningMember,
} from '#server/replication/storage/member-log.ts';
import type {KnownServers, ListedServer} from '#server/replication/peer-directory.ts';
import type {PeerLinks} from '#server/replication/links/peer-links.ts';
import type {PeerIntroduction} from '#server/replication/peer-transport.ts';
import type {ClusterState} from '#server/cluster/cluster.ts';
import type {StartState} from '#server/protocols/http/starting-server.ts';
import type {Engine} from '#server/engine/engine.ts';
import type {
  Baseline,
  LocalData,
  LogCheckpoint,
  MemberBeginning,
  MemberLog,
  MemberLogOpener,
} from '#server/engine/engine-log.ts';
import {beginningOf, type ClusterPlan, purgeOptions, raftOptions} from './cluster-plan.ts';
import {MemberSnapshots, type MemberSnapshotsOptions} from './member-snapshots.ts';
import {listeningHost, openPeerLinks, type PeerConnectionParts} from './peer-connections.ts';
import {decommissionedIn, removedDocument} from './removed-peers.ts';
import {ServerDirectory} from './server-directory.ts';
import {TracedTransport} from './traced-transport.ts';

export interface ClusterNodeOptions {
  readonly plan: ClusterPlan;
  readonly settings: () => Settings;
  readonly clock: Clock;
  readonly random: Random;
  readonly timers: Timers;
  readonly logger: Logger;
  /** The cluster's token (replication/cluster-token.ts). */
  readonly token: string;
  /** Tokens that others may come with besides. */
  readonly alsoAccepted: readonly string[];
  readonly release: string;
  readonly formats: PeerIntroduction['formats'];
  readonly storage: MemberStorage;
  /** See peer-connections.ts. */
  readonly network?: PeerConnectionParts['network'];
}

/** The member's memory, on its disk. */
export interface MemberStorage {
  exists(directory: string): boolean;
  /** `checkpoint`: where the databases stand, where that is known; a new log begins there. */
  open(directory: string, checkpoint: LogCheckpoint | undefined): Promise<Omit<OpenedLog, 'logId'>>;
}

/** `svc.ha.logVerbose` from which on every message is logged. */
const tracingVerbosity = 3;
const cacheBytesMax = 16 << 20;
/** What a server that waits to be a member says of its memory. */
const noMemory = '-';

export class ClusterNode implements MemberLogOpener {
  readonly plan: ClusterPlan;
  readonly token: string;
  readonly alsoAccepted: readonly string[];
  readonly startedAt: number;
  readonly links: PeerLinks;
  readonly #talk: PeerControlTransport;
  #joining: Joining | undefined;
  readonly #options: ClusterNodeOptions;
  readonly #listeners = new Set<() => void>();
  #member: RunningMember | undefined;
  /** Names this node's memory of terms and votes. */
  #storageId = noMemory;
  readonly #storageIds = new Map<NodeId, string>();
  readonly #directory: ServerDirectory;
  /** Where this server answers. */
  #own: KnownServers['own'];
  #snapshots: MemberSnapshots | undefined;
  #engine: Engine | undefined;
  #listens = false;
  /** Members that were not heard of while the cluster forms. */
  #waitsFor: readonly NodeId[] = [];
  /** The leader that the log was last told of. */
  #told: Pick<Role, 'leader' | 'term'> | undefined;
  electionCount = 0;
  /** Wall clock. */
  lastElectionAt: number | undefined;

  constructor(options: ClusterNodeOptions) {
    const {plan, settings, clock} = options;
    this.#options = options;
    this.plan = plan;
    this.token = options.token;
    this.alsoAccepted = options.alsoAccepted;
    this.startedAt = clock.monotonic();
    const {http, https} = plan.self.ports;
    const httpPort = http ?? settings().get('svc.server.httpIncomingPort').from;
    this.#own = {id: plan.id, httpPort, httpsPort: https};
    this.#directory = new ServerDirectory(plan.peers, options.logger);
    this.links = openPeerLinks(settings(), {
      ...options,
      own: plan.self,
      introduce: () => this.introduction,
      judge: (peer, {logId}) => this.#judge(peer, logId),
    });
    const others = plan.peers.filter(peer => peerId(peer) !== plan.id);
    this.#talk = new PeerControlTransport(
      this.links,
      others.map(peer => ({id: peerId(peer), host: peer.host, port: peer.ports.raft})),
      () => (this.#member?.replicator.membership.length ?? 0) > 0,
    );
  }

  get logId(): string {
    return this.plan.logId;
  }

  exists(directory: string): boolean {
    return this.#options.storage.exists(directory);
  }

  async form(data: LocalData, lastIndex: LogIndex): Promise<MemberBeginning> {
    const {plan, settings, clock, timers, logger} = this.#options;
    const offers = settings().get('svc.ha.bootstrapFromLocalDatabase');
    await this.#listen();
    const beginning = await formCluster({
      talk: this.#talk,
      self: plan.id,
      declared: plan.peers.map(peerId),
      data: offers ? data : {databases: [], documents: 0},
      clock,
      timers,
      logger,
      timeoutMs: settings().get('svc.ha.bootstrapTimeoutMs'),
      waits: missing => {
        this.#waitsFor = missing;
      },
    });
    this.#waitsFor = [];
    return beginningOf(beginning, plan, lastIndex);
  }

  /** What this server waits for before it can answer (protocols/http/starting-server.ts). */
  get startState(): Pick<StartState, 'reason' | 'cluster'> {
    const {clusterName, id: localPeerId} = this.plan;
    const waitsFor = this.#waitsFor;
    const cluster = {clusterName, localPeerId, waitsFor};
    if (waitsFor.length === 0) return {reason: 'Server is starting', cluster};
    const missing = waitsFor.map(id => {
      const obstacle = this.links.obstacleOf(id);
      return obstacle === undefined ? id : `${id} (${obstacle})`;
    });
    const reason = `Server waits for its cluster to form, or to be let in: ${missing.join(', ')}`;
    return {reason, cluster};
  }

  /** Undefined until the engine runs. */
  get member(): RunningMember | undefined {
    return this.#member;
  }

  /** Undefined until the server can give and take them. */
  get snapshots(): MemberSnapshots | undefined {
    return this.#snapshots;
  }

  /** Gives and takes snapshots from now on. */
  useSnapshots(
    parts: Omit<MemberSnapshotsOptions, 'member' | 'settings' | 'servers' | 'token'>,
  ): void {
    this.#engine = parts.engine;
    this.#snapshots = new MemberSnapshots({
      ...parts,
      settings: this.#options.settings,
      servers: () => this.servers,
      token: this.token,
      member: () => {
        assert(this.#member !== undefined, 'the engine runs before snapshots are asked for');
        return this.#member;
      },
    });
  }

  /** Tells the others where this server answers, once that is known. */
  listensOn(http: number, https: number | undefined): void {
    this.#own = {id: this.plan.id, httpPort: http, httpsPort: https};
  }

  /** A server was taken in, and this is what was said of it. */
  added(server: DeclaredPeer): void {
    this.#directory.add(server);
  }

  /** Every server of the cluster that is declared or a member, this one too, by id. */
  get servers(): ReadonlyMap<NodeId, ListedServer> {
    return this.#directory.servers({
      own: this.#own,
      membership: this.#member?.replicator.membership ?? this.plan.membership,
      introductions: this.links.introductions,
    });
  }

  /** Calls `listener` whenever leader, leadership or members changed; answers how to end it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** This server takes commits from now on, or no longer. */
  leadershipChanged(): void {
    for (const listener of this.#listeners) listener();
  }

  async open(directory: string, checkpoint: LogCheckpoint | undefined): Promise<MemberLog> {
    const {plan, settings, clock, timers, random, logger, storage} = this.#options;
    await this.#listen();
    const log = {...(await storage.open(directory, checkpoint)), logId: plan.logId};
    const given = settings();
    return new ReplicatedMemberLog({
      raft: raftOptions(given, plan.id, random.u32()),
      log,
      transport: new TracedTransport(
        this.#talk,
        logger,
        () => settings().get('svc.ha.logVerbose') >= tracingVerbosity,
      ),
      clock,
      timers,
      cacheBytesMax,
      processId: processId(random),
      unreadable: (peer, reason) => logger.log('warn', 'peer.unreadable', {peer, reason}),
      quorumTimeoutMs: () => settings().get('svc.ha.quorumTimeout'),
      queueEntriesMax: given.get('svc.ha.groupCommitQueueSize'),
      roomTimeoutMs: () => settings().get('svc.ha.groupCommitOfferTimeout'),
      proposalsMax: given.get('svc.ha.groupCommitBatchSize'),
      purge: purgeOptions(given),
      // It would refuse what it leads, and hand over again.
      takesLeadership: () => this.spaceObstacle === undefined,
      started: member => {
        member.log.keepBehind(() => this.#snapshots?.shelf.oldestIndex);
        this.#started(member, log.storageId);
      },
      news: {
        roleChanged: role => this.#roleChanged(role),
        membershipChanged: membership => {
          logger.log('info', 'cluster.members', {members: membership.map(({id}) => id)});
          this.#membersChanged(membership, log.storageId);
        },
        transferFailed: () => this.leadershipChanged(),
        checkpointNeeded: (from, atLeast) => {
          if (this.#snapshots !== undefined) return this.#snapshots.needed(from, atLeast);
          // The server is starting; it is asked for again.
          this.#member?.replicator.installFailed();
        },
      },
    });
  }

  /** Hands the leadership over before this server stops, where it leads and somebody can. */
  async stepDown(): Promise<void> {
    this.#joining?.close();
    const replicator = this.#member?.replicator;
    if (replicator?.role.name !== 'leader') return;
    const {timers, logger, settings} = this.#options;
    const late = Promise.withResolvers<undefined>();
    const limitMs = settings().get('svc.ha.electionTimeoutMin');
    const cancel = timers.after(limitMs, () => late.resolve(undefined));
    try {
      const to = await Promise.race([replicator.transfer(undefined), late.promise]);
      logger.log('info', 'cluster.stepped-down', {to});
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      // Nobody is fit: the others elect when this server is gone.
      logger.log('info', 'cluster.not-stepped-down', {reason: error.message});
    } finally {
      cancel();
    }
  }

  #started(member: RunningMember, storageId: string): void {
    const {plan, timers, logger} = this.#options;
    const {replicator, log} = member;
    this.#member = member;
    if (replicator.wasMember) this.#storageId = storageId;
    this.#joining = new Joining({
      talk: this.#talk,
      replicator,
      isLeading: () => log.isLeading,
      report: () => this.#report(replicator),
      // Who was never told of members and holds a place of the log came with equal data.
      application: {
        priority: plan.self.priority,
        memory: storageId,
        adopts: replicator.base.index > 0,
      },
      writeDocuments: () => this.#writeDocuments(),
      timers,
      logger,
      asked: peer => this.#storageIds.delete(peer),
      isDecommissioned: peer => this.decommissioned.has(peer),
      clock: this.#options.clock,
    });
  }

  #report({wasMember, lastIndex, base}: Replicator): PeerReport {
    const standing = lastIndex === 0 ? 'formed' : 'member';
    return {
      standing: wasMember ? standing : 'new',
      declared: this.plan.peers.map(peerId),
      data: this.#engine?.localData() ?? {databases: [], documents: 0},
      ...(wasMember && {baseline: this.#baseline(base.index)}),
    };
  }

  /** What the cluster began with, where this server's log holds everything since. */
  #baseline(baseIndex: LogIndex): Baseline | undefined {
    const bootstrap = this.#engine?.state.bootstrap;
    if (bootstrap === undefined || baseIndex > bootstrap.index) return undefined;
    const {databases: _, ...baseline} = bootstrap;
    return baseline;
  }

  /** What the leader answered this server that asks to be taken in; empty: nothing yet. */
  get joinObstacle(): string {
    return this.#joining?.obstacle ?? '';
  }

  /** Who asks to be taken in, and was not yet; on the leader. */
  get waiting(): readonly WaitingServer[] {
    return this.#joining?.waiting ?? [];
  }

  /** Members that were removed: they stay out until they are added. */
  get decommissioned(): ReadonlySet<NodeId> {
    return decommissionedIn(this.#engine?.serverDocument(removedDocument)?.bytes);
  }

  /** Leader only. Notes that a peer stays out from its removal on, or may come again. */
  async decommission(peer: NodeId, isOut: boolean): Promise<void> {
    const engine = this.#engine;
    if (engine === undefined) throw new Refusal('cluster.no-quorum', 'the server is starting');
    const document = engine.serverDocument(removedDocument);
    const ids = new Set(decommissionedIn(document?.bytes));
    if (ids.has(peer) === isOut) return;
    if (isOut) ids.add(peer);
    else ids.delete(peer);
    const bytes = Buffer.from(`${JSON.stringify({version: 1, peers: [...ids].sort()})}\n`);
    await engine.putServerDocument(removedDocument, bytes, document?.version ?? 0);
  }

  /** Why there is no room for what would be written; undefined while there is some. */
  get spaceObstacle(): string | undefined {
    return this.#engine?.spaceObstacle;
  }

  /** What the databases that are here still were when the cluster began, by name. */
  get begunWith(): ClusterState['begunWith'] {
    const {bootstrap, databases = []} = this.#engine?.state ?? {};
    const kept = bootstrap?.databases.filter(({id}) => databases.some(known => known.id === id));
    return new Map(kept?.map(database => [database.name, database]));
  }

  /** Every document of the server once more, for who did not come with a copy of this one's. */
  async #writeDocuments(): Promise<void> {
    const engine = this.#engine;
    if (engine === undefined) throw new Refusal('cluster.no-quorum', 'the server is starting');
    for (const name of Object.keys(engine.state.documents)) {
      const document = engine.serverDocument(name);
      if (document === undefined) continue;
      await engine.putServerDocument(name, document.bytes, document.version);
    }
  }

  /** Who is no member any more may come back with another memory. */
  #membersChanged(membership: Membership, storageId: string): void {
    if (memberOf(membership, this.plan.id) !== undefined) this.#storageId = storageId;
    for (const peer of this.#storageIds.keys()) {
      if (memberOf(membership, peer) === undefined) this.#storageIds.delete(peer);
    }
    this.leadershipChanged();
  }

  /** Lets the others in, once. @throws {Refusal} `start.refused`: the port cannot be had. */
  async #listen(): Promise<void> {
    if (this.#listens) return;
    this.#listens = true;
    this.#talk.open();
    const {host, ports} = this.plan.self;
    await this.links.listenOn(listeningHost(host), ports.raft);
  }

  /**
   * Why a peer that knows the token is not taken. A node that lost its memory must not vote under
   * its old name (note 10, Names); who was removed has no say. Without a leader, or before its log
   * has come, it is not known here who the members are by now, so whoever comes may tell: a server
   * that lost its disk would otherwise turn away the leader that fills it.
   */
  #judge(peer: NodeId, storageId: string): string | undefined {
    // It asks to be let in.
    if (storageId === noMemory) return undefined;
    const {role, membership} = this.#member?.replicator ?? {membership: []};
    const isKnown = role?.leader !== undefined && membership.length > 0;
    if (isKnown && !membership.some(({id}) => id === peer)) {
      return `${peer} is no member of this cluster`;
    }
    const known = this.#storageIds.get(peer);
    if (known !== undefined && known !== storageId) {
      return `${peer} has lost its log: remove it from the cluster and add it again`;
    }
    this.#storageIds.set(peer, storageId);
    return undefined;
  }

  #roleChanged({name, term, leader}: Role): void {
    const {logger, clock, plan} = this.#options;
    this.#talk.follow(leader === plan.id ? undefined : leader);
    const isNews =
      leader !== this.#told?.leader || (leader !== undefined && term !== this.#told?.term);
    if (leader !== undefined && isNews) {
      this.#told = {leader, term};
      this.electionCount++;
      this.lastElectionAt = clock.now();
      logger.log('info', 'cluster.leader', {leader, term});
    } else if (name === 'follower' && isNews) {
      this.#told = {leader, term};
      logger.log('warn', 'cluster.no-leader', {term});
    }
    this.leadershipChanged();
  }

  /** What this server says of itself. */
  get introduction(): PeerIntroduction {
    const {settings, release, formats} = this.#options;
    const {httpPort, httpsPort} = this.#own;
    return {
      serverName: settings().get('svc.server.name'),
      formats,
      release,
      logId: this.#storageId,
      httpPort,
      httpsPort,
    };
  }
}

function processId(random: Random): string {
  const bytes = Buffer.alloc(8);
  random.fill(bytes);
  return bytes.toString('hex');
}
