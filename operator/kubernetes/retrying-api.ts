/**
 * KubeApi that asks again where a second time is harmless: reads, applies and patches that say the
 * same twice, after 429, 5xx and lost answers, as long as a call may take.
 *
 * A creation and a replacement are not repeated: whether the first one was carried out is for the
 * caller to find out, who reads again. A conflict is not repeated either: it means that what was
 * decided was decided from an older state.
 */
import type {Clock, Random, Timers} from '#server/platform/clock.ts';
import type {KubeObject} from '#operator/api/kube-object.ts';
import {
  type DeleteOptions,
  hasReason,
  type Kind,
  type KubeApi,
  type ObjectList,
  type Ref,
  type Scope,
  type Subresource,
  type WatchEvent,
} from './api.ts';

export interface RetryOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Pick<Random, 'u32'>;
}

const TRIES_MAX = 4;
const PAUSE_MS = 100;
const CALL_MS_MAX = 20_000;

export class RetryingApi implements KubeApi {
  readonly #api: KubeApi;
  readonly #options: RetryOptions;

  constructor(api: KubeApi, options: RetryOptions) {
    this.#api = api;
    this.#options = options;
  }

  get(ref: Ref): Promise<KubeObject> {
    return this.#again(() => this.#api.get(ref));
  }

  list(scope: Scope): Promise<ObjectList> {
    return this.#again(() => this.#api.list(scope));
  }

  /** Whoever watches has its own way of beginning again. */
  watch(
    scope: Scope & {readonly resourceVersion: string},
    on: (event: WatchEvent) => void,
    signal: AbortSignal,
  ): Promise<void> {
    return this.#api.watch(scope, on, signal);
  }

  create(kind: Kind, object: KubeObject): Promise<KubeObject> {
    return this.#api.create(kind, object);
  }

  replace(kind: Kind, object: KubeObject): Promise<KubeObject> {
    return this.#api.replace(kind, object);
  }

  apply(kind: Kind, object: KubeObject): Promise<KubeObject> {
    return this.#again(() => this.#api.apply(kind, object));
  }

  patch(ref: Ref, patch: unknown, subresource?: Subresource): Promise<KubeObject> {
    return this.#again(() => this.#api.patch(ref, patch, subresource));
  }

  delete(ref: Ref, options: DeleteOptions): Promise<void> {
    // With a uid the second one deletes nothing else; without one it might.
    if (options.uid === undefined) return this.#api.delete(ref, options);
    return this.#again(() => this.#api.delete(ref, options));
  }

  async #again<T>(call: () => Promise<T>): Promise<T> {
    const {clock, timers, random} = this.#options;
    const begun = clock.monotonic();
    for (let tries = 1; ; tries++) {
      try {
        return await call();
      } catch (error) {
        const isTransient = hasReason(error, 'TooManyRequests', 'Unavailable', 'Network');
        if (!isTransient || tries >= TRIES_MAX) throw error;
        const jitter = 0.5 + random.u32() / 2 ** 32;
        const pause = error.retryAfterMs ?? PAUSE_MS * 4 ** (tries - 1) * jitter;
        if (clock.monotonic() - begun + pause > CALL_MS_MAX) throw error;
        await new Promise<void>(resolve => void timers.after(pause, resolve));
      }
    }
  }
}
