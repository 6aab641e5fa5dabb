/**
 * Kept connections to the leader, and one request sent over them, up to the head of its answer.
 *
 * A client that goes away takes its request at the leader with it; a leader that is silent for too
 * long is given up, and so is one that leads no more, a moment after another one does.
 */
import type {ClientRequest, IncomingMessage} from 'node:http';
import type {Readable} from 'node:stream';
import {hostAndPort} from '#server/base/addresses.ts';
import type {Cluster, HttpAddress} from '#server/cluster/cluster.ts';
import type {NoAnswer} from '#server/forwarding/leader-attempts.ts';
import {type HttpTarget, KeptConnections} from './idle-connections.ts';
import {deposedPatienceMs} from './leader-address.ts';
import type {RelayContext} from './relayed-exchange.ts';

export interface LeaderRequest {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: readonly string[];
  readonly body: Buffer | Readable;
  /** Milliseconds that the leader may take to begin its answer. */
  readonly patienceMs: number;
  /** Aborted when nobody waits for the answer. */
  readonly signal: AbortSignal | undefined;
  /** More is asked of the leader while it answers: it has to lead until the end. */
  readonly goesOn?: boolean;
}

export interface SentRequest {
  readonly request: ClientRequest;
  readonly answer: Promise<IncomingMessage | NoAnswer>;
}

const socketsMax = 256;
const idleSocketsMax = 64;

export class LeaderSender {
  readonly #context: RelayContext;
  readonly #cluster: Cluster;
  readonly #connections: KeptConnections;

  constructor(context: RelayContext, cluster: Cluster) {
    this.#context = context;
    this.#cluster = cluster;
    const {authorities = () => []} = context.options;
    this.#connections = new KeptConnections({socketsMax, idleSocketsMax, authorities});
  }

  close(): void {
    this.#connections.close();
  }

  send(target: HttpTarget, asked: LeaderRequest): SentRequest {
    const {settings, options} = this.#context;
    const {method, path, headers, body, patienceMs, signal, goesOn = false} = asked;
    const {promise, resolve} = Promise.withResolvers<IncomingMessage | NoAnswer>();
    const request = this.#connections.request(target, {method, path, headers: [...headers]});
    const onGone = (): void => void request.destroy(new Error('the client is gone'));
    signal?.addEventListener('abort', onGone);
    request.once('close', () => signal?.removeEventListener('abort', onGone));
    let left = false;
    const cancelConnect = options.timers.after(settings.get('svc.ha.proxyConnectTimeout'), () => {
      request.destroy(new Error(`no connection to ${addressOf(target)}`));
    });
    request.on('socket', socket => {
      const onConnected = (): void => {
        left = true;
        cancelConnect();
        request.setTimeout(patienceMs, () => {
          request.destroy(new Error('the leader is silent'));
        });
      };
      // Nothing is written before the handshake has shown that it is who was called.
      const shakesHands = 'secureConnecting' in socket && socket.secureConnecting === true;
      if (shakesHands) socket.once('secureConnect', onConnected);
      else if (socket.connecting) socket.once('connect', onConnected);
      else onConnected();
    });
    const stopWatching = this.#watchLeader(target, request);
    request.on('response', answer => {
      if (goesOn) answer.once('close', stopWatching);
      else stopWatching();
      request.setTimeout(0);
      resolve(answer);
    });
    request.on('error', error => {
      stopWatching();
      cancelConnect();
      resolve({kind: left ? 'broken' : 'unsent', reason: error.message});
    });
    if (body instanceof Uint8Array) request.end(body);
    else body.pipe(request);
    return {request, answer: promise};
  }

  /** Gives up on a leader that is not heard of when another one has taken its place. */
  #watchLeader(target: HttpTarget, request: ClientRequest): () => void {
    const cluster = this.#cluster;
    let cancel: (() => void) | undefined;
    const before = addressOf(cluster.leaderHttpAddress());
    const forget = cluster.onLeaderChange(() => {
      const now = addressOf(cluster.leaderHttpAddress());
      if (cancel !== undefined || now === before || (now === undefined && !cluster.isLeader))
        return;
      const patience = deposedPatienceMs(cluster, target);
      cancel = this.#context.options.timers.after(patience, () => {
        request.destroy(new Error(`${addressOf(target)} does not lead any more`));
      });
    });
    return () => {
      forget();
      cancel?.();
    };
  }
}

function addressOf(leader: HttpAddress | undefined): string | undefined {
  return leader && hostAndPort(leader.host, leader.port);
}
