/** A client of `/ws` in tests: what it was told, as it came. */
import {WebSocket} from 'ws';
import {assert} from '#server/base/assert.ts';

export type Frame = Readonly<Record<string, unknown>>;

export class WebSocketClient {
  readonly socket: WebSocket;
  /** The code with which the connection ended. */
  readonly ended: Promise<number>;
  readonly #frames: Frame[] = [];
  readonly #waiting: ((frame: Frame) => void)[] = [];

  private constructor(socket: WebSocket) {
    this.socket = socket;
    this.ended = new Promise(resolve => socket.once('close', resolve));
    socket.on('message', data => {
      assert(Buffer.isBuffer(data), 'messages come whole');
      const frame = JSON.parse(data.toString('utf8')) as Frame;
      const waiting = this.#waiting.shift();
      if (waiting === undefined) this.#frames.push(frame);
      else waiting(frame);
    });
    socket.on('error', () => {});
  }

  /**
   * @param at - A port of 127.0.0.1, or host and port.
   * @param credentials - Written `user:password`.
   * @throws {Error} says the status when the server does not agree.
   */
  static async open(
    at: number | string,
    credentials: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<WebSocketClient> {
    const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;
    const host = typeof at === 'number' ? `127.0.0.1:${at}` : at;
    const socket = new WebSocket(`ws://${host}/ws`, {
      headers: credentials === '' ? headers : {authorization, ...headers},
    });
    const client = new WebSocketClient(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('error', reject);
    });
    return client;
  }

  send(frame: unknown): void {
    this.socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
  }

  /** Frames that came and nobody has taken. */
  get unread(): number {
    return this.#frames.length;
  }

  /** The next frame. */
  next(): Promise<Frame> {
    const frame = this.#frames.shift();
    if (frame !== undefined) return Promise.resolve(frame);
    return new Promise(resolve => this.#waiting.push(resolve));
  }

  /** Sends a frame and gives what comes next. */
  ask(frame: unknown): Promise<Frame> {
    this.send(frame);
    return this.next();
  }

  close(): void {
    this.socket.terminate();
  }
}
