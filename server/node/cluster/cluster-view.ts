/**
 * The cluster as sessions and protocols see it (session/cluster.ts), over the node that runs it.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Clock, Timers} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import {type Membership, type MembershipChange, memberOf} from '#server/raft/membership.ts';
import type {NodeId} from '#server/raft/message.ts';
import type {RunningMember} from '#server/replication/member-log.ts';
import {
  type ListedServer,
  type PeerProtocol,
  peerDirectory,
} from '#server/replication/peer-directory.ts';
import type {PeerIntroduction} from '#server/replication/peer-transport.ts';
import type {DeclaredPeer} from '#server/replication/server-list.ts';
import type {
  AddedPeer,
  Cluster,
  ClusterPeer,
  ClusterState,
  PeerProgress,
} from '#server/session/cluster.ts';
import type {ClusterNode} from './cluster-node.ts';

export interface ClusterViewMeans {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
}

/** Source: reference 3.4. */
const changeRetryMs = 90_000;
const changePauseMs = 50;

interface HttpAddress {
  readonly host: string;
  readonly port: number;
}

export class ClusterView implements Cluster {
  readonly #node: ClusterNode;
  readonly #means: ClusterViewMeans;
  /** Since when each peer's match index stands still. */
  readonly #standing = new Map<NodeId, {readonly match: number; readonly since: number}>();

  /** Where servers answer that were added while the cluster ran, as far as this node was told. */
  readonly #added = new Map<NodeId, DeclaredPeer>();
  readonly #warned = new Set<PeerProtocol>();

  constructor(node: ClusterNode, means: ClusterViewMeans) {
    this.#node = node;
    this.#means = means;
  }

  get token(): string {
    return this.#node.token;
  }

  get isLeader(): boolean {
    return this.#node.member?.log.isLeading === true;
  }

  state(): ClusterState {
    const {plan, member, electionCount, lastElectionAt, startedAt} = this.#node;
    const replicator = member?.replicator;
    const role = replicator?.role;
    const failure = member?.log.failure;
    return {
      clusterName: plan.clusterName,
      localPeerId: plan.id,
      raftState:
        failure === undefined ? (member === undefined ? 'STARTING' : 'RUNNING') : 'EXCEPTION',
      isLeader: role?.name === 'leader',
      leaderReady: this.isLeader,
      leaderId: role?.leader,
      currentTerm: role?.term ?? 0,
      electionCount,
      lastElectionTime: lastElectionAt,
      uptimeMs: this.#means.clock.monotonic() - startedAt,
      appliedIndex: member?.log.appliedIndex ?? 0,
      commitIndex: replicator?.commitIndex ?? 0,
      leaderCommitIndex: role?.leader === undefined ? undefined : replicator?.commitIndex,
      peers: this.#peers(member),
      uncommittedBytes: replicator?.uncommittedBytes ?? 0,
      logFailure: failure,
      isInstallingSnapshot: this.#node.snapshots?.isInstalling === true,
    };
  }

  leaderHttpAddress(): HttpAddress | undefined {
    const leader = this.#node.member?.replicator.role.leader;
    if (leader === undefined || leader === this.#node.plan.id) return undefined;
    return this.#httpAddress(leader);
  }

  onLeaderChange(listener: () => void): () => void {
    return this.#node.onChange(listener);
  }

  whenLeaderKnown(timeoutMs: number): Promise<boolean> {
    const isKnown = (): boolean => this.isLeader || this.leaderHttpAddress() !== undefined;
    if (isKnown()) return Promise.resolve(true);
    const {promise, resolve} = Promise.withResolvers<boolean>();
    const ends: (() => void)[] = [];
    const end = (known: boolean): void => {
      for (const stop of ends) stop();
      resolve(known);
    };
    ends.push(this.#node.onChange(() => isKnown() && end(true)));
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
    await this.#change({kind: 'add', id: peer.id, priority: peer.priority});
    const {id, name, host, priority, raftPort: raft, httpPort: http} = peer;
    const ports = http === undefined ? {raft} : {raft, http};
    this.#added.set(id, {name, host, ports, priority});
  }

  async removePeer(id: string, force: boolean): Promise<void> {
    const {replicator} = this.#running();
    if (id === replicator.id && !force) {
      throw new Refusal('cluster.peer', `${id} leads: hand its leadership over before`);
    }
    await this.#change({kind: 'remove', id});
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

  #peers(member: RunningMember | undefined): ClusterPeer[] {
    const introductions = this.#introductions();
    const membership = this.#membership(member);
    return this.#directory(introductions).map(({id, ...server}) => {
      const inForce = memberOf(membership, id);
      const introduction = introductions.get(id);
      return {
        id,
        ...server,
        priority: inForce?.priority ?? server.priority,
        isVoter: inForce?.role === 'voter',
        release: introduction?.release,
        formats: introduction?.formats,
        unknownReason: introduction === undefined ? 'unreachable' : undefined,
        progress: member && this.#progress(id, member),
      };
    });
  }

  #membership(member: RunningMember | undefined): Membership {
    return member?.replicator.membership ?? this.#node.plan.membership;
  }

  #introductions(): ReadonlyMap<NodeId, PeerIntroduction> {
    const {plan, links, introduction} = this.#node;
    const introductions = new Map([[plan.id, introduction]]);
    for (const {id, introduction: theirs} of links.connections()) {
      if (theirs !== undefined) introductions.set(id, theirs);
    }
    return introductions;
  }

  #directory(introductions: ReadonlyMap<NodeId, PeerIntroduction>): readonly ListedServer[] {
    const {plan, introduction, member} = this.#node;
    const {httpPort, httpsPort} = introduction;
    const {servers, derived} = peerDirectory({
      own: {id: plan.id, httpPort, httpsPort},
      declared: plan.peers,
      added: [...this.#added.values()],
      members: this.#membership(member).map(({id}) => id),
      introductions,
    });
    for (const protocol of derived) this.#warnOfDerived(protocol);
    return servers;
  }

  #warnOfDerived(protocol: PeerProtocol): void {
    if (this.#warned.has(protocol)) return;
    this.#warned.add(protocol);
    const advice = `name its ${protocol} port in svc.ha.serverList`;
    this.#means.logger.log('warn', 'cluster.port-derived', {protocol, advice});
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
    };
  }

  #httpAddress(id: NodeId): HttpAddress | undefined {
    const address = this.#directory(this.#introductions()).find(one => one.id === id)?.httpAddress;
    if (address === undefined) return undefined;
    const at = address.lastIndexOf(':');
    const host = address.slice(0, at).replace(/^\[(.*)\]$/, '$1');
    return {host, port: Number(address.slice(at + 1))};
  }
}
