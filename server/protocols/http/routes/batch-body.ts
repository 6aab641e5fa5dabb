/**
 * The body of a batch, piece by piece: the client sends on only as fast as pieces are taken.
 *
 * There is no bound on the whole, in bytes or in time; one on how long nothing may come.
 */
import type {IncomingMessage} from 'node:http';
import {Refusal} from '#server/base/errors.ts';
import type {Timers} from '#server/platform/clock.ts';
import type {Exchange} from '../message/exchange.ts';

export class BatchBody {
  readonly #request: IncomingMessage;
  readonly #timers: Timers;
  readonly #silenceMs: number;
  #wake: (() => void) | undefined;
  #isSilent = false;

  constructor({request, context}: Exchange) {
    this.#request = request;
    this.#timers = context.options.timers;
    this.#silenceMs = context.settings.get('svc.server.httpStreamingReadTimeout');
    request.on('readable', this.#onNews);
    request.on('end', this.#onNews);
    request.on('close', this.#onNews);
    // What broke the connection is told by `complete`.
    request.on('error', this.#onNews);
  }

  /** Leaves what is still to come to whoever answers. */
  close(): void {
    this.#request.off('readable', this.#onNews);
  }

  /** No more will come, though the connection is there to answer on. */
  lose(): void {
    this.#isSilent = true;
    this.#wake?.();
  }

  readonly #onNews = (): void => this.#wake?.();

  /** The next piece; undefined behind the last. @throws {Refusal} `batch.truncated`. */
  async next(): Promise<Buffer | undefined> {
    const request = this.#request;
    for (;;) {
      const piece: Buffer | null = request.read();
      if (piece !== null) return piece;
      if (request.readableEnded) return undefined;
      if (request.destroyed || this.#isSilent) {
        if (request.complete) return undefined;
        throw new Refusal('batch.truncated', 'The body of the batch broke off');
      }
      await this.#news();
    }
  }

  #news(): Promise<void> {
    return new Promise(resolve => {
      const cancel = this.#timers.after(this.#silenceMs, () => {
        this.#isSilent = true;
        this.#wake?.();
      });
      this.#wake = () => {
        cancel();
        this.#wake = undefined;
        resolve();
      };
    });
  }
}
