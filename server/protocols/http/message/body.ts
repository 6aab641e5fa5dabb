/**
 * Reading a request's body as a whole, within bounds of size, time and memory.
 *
 * Too large by its declared length is refused before a byte is read; larger than declared or
 * chunked beyond the limit, as soon as that shows. A body that pauses or drags on is broken off.
 * Large bodies count in the memory of the statements and in the share of their user, from their
 * first bytes until they are answered, so that many at once cannot fill memory.
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
}

const largeBytes = 1 << 20;
const empty = Buffer.alloc(0);

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
 * @param keep - Counts a large one; closed with the response.
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
  #size = 0;
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
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (this.#size > this.#sizeMax) return this.#finish(tooLarge(this.#size, this.#sizeMax));
    const obstacle = this.#size > largeBytes ? this.#count() : undefined;
    if (obstacle !== undefined) return this.#finish(obstacle);
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

  #count(): Refusal | undefined {
    try {
      this.#kept ??= this.#keep();
      this.#kept.resize(this.#size);
      return undefined;
    } catch (error) {
      if (error instanceof Refusal) return error;
      throw error;
    }
  }

  #finish(outcome: Buffer | Error): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#cancelPause?.();
    this.#cancelWhole?.();
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
