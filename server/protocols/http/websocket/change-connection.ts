/**
 * One client of `/ws`: what it subscribed to, and the events on their way to it.
 *
 * A client that does not read is not waited for with memory: so many bytes are unsent at most, then
 * its changes stay where they are kept for everybody, and a client that falls behind that is told
 * that it lost some. One that answers no ping is disconnected. Credentials are looked at again with
 * every subscription, rights with every event.
 */
import type {RawData, WebSocket} from 'ws';
import type {Principal} from '#server/security/principal.ts';
import type {
  ChangeFilter,
  ChangeSubscription,
  ClientConnection,
  RequestContext,
} from '#server/session/session.ts';
import type {HttpContext} from '../context.ts';
import {loggedFailure} from '../message/exchange.ts';
import {lateRefusal} from '../message/late-refusal.ts';
import {
  type ChangeFrame,
  eventText,
  parseFrame,
  type SubscribeFrame,
  wrong,
} from './change-frames.ts';

/** Whose connection it is. */
export interface ConnectionOwner {
  readonly requestId: string;
  /** What its client says of itself. */
  readonly client: RequestContext;
  /** Who it is now. @throws {Refusal} and PlainFailure, where the credentials are good no more. */
  authenticate(): Principal | Promise<Principal>;
}

interface DatabaseFeed {
  readonly subscription: ChangeSubscription;
  filters: readonly ChangeFilter[];
  tellsPositions: boolean;
}

export class ChangeConnection {
  readonly #context: HttpContext;
  readonly #socket: WebSocket;
  readonly #owner: ConnectionOwner;
  readonly #client: ClientConnection;
  readonly #feeds = new Map<string, DatabaseFeed>();
  #turn: Promise<void> = Promise.resolve();
  #waiting = 0;
  #isAlive = true;
  /** Who subscribed last, or tried to. */
  #caller: Principal | undefined;
  #cancelPing: (() => void) | undefined;

  constructor(context: HttpContext, socket: WebSocket, owner: ConnectionOwner) {
    this.#context = context;
    this.#socket = socket;
    this.#owner = owner;
    this.#client = context.service.connect({...owner.client, protocol: 'ws'});
    socket.on('message', (data, isBinary) => this.#received(data, isBinary));
    socket.on('pong', () => {
      this.#isAlive = true;
    });
    socket.on('ping', data => this.#pinged(data));
    // What is wrong with the client's frames: the connection ends by itself.
    socket.on('error', () => {});
    socket.on('close', () => this.#closed());
    this.#pingLater();
  }

  /** Asks the client to leave. */
  close(): void {
    this.#socket.close(1001, 'the server is stopping');
  }

  destroy(): void {
    this.#socket.terminate();
  }

  #closed(): void {
    this.#cancelPing?.();
    this.#feeds.clear();
    this.#client.close();
  }

  #pingLater(): void {
    const {settings, options} = this.#context;
    this.#cancelPing = options.timers.after(settings.get('svc.network.keepAliveTimeout'), () => {
      if (!this.#isAlive) return this.destroy();
      this.#isAlive = false;
      this.#socket.ping();
      this.#pingLater();
    });
  }

  /** A pong answers all pings before it, so a client that does not read is owed none. */
  #pinged(data: Buffer): void {
    if (this.#isBehind) return;
    this.#socket.pong(data);
  }

  get #isBehind(): boolean {
    const {settings} = this.#context;
    return this.#socket.bufferedAmount >= settings.get('svc.server.eventBusMaxPendingBytes');
  }

  /** Messages are answered one after the other; no more are read meanwhile. */
  #received(data: RawData, isBinary: boolean): void {
    this.#waiting += 1;
    if (this.#waiting === 1) this.#socket.pause();
    this.#turn = this.#turn.then(async () => {
      await this.#answer(data, isBinary);
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#socket.resume();
    });
  }

  async #answer(data: RawData, isBinary: boolean): Promise<void> {
    try {
      if (isBinary) throw wrong('Messages are texts.');
      const frame = parseFrame(textOf(data));
      const more = await this.#perform(frame);
      await this.#send(JSON.stringify({result: 'ok', action: frame.action, ...more}));
    } catch (error) {
      await lateRefusal(this.#context, this.#caller, error);
      await this.#sendFailure(error);
    }
  }

  async #perform(frame: ChangeFrame): Promise<{readonly position?: number}> {
    if (frame.action === 'subscribe') return this.#subscribe(frame);
    const feed = this.#feeds.get(frame.database);
    if (feed === undefined) return {};
    const {type} = frame;
    const kept = type === undefined ? [] : feed.filters.filter(filter => filter.type !== type);
    if (kept.length > 0) {
      feed.subscription.choose(kept);
      feed.filters = kept;
    } else {
      this.#feeds.delete(frame.database);
      feed.subscription.close();
    }
    return {};
  }

  /** One reader for a database, so that a change is told once however many filters let it pass. */
  async #subscribe(frame: SubscribeFrame): Promise<{readonly position?: number}> {
    const {database, filter, from, tellsPositions} = frame;
    const principal = await this.#owner.authenticate();
    this.#caller = principal;
    const known = this.#feeds.get(database);
    if (known !== undefined && from === undefined) {
      const filters = [...known.filters.filter(({type}) => type !== filter.type), filter];
      known.subscription.choose(filters);
      known.filters = filters;
      known.tellsPositions ||= tellsPositions;
      return tellsPositions ? {position: known.subscription.position} : {};
    }
    const filters = [filter];
    const request = {...this.#client.context, database, filters, from};
    const subscription = await this.#context.service.changes(principal, request);
    if (this.#client.signal.aborted) return {};
    // Who names a position begins anew there.
    known?.subscription.close();
    const feed = {subscription, filters, tellsPositions};
    const {position} = subscription;
    this.#feeds.set(database, feed);
    // The events come behind the answer.
    this.#turn = this.#turn.then(() => void this.#pump(database, feed));
    return tellsPositions ? {position} : {};
  }

  async #pump(database: string, feed: DatabaseFeed): Promise<void> {
    const {subscription} = feed;
    try {
      for (;;) {
        const {position, changes} = await subscription.next();
        const {json} = subscription;
        for (const [at, change] of changes.entries()) {
          if (this.#feeds.get(database) !== feed) return;
          const isLast = feed.tellsPositions && at === changes.length - 1;
          const told = {database, json, position: isLast ? position : undefined};
          await this.#send(eventText(change, told));
        }
      }
    } catch (error) {
      subscription.close();
      if (this.#feeds.get(database) !== feed) return;
      this.#feeds.delete(database);
      await this.#sendFailure(error, database);
    }
  }

  /** Waits for the client when too much is unsent. @throws {Error} when it is gone. */
  async #send(text: string): Promise<void> {
    const socket = this.#socket;
    if (!this.#isBehind) {
      socket.send(text);
      return;
    }
    await new Promise<void>((resolve, reject) => {
      socket.send(text, error => {
        if (error === undefined || error === null) resolve();
        else reject(error);
      });
    });
  }

  /** Tells what went wrong, `database`: with the subscription to it, which has ended. */
  async #sendFailure(error: unknown, database?: string): Promise<void> {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    const {requestId} = this.#owner;
    const {body} = loggedFailure(this.#context, {requestId, database: database ?? ''}, error);
    const {error: label, detail, exception} = body;
    const place = database === undefined ? {} : {database};
    const text = JSON.stringify({result: 'error', error: label, detail, exception, ...place});
    // A client that is gone by now has nobody to tell.
    await this.#send(text).catch(() => {});
  }
}

function textOf(data: RawData): string {
  if (data instanceof ArrayBuffer) return Buffer.from(data).toString('utf8');
  return (Array.isArray(data) ? Buffer.concat(data) : data).toString('utf8');
}
