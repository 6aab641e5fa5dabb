/**
 * The cluster as sessions and protocols see it (cluster/cluster.ts), over the node that runs it.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Clock, Timers} from '#server/platform/clock.ts';
import {type MembershipChange, memberOf} from '#server/raft/membership.ts';
import type {NodeId} from '#server/raft/message.ts';
import type {RunningMember} from '#server/replication/storage/member-log.ts';
import type {ListedServer} from '#server/replication/peer-directory.ts';
import type {PeerIntroduction} from '#server/replication/peer-transport.ts';
import {
  type AddedPeer,
  type Cluster,
  type ClusterPeer,
  type ClusterState,
  type HttpAddress,
  httpAddressOf,
  type PeerProgress,
} from '#server/cluster/cluster.ts';
import type {ClusterNode} from './cluster-node.ts';
import {noCopies} from './member-snapshots.ts';

export interface NodeClusterDependencies {
  readonly clock: Clock;
  readonly timers: Timers;
}

/** See docs/cluster.md. */
const changeRetryMs = 90_000;
const changePauseMs = 50;
/** Heartbeats come ten times a second and more. */
const underWayMs = 150;
const answerMsMax = 3_000;

export class NodeCluster implements Cluster {
  readonly #node: ClusterNode;
  readonly #means: NodeClusterDependencies;
  /** The moment since which each peer's match index stands still. */
  readonly #standing = new Map<NodeId, {readonly match: number; readonly since: number}>();

  constructor(node: ClusterNode, means: NodeClusterDependencies) {
    this.#node = node;
    this.#means = means;
  }

  get token(): string {
    return this.#node.token;
  }

  get alsoAccepted(): readonly string[] {
    return this.#node.alsoAccepted;
  }

  get isLeader(): boolean {
    return this.#node.member?.log.isLeading === true;
  }

  get wasRemoved(): boolean {
    return this.#node.member?.replicator.wasRemoved === true;
  }

  state(): ClusterState {
    const {plan, member, electionCount, lastElectionAt, startedAt} = this.#node;
    const replicator = member?.replicator;
    const role = replicator?.role;
    const failure = member?.log.failure;
    // Whom it last heard lead goes on without it, and tells it nothing any more.
    const wasRemoved = replicator?.wasRemoved === true;
    const leaderId = wasRemoved ? undefined : role?.leader;
    return {
      clusterName: plan.clusterName,
      localPeerId: plan.id,
      raftState:
        failure === undefined ? (member === undefined ? 'STARTING' : 'RUNNING') : 'EXCEPTION',
      isLeader: role?.name === 'leader',
      leaderReady:
        this.isLeader && (role?.firstIndex ?? Infinity) <= (member?.log.appliedIndex ?? 0),
      leaderId,
      wasRemoved,
      configurationIndex: replicator?.membershipIndex ?? 0,
      waiting: this.isLeader ? this.#node.waiting : [],
      currentTerm: role?.term ?? 0,
      electionCount,
      lastElectionTime: lastElectionAt,
      uptimeMs: this.#means.clock.monotonic() - startedAt,
      appliedIndex: member?.log.appliedIndex ?? 0,
      commitIndex: replicator?.commitIndex ?? 0,
      leaderCommitIndex: leaderId === undefined ? undefined : replicator?.commitIndex,
      peers: this.#peers(member),
      turnedAway: this.#turnedAway(),
      uncommittedBytes: replicator?.uncommittedBytes ?? 0,
      logFailure: failure,
      spaceObstacle: this.#node.spaceObstacle,
      isInstallingSnapshot: this.#node.snapshots?.isInstalling === true,
      copies: this.#node.snapshots?.copies ?? noCopies,
      begunWith: this.#node.begunWith,
    };
  }

  leaderHttpAddress(): HttpAddress | undefined {
    const replicator = this.#node.member?.replicator;
    const leader = replicator?.role.leader;
    if (leader === undefined || leader === this.#node.plan.id) return undefined;
    if (replicator?.wasRemoved === true) return undefined;
    const server = this.#node.servers.get(leader);
    return server && httpAddressOf(server);
  }

  onLeaderChange(listener: () => void): () => void {
    return this.#node.onChange(listener);
  }

  whenLeaderKnown(timeoutMs: number): Promise<boolean> {
    const isKnown = (): boolean => this.isLeader || this.leaderHttpAddress() !== undefined;
    return isKnown() ? Promise.resolve(true) : this.#until(isKnown, timeoutMs);
  }

  whenSettled(timeoutMs: number): Promise<void> | undefined {
    const isSettled = (): boolean => {
      const replicator = this.#node.member?.replicator;
      if (replicator?.role.name !== 'leader') return true;
      return this.isLeader && replicator.obstacle !== 'transferring';
    };
    return isSettled() ? undefined : this.#until(isSettled, timeoutMs).then(() => undefined);
  }

  /** Asked again with every change of leader or leadership; false when the time went by first. */
  #until(holds: () => boolean, timeoutMs: number): Promise<boolean> {
    const {promise, resolve} = Promise.withResolvers<boolean>();
    const ends: (() => void)[] = [];
    const end = (held: boolean): void => {
      for (const stop of ends) stop();
      resolve(held);
    };
    ends.push(this.#node.onChange(() => holds() && end(true)));
    ends.push(this.#means.timers.after(timeoutMs, () => end(false)));
    return promise;
  }

  async readIndex(timeoutMs: number): Promise<number> {
    return await this.#running().replicator.readIndex(timeoutMs);
  }

  async whenApplied(index: number, timeoutMs: number): Promise<boolean> {
    const {log} = this.#running();
    if (log.appliedIndex >= index) return true;
    const timeout = Promise.withResolvers<void>();
    const cancel = this.#means.timers.after(timeoutMs, timeout.resolve);
    const deadline = this.#means.clock.monotonic() + timeoutMs;
    // Woken early when the leadership ended: the entry may come from the next leader.
    while (log.appliedIndex < index && this.#means.clock.monotonic() < deadline) {
      if (log.failure !== undefined) break;
      await Promise.race([log.whenApplied(index), timeout.promise]);
    }
    cancel();
    return log.appliedIndex >= index;
  }

  async addPeer(peer: AddedPeer): Promise<void> {
    if (this.#node.decommissioned.has(peer.id)) {
      if (peer.asksItself === true) {
        const reason = `${peer.id} was removed, and stays out until it is added: svc cluster add`;
        throw new Refusal('cluster.membership', reason);
      }
      await this.#node.decommission(peer.id, false);
    }
    await this.#change({kind: 'add', id: peer.id, priority: peer.priority});
    const {name, host, priority, raftPort: raft, httpPort: http, httpsPort: https} = peer;
    const ports = {raft, ...(http !== undefined && {http}), ...(https !== undefined && {https})};
    this.#node.added({name, host, ports, priority});
  }

  async removePeer(id: string, force: boolean): Promise<void> {
    const {replicator} = this.#running();
    if (id === replicator.id && !force) {
      throw new Refusal('cluster.peer', `${id} leads: hand its leadership over before`);
    }
    if (!force) await this.#heardSince(id);
    // First: a removed server asks again at once.
    await this.#node.decommission(id, true);
    try {
      await this.#change({kind: 'remove', id});
    } catch (error) {
      const isMember = memberOf(replicator.membership, id) !== undefined;
      if (isMember && this.isLeader) await this.#node.decommission(id, false);
      throw error;
    }
  }

  /**
   * Whether those who stay can write without `leaving` is known only from what they say after the
   * removal was asked for: one of them may have ended a moment ago.
   *
   * @throws {Refusal} `cluster.membership`: too few answered; nothing was changed.
   */
  async #heardSince(leaving: NodeId): Promise<void> {
    const {clock, timers} = this.#means;
    const {replicator} = this.#running();
    const voters = replicator.membership.filter(({role}) => role === 'voter');
    if (!voters.some(({id}) => id === leaving)) return;
    const staying = voters.filter(({id}) => id !== leaving);
    const needed = Math.floor(staying.length / 2) + 1;
    // What was under way already when it was asked for may come from one that has ended since.
    const askedAt = clock.monotonic() + underWayMs;
    const answering = (): number =>
      staying.filter(({id}) => {
        if (id === replicator.id) return true;
        const progress = replicator.progress.get(id);
        const silence = progress && replicator.silenceOf(progress);
        return silence !== undefined && clock.monotonic() - silence > askedAt;
      }).length;
    const deadline = askedAt + answerMsMax;
    while (answering() < needed) {
      if (clock.monotonic() >= deadline) {
        throw new Refusal(
          'cluster.membership',
          `without ${leaving}, ${answering()} of ${staying.length} voters answer and ${needed} ` +
            'are needed: bring them back first, or remove it with force=true',
        );
      }
      await new Promise<void>(resolve => void timers.after(changePauseMs, resolve));
    }
  }

  /** One change at a time: a leader that was just elected, or makes another, is asked again. */
  async #change(change: MembershipChange): Promise<void> {
    const {clock, timers} = this.#means;
    const deadline = clock.monotonic() + changeRetryMs;
    for (;;) {
      try {
        return await this.#running().replicator.change(change);
      } catch (error) {
        const isPending = error instanceof Refusal && error.detail['reason'] === 'change-pending';
        if (!isPending || clock.monotonic() >= deadline) throw error;
        await new Promise<void>(resolve => {
          timers.after(changePauseMs, resolve);
        });
      }
    }
  }

  async transferLeadership(to: string | undefined, timeoutMs: number): Promise<string> {
    const {replicator} = this.#running();
    if (to === replicator.id) throw new Refusal('cluster.peer', `${to} leads already`);
    const {promise, reject} = Promise.withResolvers<never>();
    const late = new Refusal('cluster.no-quorum', 'nobody took the leadership over in time');
    const cancel = this.#means.timers.after(timeoutMs, () => reject(late));
    try {
      return await Promise.race([replicator.transfer(to), promise]);
    } finally {
      cancel();
    }
  }

  async resync(database: string): Promise<void> {
    const {snapshots} = this.#node;
    if (snapshots === undefined) this.#running();
    await snapshots?.resync(database);
  }

  #running(): RunningMember {
    const {member} = this.#node;
    if (member !== undefined) return member;
    throw new Refusal('cluster.no-quorum', 'the server is starting');
  }

  #turnedAway(): ClusterState['turnedAway'] {
    const now = this.#means.clock.monotonic();
    return this.#node.links.rejections.map(({lastAt, ...rejected}) => ({
      ...rejected,
      agoMs: now - lastAt,
    }));
  }

  #peers(member: RunningMember | undefined): ClusterPeer[] {
    return [...this.#node.servers.values()].map(server => this.#peer(server, member));
  }

  #peer(server: ListedServer, member: RunningMember | undefined): ClusterPeer {
    const {plan, links} = this.#node;
    const {id, host, raftPort, httpPort, httpsPort} = server;
    const inForce = memberOf(member?.replicator.membership ?? plan.membership, id);
    const introduction = id === plan.id ? this.#node.introduction : links.introductions.get(id);
    return {
      id,
      name: server.name ?? introduction?.serverName,
      host,
      raftPort,
      httpPort,
      httpsPort,
      priority: inForce?.priority ?? server.priority,
      inConfiguration: server.inConfiguration,
      isDeclared: server.isDeclared,
      isVoter: inForce?.role === 'voter',
      release: introduction?.release,
      formats: introduction?.formats,
      unknownReason: unknownReason(server, introduction),
      obstacle: links.obstacleOf(id),
      silentMs: links.silenceOf(id),
      progress: member && this.#progress(id, member),
    };
  }

  #progress(id: NodeId, {replicator}: RunningMember): PeerProgress | undefined {
    const progress = replicator.progress.get(id);
    if (progress === undefined) return undefined;
    const now = this.#means.clock.monotonic();
    const {match} = progress;
    const lags = match < replicator.commitIndex;
    let standing = this.#standing.get(id);
    if (standing === undefined || standing.match !== match || !lags) {
      standing = {match, since: now};
      this.#standing.set(id, standing);
    }
    return {
      matchIndex: match,
      nextIndex: progress.next,
      lastContactMs: replicator.silenceOf(progress),
      laggingForMs: now - standing.since,
      isInstallingSnapshot: progress.mode === 'snapshot',
      roundTrip: this.#node.links.roundTripsOf(id),
    };
  }
}

/** Why it is not known what a server can do; undefined where it is. */
function unknownReason(
  {httpPort}: ListedServer,
  introduction: PeerIntroduction | undefined,
): ClusterPeer['unknownReason'] {
  if (introduction !== undefined) return undefined;
  return httpPort === 'ambiguous' ? 'not identified' : 'unreachable';
}
