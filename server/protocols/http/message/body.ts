/**
 * Reading a request's body as a whole, within bounds of size, time and memory.
 *
 * Too large by its declared length is refused before a byte is read; larger than declared or
 * chunked beyond the limit, as soon as that shows. A body that pauses or drags on is broken off.
 * Bodies of more than 64 KB count in the memory of the statements and in the share of their user
 * until they are answered, so that many at once cannot fill memory. Large ones are read a
 * piece a turn of the event loop, all of them together, so that others need not wait for more.
 */
import type {IncomingMessage} from 'node:http';
import {Refusal} from '#server/base/errors.ts';
import type {KeptHolder} from '#server/session/kept-memory.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {Timers} from '#server/platform/clock.ts';
import {PlainFailure} from './failure.ts';

/** What bounds a body. */
interface BodyContext {
  readonly settings: Settings;
  readonly options: {readonly timers: Timers};
  readonly bodyTurns: BodyTurns;
}

/** A body counts from here on; what is smaller has come in one or two pieces. */
const countedBytes = 64 << 10;
/** A body of so many bytes has room of its own from the beginning. */
const largeBytes = 1 << 20;
/** What is read of large bodies, or copied, in one turn of the event loop. */
const pieceBytes = 256 << 10;
const empty = Buffer.alloc(0);

/** Turns of the event loop for those who read large bodies: one of them has each. */
export class BodyTurns {
  readonly #timers: Timers;
  #last: Promise<void> = Promise.resolve();

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** Resolves in a turn of the caller's own. */
  next(): Promise<void> {
    this.#last = this.#last.then(() => this.#timers.yield());
    return this.#last;
  }
}

/** The declared length; undefined when chunked; 0 without a body. */
export function declaredLength(request: IncomingMessage): number | undefined {
  if (request.headers['transfer-encoding'] !== undefined) return undefined;
  // The parser has refused lengths that are no numbers.
  return Number(request.headers['content-length'] ?? 0);
}

/** Refuses a body that says it is too large. @throws {PlainFailure} 413. */
export function checkDeclaredLength(request: IncomingMessage, context: BodyContext): void {
  const length = declaredLength(request);
  if (length === undefined || length === 0) return;
  const sizeMax = context.settings.get('svc.server.httpBodyContentMaxSize');
  if (sizeMax >= 0 && length > sizeMax) throw tooLarge(length, sizeMax);
}

/**
 * Reads the whole body; a promise only when there is one.
 *
 * @param keep - Counts one of more than 64 KB; closed with the response.
 * @throws {PlainFailure} 413, 408. @throws {Refusal} as `keep` says.
 */
export function readBody(
  request: IncomingMessage,
  context: BodyContext,
  keep: () => KeptHolder,
): Promise<Buffer> | Buffer {
  const length = declaredLength(request);
  if (length === 0) return empty;
  return new Promise((resolve, reject) => {
    const reader = new BodyReader(request, {context, keep}, outcome => {
      if (outcome instanceof Error) reject(outcome);
      else resolve(outcome);
    });
    reader.start();
  });
}

class BodyReader {
  readonly #request: IncomingMessage;
  readonly #context: BodyContext;
  readonly #done: (outcome: Buffer | Error) => void;
  readonly #sizeMax: number;
  readonly #chunks: Buffer[] = [];
  /** Holds all of a large body of a declared length: its chunks are garbage at once then. */
  #room: Buffer | undefined;
  #size = 0;
  /** Bytes that may come before others have their turn. */
  #pieceLeft = pieceBytes;
  readonly #keep: () => KeptHolder;
  #kept: KeptHolder | undefined;
  #ended = false;
  #cancelPause: (() => void) | undefined;
  #cancelWhole: (() => void) | undefined;

  constructor(
    request: IncomingMessage,
    {context, keep}: {readonly context: BodyContext; readonly keep: () => KeptHolder},
    done: (outcome: Buffer | Error) => void,
  ) {
    this.#keep = keep;
    this.#request = request;
    this.#context = context;
    this.#done = done;
    const sizeMax = context.settings.get('svc.server.httpBodyContentMaxSize');
    this.#sizeMax = sizeMax < 0 ? Number.MAX_SAFE_INTEGER : sizeMax;
  }

  start(): void {
    this.#request.on('data', this.#onData);
    this.#request.on('end', this.#onEnd);
    this.#request.on('close', this.#onClose);
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#ended) return;
    const at = this.#size;
    this.#size += chunk.length;
    if (this.#size > this.#sizeMax) return this.#finish(tooLarge(this.#size, this.#sizeMax));
    const length = declaredLength(this.#request);
    const obstacle = this.#size > countedBytes ? this.#count(length ?? this.#size) : undefined;
    if (obstacle !== undefined) return this.#finish(obstacle);
    if (this.#room !== undefined) chunk.copy(this.#room, at);
    else this.#chunks.push(chunk);
    if (this.#size > largeBytes && length !== undefined) this.#room ??= this.#gathered(length);
    if (!this.#request.complete) this.#watch();
    this.#pieceLeft -= chunk.length;
    if (this.#pieceLeft <= 0) this.#rest();
  };

  readonly #onEnd = (): void => {
    if (this.#ended) return;
    if (this.#room !== undefined) return this.#finish(this.#room);
    const [first = empty] = this.#chunks;
    if (this.#chunks.length <= 1) return this.#finish(first);
    if (this.#size <= pieceBytes) return this.#finish(Buffer.concat(this.#chunks, this.#size));
    this.#stop();
    void this.#joined().then(this.#done);
  };

  /** Reads nothing more until its turn comes. */
  #rest(): void {
    this.#pieceLeft = pieceBytes;
    this.#request.pause();
    void this.#context.bodyTurns.next().then(() => this.#request.resume());
  }

  /** Room for a body of that length, with what has come of it. */
  #gathered(length: number): Buffer {
    const room = Buffer.allocUnsafeSlow(length);
    let at = 0;
    for (const chunk of this.#chunks.splice(0)) at += chunk.copy(room, at);
    return room;
  }

  async #joined(): Promise<Buffer> {
    const whole = Buffer.allocUnsafeSlow(this.#size);
    const chunks = this.#chunks.reverse();
    let size = 0;
    let restsAt = pieceBytes;
    for (let chunk = chunks.pop(); chunk !== undefined; chunk = chunks.pop()) {
      size += chunk.copy(whole, size);
      if (size < restsAt) continue;
      restsAt = size + pieceBytes;
      await this.#context.bodyTurns.next();
    }
    return whole;
  }

  readonly #onClose = (): void => {
    if (this.#ended) return;
    this.#finish(new PlainFailure(408, 'Request body incomplete'));
  };

  /** Arms the two clocks of a body that did not come at once. */
  #watch(): void {
    const {timers} = this.#context.options;
    const settings = this.#context.settings;
    const late = (): void => this.#finish(new PlainFailure(408, 'Request body incomplete'));
    this.#cancelWhole ??= timers.after(settings.get('svc.network.requestTimeout'), late);
    this.#cancelPause?.();
    this.#cancelPause = timers.after(settings.get('svc.network.socketTimeout'), late);
  }

  #count(bytes: number): Refusal | undefined {
    try {
      this.#kept ??= this.#keep();
      this.#kept.resize(bytes);
      return undefined;
    } catch (error) {
      if (error instanceof Refusal) return error;
      throw error;
    }
  }

  #stop(): void {
    this.#ended = true;
    this.#cancelPause?.();
    this.#cancelWhole?.();
  }

  #finish(outcome: Buffer | Error): void {
    if (this.#ended) return;
    this.#stop();
    if (outcome instanceof Error) this.#kept?.close();
    this.#done(outcome);
  }
}

function tooLarge(size: number, sizeMax: number): PlainFailure {
  return new PlainFailure(413, 'Request body too large', {
    detail:
      `Request body size (${size} bytes) exceeds the maximum allowed size of ${sizeMax} bytes. ` +
      `Configure 'svc.server.httpBodyContentMaxSize' to increase the limit.`,
  });
}
