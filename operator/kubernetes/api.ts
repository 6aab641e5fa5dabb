/**
 * What the operator asks of the API server of Kubernetes, as one small interface: verbs over plain
 * JSON objects of any kind.
 *
 * Why not the generated client: it knows each kind by a class of its own, drops fields that its
 * models do not know, reads times as `Date` in lists and as text in watches, and opens a connection
 * for every call. The operator needs eight verbs that treat all kinds alike, and a second
 * implementation that lives in memory (simulation/fake-api).
 */
import type {KubeObject} from '#operator/api/kube-object.ts';

/** A kind of objects, as the paths of the API server name it. */
export interface Kind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly isNamespaced: boolean;
}

export interface Ref {
  readonly kind: Kind;
  /** Empty for kinds without namespaces. */
  readonly namespace: string;
  readonly name: string;
}

export interface Scope {
  readonly kind: Kind;
  /** Undefined: all namespaces. */
  readonly namespace: string | undefined;
  readonly labelSelector: string | undefined;
}

export interface ObjectList {
  readonly items: readonly KubeObject[];
  readonly resourceVersion: string;
}

export type WatchEvent =
  | {readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubeObject}
  | {readonly type: 'BOOKMARK'; readonly resourceVersion: string};

export interface DeleteOptions {
  /** Deletes only this very object. */
  readonly uid?: string | undefined;
  /** Deletes it only as it was seen, else rejects with `Conflict`. */
  readonly resourceVersion?: string | undefined;
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan' | undefined;
}

export type Subresource = 'status' | 'scale';

/** Each call rejects with an ApiError and with nothing else. */
export interface KubeApi {
  get(ref: Ref): Promise<KubeObject>;
  /** All of them, however many pages. */
  list(scope: Scope): Promise<ObjectList>;
  /**
   * Calls `on` for every change after `resourceVersion`, in order, until the server ends the
   * stream, which resolves. Rejects with `Expired` when that version is too old.
   */
  watch(
    scope: Scope & {readonly resourceVersion: string},
    on: (event: WatchEvent) => void,
    signal: AbortSignal,
  ): Promise<void>;
  create(kind: Kind, object: KubeObject): Promise<KubeObject>;
  /** Replaces an object of the same `metadata.resourceVersion`, else rejects with `Conflict`. */
  replace(kind: Kind, object: KubeObject): Promise<KubeObject>;
  /** Server-side apply with force: whatever the operator does not name stays as it is. */
  apply(kind: Kind, object: KubeObject): Promise<KubeObject>;
  /** Merge patch. With `metadata.resourceVersion` in the patch it holds for that version alone. */
  patch(ref: Ref, patch: unknown, subresource?: Subresource): Promise<KubeObject>;
  delete(ref: Ref, options: DeleteOptions): Promise<void>;
}

export type ApiReason =
  | 'NotFound'
  | 'AlreadyExists'
  | 'Conflict'
  | 'Expired'
  | 'Invalid'
  | 'Forbidden'
  | 'TooManyRequests'
  | 'Unavailable'
  /** The answer never came: the call may have been carried out. */
  | 'Network'
  | 'Other';

export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** HTTP status; 0 when no answer came. */
  readonly status: number;
  readonly reason: ApiReason;
  /** How long the server asks to wait. */
  readonly retryAfterMs: number | undefined;

  constructor(
    status: number,
    reason: ApiReason,
    message: string,
    options: {readonly retryAfterMs?: number | undefined; readonly cause?: unknown} = {},
  ) {
    super(message, options.cause === undefined ? {} : {cause: options.cause});
    this.status = status;
    this.reason = reason;
    this.retryAfterMs = options.retryAfterMs;
  }
}

export function hasReason(error: unknown, ...reasons: readonly ApiReason[]): error is ApiError {
  return error instanceof ApiError && reasons.includes(error.reason);
}

/** `namespace/name`, by which queues and caches know an object. */
export type Key = string;

export function keyOf({
  namespace = '',
  name,
}: {
  readonly namespace?: string;
  readonly name: string;
}): Key {
  return `${namespace}/${name}`;
}
