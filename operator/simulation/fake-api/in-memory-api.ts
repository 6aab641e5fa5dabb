/**
 * KubeApi over an ObjectStore in memory: what the operator's tests and simulation run against.
 *
 * Every call first passes `before`, where a simulation delays it, fails it, loses its answer, or
 * ends the operator that made it.
 */
import type {KubeObject} from '#operator/api/kube-object.ts';
import {
  ApiError,
  type DeleteOptions,
  type Kind,
  type KubeApi,
  type ObjectList,
  type Ref,
  type Scope,
  type Subresource,
  type WatchEvent,
} from '#operator/kubernetes/api.ts';
import type {ObjectStore} from './object-store.ts';

export interface CallMade {
  readonly verb: 'get' | 'list' | 'watch' | 'create' | 'replace' | 'apply' | 'patch' | 'delete';
  readonly kind: string;
  readonly name: string;
  /** What the object of a deletion must still be. */
  readonly resourceVersion?: string | undefined;
}

export interface Interference {
  /** Called before a call is carried out; a rejection means that it is not. */
  before(call: CallMade): Promise<void>;
  /** Called after it was carried out; a rejection means that its answer is lost. */
  after(call: CallMade): Promise<void>;
  /** Events of a watch are handed over by this, at once or later, in order. */
  deliver(task: () => void): void;
  /** Whether a watch ends now. */
  isWatchCut(): boolean;
}

export const noInterference: Interference = {
  before: () => Promise.resolve(),
  after: () => Promise.resolve(),
  deliver: task => task(),
  isWatchCut: () => false,
};

export class InMemoryApi implements KubeApi {
  readonly #store: ObjectStore;
  readonly #interference: Interference;

  constructor(store: ObjectStore, interference: Interference = noInterference) {
    this.#store = store;
    this.#interference = interference;
  }

  get(ref: Ref): Promise<KubeObject> {
    return this.#call({verb: 'get', kind: ref.kind.kind, name: ref.name}, () =>
      this.#store.get(ref),
    );
  }

  list(scope: Scope): Promise<ObjectList> {
    return this.#call({verb: 'list', kind: scope.kind.kind, name: ''}, () => ({
      items: this.#store.list(scope),
      resourceVersion: String(this.#store.version),
    }));
  }

  async watch(
    scope: Scope & {readonly resourceVersion: string},
    on: (event: WatchEvent) => void,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#interference.before({verb: 'watch', kind: scope.kind.kind, name: ''});
    let seen = Number(scope.resourceVersion);
    const {promise, resolve, reject} = Promise.withResolvers<void>();
    const pump = (): void => {
      if (signal.aborted) return resolve();
      if (this.#interference.isWatchCut()) {
        return reject(new ApiError(0, 'Network', 'the watch broke off'));
      }
      try {
        for (const {version, event} of this.#store.changesAfter(scope, seen)) {
          seen = version;
          this.#interference.deliver(() => {
            if (!signal.aborted) on(event);
          });
        }
      } catch (error) {
        reject(error instanceof Error ? error : new Error(String(error)));
      }
    };
    const end = this.#store.onChange(pump);
    signal.addEventListener('abort', () => resolve(), {once: true});
    pump();
    await promise.finally(end);
  }

  create(kind: Kind, object: KubeObject): Promise<KubeObject> {
    return this.#write({verb: 'create', kind, name: object.metadata.name}, () =>
      this.#store.create(kind, object),
    );
  }

  replace(kind: Kind, object: KubeObject): Promise<KubeObject> {
    return this.#write({verb: 'replace', kind, name: object.metadata.name}, () =>
      this.#store.replace(kind, object),
    );
  }

  apply(kind: Kind, object: KubeObject): Promise<KubeObject> {
    return this.#write({verb: 'apply', kind, name: object.metadata.name}, () =>
      this.#store.apply(kind, object),
    );
  }

  patch(ref: Ref, patch: unknown, subresource?: Subresource): Promise<KubeObject> {
    return this.#write({verb: 'patch', kind: ref.kind, name: ref.name}, () =>
      this.#store.patch(ref, patch, subresource),
    );
  }

  delete(ref: Ref, options: DeleteOptions): Promise<void> {
    const {resourceVersion} = options;
    const call = {verb: 'delete', kind: ref.kind, name: ref.name, resourceVersion} as const;
    return this.#write(call, () => this.#store.delete(ref, options));
  }

  #write<T>(call: Omit<CallMade, 'kind'> & {readonly kind: Kind}, run: () => T): Promise<T> {
    const {kind} = call.kind;
    return this.#call({...call, kind}, () => {
      if (kind !== 'Lease' && kind !== 'Event') this.#store.writes++;
      return run();
    });
  }

  async #call<T>(call: CallMade, run: () => T): Promise<T> {
    await this.#interference.before(call);
    const answer = run();
    await this.#interference.after(call);
    return answer;
  }
}
