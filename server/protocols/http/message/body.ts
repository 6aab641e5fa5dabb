/**
 * Reading a request's body as a whole, within bounds of size, time and memory.
 *
 * Too large by its declared length is refused before a byte is read; larger than declared or
 * chunked beyond the limit, as soon as that shows. A body that pauses or drags on is broken off.
 * Large bodies of all requests together have a budget, so that many at once cannot fill memory.
 */
import type {IncomingMessage} from 'node:http';
import {Refusal} from '#server/base/errors.ts';
import type {HttpContext} from '../context.ts';
import {PlainFailure} from './failure.ts';

const largeBytes = 1 << 20;
const heldBytesMax = 1 << 30;
const empty = Buffer.alloc(0);

/** The declared length; undefined when chunked; 0 without a body. */
export function declaredLength(request: IncomingMessage): number | undefined {
  if (request.headers['transfer-encoding'] !== undefined) return undefined;
  // The parser has refused lengths that are no numbers.
  return Number(request.headers['content-length'] ?? 0);
}

/** Refuses a body that says it is too large. @throws {PlainFailure} 413. */
export function checkDeclaredLength(request: IncomingMessage, context: HttpContext): void {
  const length = declaredLength(request);
  if (length === undefined || length === 0) return;
  const sizeMax = context.settings.get('svc.server.httpBodyContentMaxSize');
  if (sizeMax >= 0 && length > sizeMax) throw tooLarge(length, sizeMax);
}

/**
 * Reads the whole body; a promise only when there is one.
 *
 * @throws {PlainFailure} 413, 408. @throws {Refusal} `admission.full`.
 */
export function readBody(request: IncomingMessage, context: HttpContext): Promise<Buffer> | Buffer {
  const length = declaredLength(request);
  if (length === 0) return empty;
  return new Promise((resolve, reject) => {
    const reader = new BodyReader(request, context, outcome => {
      if (outcome instanceof Error) reject(outcome);
      else resolve(outcome);
    });
    reader.start();
  });
}

class BodyReader {
  readonly #request: IncomingMessage;
  readonly #context: HttpContext;
  readonly #done: (outcome: Buffer | Error) => void;
  readonly #sizeMax: number;
  readonly #chunks: Buffer[] = [];
  #size = 0;
  #held = 0;
  #ended = false;
  #cancelPause: (() => void) | undefined;
  #cancelWhole: (() => void) | undefined;

  constructor(
    request: IncomingMessage,
    context: HttpContext,
    done: (outcome: Buffer | Error) => void,
  ) {
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
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (this.#size > this.#sizeMax) return this.#finish(tooLarge(this.#size, this.#sizeMax));
    if (this.#size > largeBytes && !this.#hold(chunk.length)) {
      const message = 'Too many large requests are being read; try again';
      return this.#finish(new Refusal('admission.full', message));
    }
    if (!this.#request.complete) this.#watch();
  };

  readonly #onEnd = (): void => {
    const [first = empty] = this.#chunks;
    this.#finish(this.#chunks.length <= 1 ? first : Buffer.concat(this.#chunks, this.#size));
  };

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

  #hold(bytes: number): boolean {
    if (this.#context.heldBytes + bytes > heldBytesMax) return false;
    this.#held += bytes;
    this.#context.heldBytes += bytes;
    return true;
  }

  #finish(outcome: Buffer | Error): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#cancelPause?.();
    this.#cancelWhole?.();
    this.#context.heldBytes -= this.#held;
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
