/**
 * One connection with a peer, from its first byte to its last: handshake, then frames.
 *
 * Whoever owns it learns of three things: that the other side is trusted, each message, and, once,
 * how it ended. Everything that is written within one turn leaves in one piece. What waits to be
 * written is bounded in bytes; a message that does not fit is not taken.
 *
 * A connection that we end over a fault says why before it goes: whoever looks into the log of the
 * other side should not have to guess.
 */
import type {Socket} from 'node:net';
import {unreachable} from '#server/base/assert.ts';
import type {Random, Timers} from '#server/platform/clock.ts';
import {byteLength, type Frame, type FrameKind, FrameReader, FrameWriter} from './frame.ts';
import {Handshake, type Hello, helloBytesMax, type Side} from './handshake.ts';

export interface ChannelListener {
  /**
   * The other side knows the token. What is answered is why it is not taken all the same;
   * undefined to take it.
   */
  judge(peer: Hello): string | undefined;
  /** Messages may be sent, and come. */
  trusted(peer: Hello): void;
  message(bytes: Buffer): void;
  /** Something came that proves that the other side lives. */
  heard(): void;
  /** Called once, never from within the constructor or `close`. */
  ended(ending: Ending): void;
}

/** How a connection ended, in words for people. */
export interface Ending {
  /**
   * `broken` on the way or by the other side, `refused` by the other side with its reason,
   * `rejected` by us.
   */
  readonly by: 'broken' | 'refused' | 'rejected';
  readonly detail: string;
  /** The system's error code, such as ECONNREFUSED. */
  readonly code: string | undefined;
}

export interface ChannelOptions {
  readonly side: Side;
  readonly own: Hello;
  readonly token: string;
  /** Tokens that a dialler may come with besides. */
  readonly alsoAccepted?: readonly string[] | undefined;
  readonly random: Random;
  readonly timers: Timers;
  readonly handshakeMs: number;
  /** Largest payload of a message. */
  readonly messageBytesMax: number;
  /** Most bytes that wait to be written, beyond the first message. */
  readonly queueBytesMax: number;
}

const keepAliveMs = 10_000;
const lastWordsMs = 1_000;
const refusalLengthMax = 500;
const refusalBytesMax = 4 * refusalLengthMax;

export class PeerChannel {
  readonly #socket: Socket;
  readonly #options: ChannelOptions;
  readonly #listener: ChannelListener;
  readonly #handshake: Handshake;
  readonly #writer = new FrameWriter();
  readonly #reader = new FrameReader(Math.max(helloBytesMax, refusalBytesMax));
  readonly #cancelDeadline: () => void;
  #state: 'greeting' | 'proving' | 'trusted' | 'ended' = 'greeting';
  #isCorked = false;

  constructor(socket: Socket, options: ChannelOptions, listener: ChannelListener) {
    this.#socket = socket;
    this.#options = options;
    this.#listener = listener;
    const {side, own, token, alsoAccepted, random, timers, handshakeMs} = options;
    this.#handshake = new Handshake({side, own, token, alsoAccepted, random});
    socket.setNoDelay(true);
    socket.setKeepAlive(true, keepAliveMs);
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
    socket.on('error', (error: NodeJS.ErrnoException) => this.#broken(error.message, error.code));
    socket.on('end', () => this.#broken('the other side closed the connection', undefined));
    socket.on('close', () => this.#broken('the connection is closed', undefined));
    this.#cancelDeadline = timers.after(handshakeMs, () =>
      this.reject(`no handshake within ${handshakeMs} ms`),
    );
    if (side === 'dialler') this.#write('hello', [this.#handshake.hello]);
  }

  get isTrusted(): boolean {
    return this.#state === 'trusted';
  }

  /** Bytes that the system has not taken yet. */
  get queuedBytes(): number {
    return this.#socket.writableLength;
  }

  /** Queues a message; its pieces change no more. False: it is not taken. */
  send(pieces: readonly Uint8Array[]): boolean {
    if (this.#state !== 'trusted') return false;
    const queued = this.#socket.writableLength;
    if (queued > 0 && queued + byteLength(pieces) > this.#options.queueBytesMax) return false;
    this.#write('message', pieces);
    return true;
  }

  /** Asks for a sign of life. */
  ping(): void {
    if (this.#state === 'trusted') this.#write('ping', []);
  }

  /** Ends the connection over something that the other side should know. */
  reject(detail: string): void {
    if (this.#state === 'ended') return;
    // Behind a long queue the words would not arrive in time.
    if (this.#socket.writableLength === 0) {
      this.#write('refusal', [Buffer.from(detail.slice(0, refusalLengthMax), 'utf8')]);
      this.#socket.uncork();
    }
    this.#end({by: 'rejected', detail, code: undefined});
  }

  /** Ends the connection; nobody is told. */
  close(): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    this.#cancelDeadline();
    this.#socket.destroy();
  }

  #broken(detail: string, code: string | undefined): void {
    this.#end({by: 'broken', detail, code});
  }

  #end(ending: Ending): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    this.#cancelDeadline();
    const socket = this.#socket;
    if (ending.by === 'rejected' && !socket.connecting) {
      // The last words go out first, where the other side takes them soon.
      socket.destroySoon();
      this.#options.timers.after(lastWordsMs, () => socket.destroy());
    } else {
      socket.destroy();
    }
    this.#listener.ended(ending);
  }

  #write(kind: FrameKind, pieces: readonly Uint8Array[]): void {
    const socket = this.#socket;
    if (!this.#isCorked) {
      this.#isCorked = true;
      socket.cork();
      process.nextTick(() => {
        this.#isCorked = false;
        socket.uncork();
      });
    }
    for (const piece of this.#writer.frame(kind, pieces)) socket.write(piece);
  }

  #read(bytes: Buffer): void {
    if (this.#state === 'ended') return;
    this.#reader.feed(bytes);
    if (this.#state === 'trusted') this.#listener.heard();
    for (let frame = this.#reader.next(); frame !== undefined; frame = this.#reader.next()) {
      if ('fault' in frame) this.reject(frame.detail);
      else this.#take(frame);
      if (this.isEnded) return;
    }
  }

  get isEnded(): boolean {
    return this.#state === 'ended';
  }

  #take(frame: Frame): void {
    if (frame.kind === 'refusal') {
      this.#end({by: 'refused', detail: readable(frame.payload), code: undefined});
      return;
    }
    switch (this.#state) {
      case 'greeting':
        this.#hear(frame);
        break;
      case 'proving':
        this.#conclude(frame);
        break;
      case 'trusted':
        this.#pass(frame);
        break;
      case 'ended':
        break;
      default:
        unreachable(this.#state);
    }
  }

  #hear({kind, payload}: Frame): void {
    if (kind !== 'hello') return this.reject(`a ${kind} where a hello was due`);
    const rejection = this.#handshake.hear(payload);
    if (rejection !== undefined) return this.reject(rejection.detail);
    this.#state = 'proving';
    if (this.#options.side === 'dialler') this.#write('proof', [this.#handshake.proof()]);
    else this.#write('hello', [this.#handshake.hello]);
  }

  #conclude({kind, payload}: Frame): void {
    if (kind !== 'proof') return this.reject(`a ${kind} where a proof was due`);
    const trust = this.#handshake.conclude(payload);
    if ('reason' in trust) return this.reject(trust.detail);
    const objection = this.#listener.judge(trust.peer);
    if (objection !== undefined) return this.reject(objection);
    const {side, messageBytesMax} = this.#options;
    if (side === 'listener') this.#write('proof', [this.#handshake.proof()]);
    this.#writer.reseed(trust.seeds[side]);
    const theirs = side === 'dialler' ? trust.seeds.listener : trust.seeds.dialler;
    this.#reader.trust(theirs, messageBytesMax);
    this.#state = 'trusted';
    this.#cancelDeadline();
    this.#listener.trusted(trust.peer);
  }

  #pass({kind, payload}: Frame): void {
    if (kind === 'message') this.#listener.message(payload);
    else if (kind === 'ping') this.#write('pong', []);
    else if (kind !== 'pong') this.reject(`a second ${kind}`);
  }
}

/** What another process wrote, fit for a line of the log. */
function readable(bytes: Buffer): string {
  return bytes
    .toString('utf8')
    .slice(0, refusalLengthMax)
    .replace(/\p{C}+/gu, ' ');
}
