/**
 * The raw HTTP path: simple requests of the routes that matter, answered straight on their sockets.
 *
 * Every connection begins here. A request that is complete, small and in the one form of
 * request-head.ts is answered here; the first one that is not takes its connection, with every
 * byte not yet answered, to node's server for good. So node's parser judges whatever is odd, and
 * its clocks judge whoever is slow: a request that is not whole within a tick or two goes there
 * as well. One coarse timer serves all connections, and none runs without connections.
 * Why: docs/design/0005-raw-http-path.md.
 */
import type {Socket} from 'node:net';
import type {HttpContext} from '../context.ts';
import {RawHttpConnection} from './raw-http-connection.ts';
import {type NodeHttpFallback, RawHttpShared} from './raw-http-shared.ts';

export class RawHttpListener {
  readonly #shared: RawHttpShared;
  readonly #connections = new Set<RawHttpConnection>();
  #ticks = false;

  constructor(context: HttpContext, handOver: NodeHttpFallback) {
    this.#shared = new RawHttpShared(context, handOver);
  }

  /** Requests answered here. */
  get answered(): number {
    return this.#shared.answered;
  }

  accept(socket: Socket): void {
    const leave = (): void => {
      this.#connections.delete(connection);
    };
    const connection = new RawHttpConnection(this.#shared, socket, leave);
    this.#connections.add(connection);
    this.#tickLater();
  }

  /** Ends connections without a request under way; the others end with their answer. */
  closeIdle(): void {
    for (const connection of this.#connections) connection.closeIfIdle();
  }

  closeAll(): void {
    for (const connection of this.#connections) connection.destroy();
  }

  #tickLater(): void {
    if (this.#ticks) return;
    this.#ticks = true;
    const {context, tickMs} = this.#shared;
    context.options.timers.after(tickMs, () => {
      this.#ticks = false;
      this.#shared.tick++;
      for (const connection of this.#connections) connection.onTick();
      if (this.#connections.size > 0) this.#tickLater();
    });
  }
}
