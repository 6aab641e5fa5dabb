/**
 * A pod that comes back asks whether it is a member still, and to be one where it is not.
 *
 * What it remembers may be out of date: it may have been removed while it was away, and the others
 * then take no connection of it that consensus could use. So it asks them over HTTP for the live
 * membership, and their leader to take it in; it never begins a cluster of its own by this. It goes
 * on until it is a member that hears a leader, and tells its own log why it is none yet. A pod
 * without a memory gets in as every server does (replication/formation/joining.ts).
 *
 * Source: docs/cluster.md.
 */
import {hostAndPort} from '#server/base/addresses.ts';
import {reasonOf} from '#server/base/errors.ts';
import {retryDelayMs} from '#server/base/retry-delay.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {Timers} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import {createClock, createTimers} from '#server/platform/real/clock.ts';
import type {PeerClient, PeerQuestion} from '#server/protocols/http/relay/peer-client.ts';
import {asksItselfParameter} from '#server/protocols/http/cluster/cluster-peers.ts';
import {addressOfId} from '#server/replication/peer-directory.ts';
import {ordinalOf} from '#server/replication/server-list.ts';
import type {Cluster, ClusterState} from '#server/cluster/cluster.ts';
import {localPeer} from '#server/cluster/readiness.ts';
import type {ClusterNode} from './cluster-node.ts';
import {NodeCluster} from './node-cluster.ts';

/** This server as the others would have to add it. */
export interface Applicant {
  readonly id: string;
  /** `host:raftPort:httpPort`. */
  readonly address: string;
  readonly name: string;
  readonly priority: number;
}

export interface JoinProbeOptions {
  readonly cluster: Cluster;
  readonly peerClient: PeerClient;
  readonly applicant: Applicant;
  /** Its log has told it once that it is a member. */
  readonly wasMember: () => boolean;
  readonly timers: Timers;
  readonly logger: Logger;
}

const stepMs = 500;
const firstDelayMsMax = 3_000;
const retryDelays = {firstMs: 2_000, mostMs: 60_000} as const;
const askMs = 5_000;
/** A leader answers when the change is committed. */
const joinMs = 90_000;

/** Asks for this server, if it is a pod, from now on; it need not be ready for it. */
export function startJoinProbe(
  node: ClusterNode,
  settings: Settings,
  {peerClient, logger}: Pick<JoinProbeOptions, 'peerClient' | 'logger'>,
): JoinProbe | undefined {
  if (!settings.get('svc.ha.k8s')) return undefined;
  const {id, self} = node.plan;
  const means = {clock: createClock(), timers: createTimers()};
  return new JoinProbe({
    cluster: new NodeCluster(node, means),
    peerClient,
    applicant: {
      id,
      address: `${hostAndPort(self.host, self.ports.raft)}:${node.introduction.httpPort}`,
      name: settings.get('svc.server.name'),
      priority: Math.max(0, self.priority),
    },
    wasMember: () => node.member?.replicator.wasMember === true,
    timers: means.timers,
    logger,
  });
}

export class JoinProbe {
  readonly #options: JoinProbeOptions;
  #cancel: () => void;
  #probes = 0;

  /** Begins after a moment, which grows with the number of the pod: they start together. */
  constructor(options: JoinProbeOptions) {
    this.#options = options;
    const ordinal = ordinalOf(options.applicant.name) ?? 0;
    const delayMs = Math.min(firstDelayMsMax, stepMs * ordinal);
    this.#cancel = options.timers.after(delayMs, () => void this.#probe());
  }

  end(): void {
    this.#cancel();
  }

  async #probe(): Promise<void> {
    const {cluster, timers, logger, applicant, wasMember} = this.#options;
    const state = cluster.state();
    if (isIn(state)) {
      logger.log('info', 'cluster.joined', {peer: applicant.id, leader: state.leaderId});
      this.end();
      return;
    }
    if (wasMember()) {
      const reason = await this.#ask(state);
      // Its leader may not have been elected yet.
      const level = this.#probes === 0 ? 'info' : 'warn';
      logger.log(level, 'cluster.not-joined', {peer: applicant.id, reason});
    }
    this.#cancel = timers.after(retryDelayMs(retryDelays, this.#probes), () => void this.#probe());
    this.#probes += 1;
  }

  /** Why this server is no member yet, for people. */
  async #ask(state: ClusterState): Promise<string> {
    const reasons: string[] = [];
    for (const peer of state.peers) {
      if (peer.id === state.localPeerId) continue;
      try {
        const live = await this.#statusOf(peer);
        if (live.leader === undefined) {
          reasons.push(`${peer.id} knows no leader`);
          continue;
        }
        if (live.members.includes(this.#options.applicant.id)) {
          return 'it is a member, and has not heard the leader yet';
        }
        return await this.#applyTo(live.leader);
      } catch (error) {
        reasons.push(reasonOf(error));
      }
    }
    return reasons.join('; ') || 'svc.ha.serverList names nobody to ask';
  }

  async #statusOf(peer: PeerQuestion['peer']): Promise<LiveMembership> {
    const {peerClient, cluster} = this.#options;
    const {token} = cluster;
    const path = '/cluster';
    const asked = {peer, method: 'GET', path, token, user: 'root', timeoutMs: askMs} as const;
    const {status, json} = await peerClient.ask(asked);
    if (status !== 200) throw new Error(`${peer.id} answered ${status}`);
    return liveMembership(json as StatusJson);
  }

  async #applyTo(leader: PeerQuestion['peer']): Promise<string> {
    const {peerClient, cluster, applicant} = this.#options;
    const {id: peerId, ...rest} = applicant;
    const {status, json} = await peerClient.ask({
      peer: leader,
      method: 'POST',
      path: `/cluster/peer?${asksItselfParameter}=true`,
      token: cluster.token,
      user: 'root',
      body: {peerId, ...rest},
      timeoutMs: joinMs,
    });
    if (status === 200) return 'it was added, and has not heard the leader yet';
    const {detail, error} = (json ?? {}) as {readonly detail?: string; readonly error?: string};
    return `${leader.id} does not add it: ${detail ?? error ?? status}`;
  }
}

/** A member that hears a leader, or leads. */
function isIn(state: ClusterState): boolean {
  return state.leaderId !== undefined && localPeer(state)?.inConfiguration === true;
}

interface StatusJson {
  readonly leaderId: string | null;
  readonly peers: readonly {
    readonly id: string;
    readonly inConfiguration: boolean;
    readonly httpAddress?: string;
    readonly httpsAddress?: string;
  }[];
}

interface LiveMembership {
  readonly leader: PeerQuestion['peer'] | undefined;
  readonly members: readonly string[];
}

function liveMembership({leaderId, peers}: StatusJson): LiveMembership {
  const leader = peers.find(({id}) => id === leaderId);
  return {
    leader: leader && {
      id: leader.id,
      host: addressOfId(leader.id).host,
      httpPort: portIn(leader.httpAddress),
      httpsPort: portIn(leader.httpsAddress),
    },
    members: peers.filter(peer => peer.inConfiguration).map(({id}) => id),
  };
}

function portIn(address: string | undefined): number | undefined {
  return address === undefined ? undefined : Number(address.slice(address.lastIndexOf(':') + 1));
}
