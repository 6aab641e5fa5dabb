/**
 * This server as a member of its cluster: opens the log that it shares, speaks to the others, and
 * keeps what is known of leader and members for whoever asks (cluster-view.ts).
 */
import {assert} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {Clock, Random, Timers} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {NodeId} from '#server/raft/message.ts';
import type {Role} from '#server/replication/replicator.ts';
import {
  type OpenedLog,
  ReplicatedMemberLog,
  type RunningMember,
} from '#server/replication/member-log.ts';
import type {PeerLinks} from '#server/replication/peer-links.ts';
import type {PeerIntroduction} from '#server/replication/peer-transport.ts';
import type {LogCheckpoint, MemberLog} from '#server/transactions/engine-log.ts';
import {type ClusterPlan, purgeOptions, raftOptions} from './cluster-plan.ts';
import {MemberSnapshots, type MemberSnapshotsOptions} from './member-snapshots.ts';
import {listeningHost, openPeerLinks} from './peer-connections.ts';

export interface ClusterNodeOptions {
  readonly plan: ClusterPlan;
  readonly settings: () => Settings;
  readonly clock: Clock;
  readonly random: Random;
  readonly timers: Timers;
  readonly logger: Logger;
  /** The cluster's token (replication/cluster-token.ts). */
  readonly token: string;
  readonly release: string;
  readonly formats: PeerIntroduction['formats'];
  /** Opens what the disk holds of the log, or begins it as the plan says. */
  readonly openStorage: (
    directory: string,
    installed: LogCheckpoint | undefined,
  ) => Promise<OpenedLog>;
}

const cacheBytesMax = 64 << 20;

export class ClusterNode {
  readonly plan: ClusterPlan;
  readonly token: string;
  readonly startedAt: number;
  readonly links: PeerLinks;
  readonly #options: ClusterNodeOptions;
  readonly #listeners = new Set<() => void>();
  #member: RunningMember | undefined;
  /** Of this node's memory, and of the others' as they said. */
  #storageId = '';
  readonly #storageIds = new Map<NodeId, string>();
  #ports: {readonly http: number; readonly https: number | undefined};
  #snapshots: MemberSnapshots | undefined;
  electionCount = 0;
  /** Wall clock. */
  lastElectionAt: number | undefined;

  constructor(options: ClusterNodeOptions) {
    const {plan, settings, clock} = options;
    this.#options = options;
    this.plan = plan;
    this.token = options.token;
    this.startedAt = clock.monotonic();
    const {http, https} = plan.self.ports;
    this.#ports = {http: http ?? settings().get('svc.server.httpIncomingPort').from, https};
    this.links = openPeerLinks(settings(), {
      ...options,
      own: plan.self,
      introduce: () => this.introduction,
      judge: (peer, {logId}) => this.#judge(peer, logId),
    });
  }

  /** Undefined until the engine runs. */
  get member(): RunningMember | undefined {
    return this.#member;
  }

  /** Undefined until the server can give and take them. */
  get snapshots(): MemberSnapshots | undefined {
    return this.#snapshots;
  }

  /** From now on snapshots are given and taken. */
  useSnapshots(parts: Omit<MemberSnapshotsOptions, 'member' | 'settings'>): void {
    this.#snapshots = new MemberSnapshots({
      ...parts,
      settings: this.#options.settings,
      member: () => {
        assert(this.#member !== undefined, 'the engine runs before snapshots are asked for');
        return this.#member;
      },
    });
  }

  /** Tells the others where this server answers, once that is known. */
  listensOn(http: number, https: number | undefined): void {
    this.#ports = {http, https};
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

  /** Opens the log in its directory; the engine starts it when its databases are open. */
  async openLog(directory: string, installed: LogCheckpoint | undefined): Promise<MemberLog> {
    const {plan, settings, clock, timers, random, logger, openStorage} = this.#options;
    const log = await openStorage(directory, installed);
    this.#storageId = log.storageId;
    const given = settings();
    return new ReplicatedMemberLog({
      raft: raftOptions(given, plan.id, random.u32()),
      log,
      transport: this.links,
      clock,
      timers,
      cacheBytesMax,
      processId: processId(random),
      unreadable: (peer, reason) => logger.log('warn', 'peer.unreadable', {peer, reason}),
      quorumTimeoutMs: () => settings().get('svc.ha.quorumTimeout'),
      queueEntriesMax: given.get('svc.ha.groupCommitQueueSize'),
      purge: purgeOptions(given),
      started: member => {
        this.#member = member;
      },
      news: {
        roleChanged: role => this.#roleChanged(role),
        membershipChanged: membership => {
          // Who was removed may come back, with another log.
          for (const id of this.#storageIds.keys()) {
            if (!membership.some(member => member.id === id)) this.#storageIds.delete(id);
          }
          logger.log('info', 'cluster.members', {members: membership.map(({id}) => id)});
          this.leadershipChanged();
        },
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

  /** Lets the others in. @throws {Refusal} `start.refused`: the port cannot be had. */
  async listen(): Promise<void> {
    const {host, ports} = this.plan.self;
    await this.links.listenOn(listeningHost(host), ports.raft);
  }

  /**
   * Why a peer that knows the token is not taken. A node that lost its memory must not vote under
   * its old name (note 10, Names); who was removed has no say. Without a leader it is not known
   * here who the members are by now, so whoever comes may tell.
   */
  #judge(peer: NodeId, storageId: string): string | undefined {
    const {role, membership} = this.#member?.replicator ?? {membership: []};
    if (role?.leader !== undefined && !membership.some(({id}) => id === peer)) {
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
    const {logger, clock} = this.#options;
    if (leader !== undefined) {
      this.electionCount++;
      this.lastElectionAt = clock.now();
      logger.log('info', 'cluster.leader', {leader, term});
    } else if (name === 'follower') logger.log('warn', 'cluster.no-leader', {term});
    this.leadershipChanged();
  }

  /** What this server says of itself. */
  get introduction(): PeerIntroduction {
    const {settings, release, formats} = this.#options;
    const {http, https} = this.#ports;
    return {
      serverName: settings().get('svc.server.name'),
      formats,
      release,
      logId: this.#storageId,
      httpPort: http,
      httpsPort: https,
    };
  }
}

function processId(random: Random): string {
  const bytes = Buffer.alloc(8);
  random.fill(bytes);
  return bytes.toString('hex');
}
