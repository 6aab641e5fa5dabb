/**
 * A copy of all objects of a kind, kept current by list and watch, with a call for each change.
 *
 * It goes on for ever: after any failure it lists again with a growing pause, and since a watch can
 * fall silent without an error it lists again every ten minutes too. Handlers get keys and must not
 * do more than put them into a queue.
 * Invariant: after each list the copy holds exactly what the list held, and handlers were called
 * for everything that differed, deletions too.
 */
import {reasonOf} from '#server/base/errors.ts';
import {jitteredDelayMs, retryDelayMs} from '#server/base/retry-delay.ts';
import type {Clock, Random, Timers} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {KubeObject} from '#operator/api/kube-object.ts';
import {hasReason, type Key, type KubeApi, keyOf, type Scope, type WatchEvent} from './api.ts';

export interface InformerOptions {
  readonly api: KubeApi;
  readonly scope: Scope;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Pick<Random, 'u32'>;
  readonly logger: Logger;
  /** `now` undefined: deleted. `before` undefined: new here. Only called for what changed. */
  readonly onChange: (now: KubeObject | undefined, before: KubeObject | undefined) => void;
}

const delays = {firstMs: 1_000, mostMs: 30_000} as const;
const RELIST_MS = 600_000;

/** What metrics read. */
export interface InformerFigures {
  readonly objects: number;
  readonly lists: number;
  readonly failures: number;
}

export class Informer {
  readonly #options: InformerOptions;
  readonly #objects = new Map<Key, KubeObject>();
  readonly #ended = new AbortController();
  readonly #synced = Promise.withResolvers<void>();
  #running: Promise<void> | undefined;
  #isSynced = false;
  #listedAt = Number.NEGATIVE_INFINITY;
  #version = '';
  #lists = 0;
  #failures = 0;

  constructor(options: InformerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Resolves when nothing is called any more. */
  async stop(): Promise<void> {
    this.#ended.abort();
    await this.#running;
  }

  /** Whether the copy held a whole list once. */
  get isSynced(): boolean {
    return this.#isSynced;
  }

  whenSynced(): Promise<void> {
    return this.#synced.promise;
  }

  get figures(): InformerFigures {
    return {objects: this.#objects.size, lists: this.#lists, failures: this.#failures};
  }

  get(key: Key): KubeObject | undefined {
    return this.#objects.get(key);
  }

  all(): readonly KubeObject[] {
    return [...this.#objects.values()];
  }

  /**
   * Puts in what a write of our own was answered with, so that the next look does not miss it; an
   * event that comes later for an older version is passed over.
   */
  learn(object: KubeObject): void {
    if (this.#isSynced) this.#put(object);
  }

  async #run(): Promise<void> {
    let failures = 0;
    while (!this.#isEnded) {
      try {
        if (this.#isListDue) await this.#list();
        failures = 0;
        await this.#watch();
      } catch (error) {
        if (this.#isEnded) return;
        this.#version = '';
        if (hasReason(error, 'Expired')) continue;
        this.#failures++;
        const backoff = retryDelayMs(delays, failures);
        const {random, logger, scope} = this.#options;
        const message = reasonOf(error);
        logger.log('warn', 'informer.failed', {kind: scope.kind.kind, message, backoff});
        await this.#pause(jitteredDelayMs(delays, failures, {jitter: 'around', random}));
        failures += 1;
      }
    }
  }

  // A getter, because the compiler would take a second look at the signal for the first one.
  get #isEnded(): boolean {
    return this.#ended.signal.aborted;
  }

  get #isListDue(): boolean {
    const {clock} = this.#options;
    return this.#version === '' || clock.monotonic() - this.#listedAt >= RELIST_MS;
  }

  async #list(): Promise<void> {
    const {api, scope, clock} = this.#options;
    const {items, resourceVersion} = await api.list(scope);
    if (this.#isEnded) return;
    this.#lists++;
    this.#listedAt = clock.monotonic();
    this.#version = resourceVersion;
    const present = new Set(items.map(({metadata}) => keyOf(metadata)));
    for (const [key, object] of this.#objects) if (!present.has(key)) this.#remove(key, object);
    for (const item of items) this.#put(item);
    this.#isSynced = true;
    this.#synced.resolve();
  }

  /** Ends when the server ends the stream, or when the next list is due. */
  async #watch(): Promise<void> {
    const {api, scope, timers, clock} = this.#options;
    const stop = new AbortController();
    const end = (): void => stop.abort();
    this.#ended.signal.addEventListener('abort', end);
    let isDue = false;
    const cancel = timers.after(RELIST_MS - (clock.monotonic() - this.#listedAt), () => {
      isDue = true;
      end();
    });
    try {
      const from = {...scope, resourceVersion: this.#version};
      await api.watch(from, event => this.#heard(event), stop.signal);
    } catch (error) {
      if (!isDue) throw error;
    } finally {
      cancel();
      this.#ended.signal.removeEventListener('abort', end);
      // By the clock the time may not quite have passed, and no timer waits for so little.
      if (isDue) this.#listedAt = Number.NEGATIVE_INFINITY;
    }
  }

  #heard(event: WatchEvent): void {
    if (this.#isEnded) return;
    if (event.type === 'BOOKMARK') {
      this.#version = event.resourceVersion;
      return;
    }
    const {object} = event;
    this.#version = object.metadata.resourceVersion ?? this.#version;
    const key = keyOf(object.metadata);
    if (event.type !== 'DELETED') return this.#put(object);
    const known = this.#objects.get(key);
    if (known !== undefined && !isNewer(known, object)) this.#remove(key, known);
  }

  #put(object: KubeObject): void {
    const key = keyOf(object.metadata);
    const before = this.#objects.get(key);
    if (before !== undefined && !isNewer(object, before)) return;
    this.#objects.set(key, object);
    this.#options.onChange(object, before);
  }

  #remove(key: Key, object: KubeObject): void {
    this.#objects.delete(key);
    this.#options.onChange(undefined, object);
  }

  #pause(ms: number): Promise<void> {
    const {signal} = this.#ended;
    const {promise, resolve} = Promise.withResolvers<void>();
    const cancel = this.#options.timers.after(ms, resolve);
    const end = (): void => {
      cancel();
      resolve();
    };
    signal.addEventListener('abort', end, {once: true});
    return promise.finally(() => signal.removeEventListener('abort', end));
  }
}

/**
 * Whether one object is a later state than another. Versions are opaque by contract and numbers
 * in every server there is; where they are none, what comes last counts.
 */
function isNewer(one: KubeObject, other: KubeObject): boolean {
  const [a, b] = [one.metadata.resourceVersion ?? '', other.metadata.resourceVersion ?? ''];
  if (a === b) return false;
  if (!/^\d+$/.test(a) || !/^\d+$/.test(b)) return true;
  return a.length === b.length ? a > b : a.length > b.length;
}
