/**
 * Where requests to the leader go: over HTTPS where this server itself listens for it, else in
 * clear, with one warning, since the token of the cluster goes along.
 *
 * Source: docs/cluster-connections.md.
 */
import {type Cluster, type HttpAddress, isSameAddress} from '#server/cluster/cluster.ts';
import {type HttpTarget, targetOf} from './idle-connections.ts';
import type {RelayContext} from './relayed-exchange.ts';

/** Milliseconds after its last word for which one that is deposed may tell of a request. */
const deposedMs = 1_000;

/**
 * Milliseconds for which a request at a leader that leads no more is waited for: one that was
 * silent before it was deposed has used up its time.
 */
export function deposedPatienceMs(cluster: Cluster, target: HttpTarget): number {
  const {peers} = cluster.state();
  const formerLeader = peers.find(peer => isSameAddress(targetOf(peer, target.isSecure), target));
  return Math.max(0, deposedMs - (formerLeader?.silentMs ?? 0));
}

export class LeaderAddress {
  readonly #context: RelayContext;
  readonly #cluster: Cluster;

  constructor(context: RelayContext, cluster: Cluster) {
    this.#context = context;
    this.#cluster = cluster;
  }

  /** Undefined while nobody leads, or where it cannot be told. */
  target(): HttpTarget | undefined {
    const plain = this.#cluster.leaderHttpAddress();
    if (!this.#context.settings.get('svc.ssl.enabled')) return this.#inClear(plain);
    const {leaderId, localPeerId, peers} = this.#cluster.state();
    if (leaderId === localPeerId) return undefined;
    const leader = peers.find(({id}) => id === leaderId);
    const secure = leader && targetOf(leader, true);
    if (secure?.isSecure === true) return secure;
    return this.#inClear(plain);
  }

  #inClear(plain: HttpAddress | undefined): HttpTarget | undefined {
    if (plain === undefined) return undefined;
    const target = {...plain, isSecure: false};
    this.#context.options.peerClient.warnOfClear(target);
    return target;
  }
}
