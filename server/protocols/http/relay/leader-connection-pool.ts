/**
 * The connections to the leader that the raw HTTP path's requests are relayed over: kept, the last
 * one used is used next, all of one leader. Those of a leader before end when they are free; a
 * request that is still unanswered a while after another server took over is given up.
 */
import {hostAndPort} from '#server/base/addresses.ts';
import {type Cluster, isSameAddress} from '#server/cluster/cluster.ts';
import type {HttpTarget} from './idle-connections.ts';
import type {RelayContext} from './relayed-exchange.ts';
import {deposedPatienceMs} from './leader-address.ts';
import {LeaderConnection, type RelayedRequest} from './leader-connection.ts';
import type {Relayed} from './relayed-response.ts';

const linesMax = 1_024;

export class LeaderConnectionPool {
  readonly #context: RelayContext;
  readonly #cluster: Cluster;
  readonly #forget: () => void;
  readonly #lines = new Set<LeaderConnection>();
  readonly #free: LeaderConnection[] = [];
  #target: HttpTarget | undefined;

  constructor(context: RelayContext, cluster: Cluster) {
    this.#context = context;
    this.#cluster = cluster;
    this.#forget = cluster.onLeaderChange(() => {
      const address = cluster.leaderHttpAddress();
      if (address === undefined ? cluster.isLeader : !isSameAddress(address, this.#target))
        this.#leave();
    });
  }

  close(): void {
    this.#forget();
    for (const line of this.#lines) line.end('this server is stopping');
  }

  /** Sends a request to `target`, which is not asked over TLS; resolves with what became of it. */
  async relay(target: HttpTarget, request: RelayedRequest, gone: AbortSignal): Promise<Relayed> {
    if (gone.aborted) return {kind: 'unsent', reason: 'the client is gone'};
    if (!isSameAddress(this.#target, target)) {
      this.#leave();
      this.#target = target;
    }
    const asked = this.#target;
    const line = this.#next() ?? this.#open(target);
    if (line === undefined) return {kind: 'unsent', reason: 'too many requests are under way'};
    const onGone = (): void => line.end('the client is gone');
    gone.addEventListener('abort', onGone);
    const outcome = await line.send(request);
    gone.removeEventListener('abort', onGone);
    if (asked !== this.#target) line.end('another server leads');
    else if (line.isUsable) this.#free.push(line);
    return outcome;
  }

  #next(): LeaderConnection | undefined {
    for (;;) {
      const line = this.#free.pop();
      if (line === undefined || line.isUsable) return line;
    }
  }

  #open(target: HttpTarget): LeaderConnection | undefined {
    if (this.#lines.size >= linesMax) return undefined;
    const connectMs = this.#context.settings.get('svc.ha.proxyConnectTimeout');
    const line = new LeaderConnection(target, connectMs, closed => {
      this.#lines.delete(closed);
    });
    this.#lines.add(line);
    return line;
  }

  /** Another server leads: what is free ends, what is asked has a moment to be answered. */
  #leave(): void {
    const target = this.#target;
    if (target === undefined) return;
    this.#target = undefined;
    const busy = [...this.#lines].filter(line => line.isBusy);
    for (const line of this.#free.splice(0)) line.end('another server leads');
    if (busy.length === 0) return;
    const reason = `${hostAndPort(target.host, target.port)} does not lead any more`;
    this.#context.options.timers.after(deposedPatienceMs(this.#cluster, target), () => {
      for (const line of busy) line.end(reason);
    });
  }
}
