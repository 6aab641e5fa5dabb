/**
 * KubeApi over HTTP: one request a verb, nothing repeated (retrying-api.ts does), nothing cached.
 *
 * Lists are paged and their `managedFields` dropped, which nobody here reads and which are often
 * most of an object.
 */
import {reasonOf} from '#server/base/errors.ts';
import {type Answer, exchangeStream, linesOf, readAll} from '#server/client/exchange.ts';
import {exchangeJson, type JsonAnswer} from '#server/client/json-exchange.ts';
import {FIELD_MANAGER} from '#operator/api/group.ts';
import {at, type KubeObject, textAt} from '#operator/api/kube-object.ts';
import type {Access} from './access.ts';
import {
  ApiError,
  type ApiReason,
  type DeleteOptions,
  type Kind,
  type KubeApi,
  type ObjectList,
  type Ref,
  type Scope,
  type Subresource,
  type WatchEvent,
} from './api.ts';

const CALL_MS = 15_000;
/** The server ends a watch after this while, and the informer begins the next one. */
const WATCH_SECONDS = 240;
/** A connection on which nothing came for so long, no bookmark either, is taken for dead. */
const WATCH_SILENCE_MS = 90_000;
const PAGE = 500;

interface Call {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string;
}

export class HttpKubeApi implements KubeApi {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  get(ref: Ref): Promise<KubeObject> {
    return this.#object({method: 'GET', path: pathOf(ref)});
  }

  async list(scope: Scope): Promise<ObjectList> {
    const items: KubeObject[] = [];
    let next = '';
    for (;;) {
      const query = queryOf({...selectorOf(scope), limit: String(PAGE), continue: next});
      const page = await this.#call({method: 'GET', path: `${collectionOf(scope)}${query}`});
      const {kind, apiVersion} = scope.kind;
      const found = at(page, 'items');
      for (const item of Array.isArray(found) ? (found as readonly KubeObject[]) : []) {
        // Items of a list do not say their kind.
        items.push(slim({...item, kind, apiVersion}));
      }
      next = textAt(page, 'metadata', 'continue') ?? '';
      if (next === '') {
        return {items, resourceVersion: textAt(page, 'metadata', 'resourceVersion') ?? ''};
      }
    }
  }

  async watch(
    scope: Scope & {readonly resourceVersion: string},
    on: (event: WatchEvent) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const query = queryOf({
      ...selectorOf(scope),
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: scope.resourceVersion,
      timeoutSeconds: String(WATCH_SECONDS),
    });
    const path = `${collectionOf(scope)}${query}`;
    const to = this.#access.endpoint(WATCH_SILENCE_MS);
    try {
      const headers = {Accept: 'application/json', ...(await this.#access.headers())};
      const sent = {method: 'GET', path: this.#path(path), headers, again: true, signal};
      const answer = await exchangeStream(to, sent);
      if (answer.status !== 200) {
        throw errorOf({...answer, text: await readAll(answer.body)});
      }
      for await (const line of linesOf(answer.body)) on(eventOf(line));
    } catch (error) {
      if (error instanceof ApiError) throw error;
      throw new ApiError(0, 'Network', `the watch broke off: ${reasonOf(error)}`, {cause: error});
    }
  }

  create(kind: Kind, object: KubeObject): Promise<KubeObject> {
    const path = collectionOf({kind, namespace: object.metadata.namespace});
    return this.#object({
      method: 'POST',
      path: `${path}?fieldManager=${FIELD_MANAGER}`,
      body: object,
    });
  }

  replace(kind: Kind, object: KubeObject): Promise<KubeObject> {
    const path = pathOf(refOf(kind, object));
    return this.#object({
      method: 'PUT',
      path: `${path}?fieldManager=${FIELD_MANAGER}`,
      body: object,
    });
  }

  apply(kind: Kind, object: KubeObject): Promise<KubeObject> {
    return this.#object({
      method: 'PATCH',
      path: `${pathOf(refOf(kind, object))}?fieldManager=${FIELD_MANAGER}&force=true`,
      body: object,
      // JSON is YAML, and older servers know this name alone.
      contentType: 'application/apply-patch+yaml',
    });
  }

  patch(ref: Ref, patch: unknown, subresource?: Subresource): Promise<KubeObject> {
    const path = subresource === undefined ? pathOf(ref) : `${pathOf(ref)}/${subresource}`;
    return this.#object({
      method: 'PATCH',
      path: `${path}?fieldManager=${FIELD_MANAGER}`,
      body: patch,
      contentType: 'application/merge-patch+json',
    });
  }

  async delete(
    ref: Ref,
    {propagation = 'Background', ...preconditions}: DeleteOptions,
  ): Promise<void> {
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      propagationPolicy: propagation,
      preconditions,
    };
    await this.#call({method: 'DELETE', path: pathOf(ref), body});
  }

  async #object(call: Call): Promise<KubeObject> {
    return slim((await this.#call(call)) as KubeObject);
  }

  async #call({method, path, body, contentType = 'application/json'}: Call): Promise<unknown> {
    let answer: JsonAnswer;
    try {
      const headers = await this.#access.headers();
      const sent = {method, path: this.#path(path), headers, body, contentType};
      answer = await exchangeJson(this.#access.endpoint(CALL_MS), sent);
    } catch (error) {
      const what = `${method} ${path.replace(/\?.*/, '')}: ${reasonOf(error)}`;
      throw new ApiError(0, 'Network', what, {cause: error});
    }
    if (answer.status >= 300) throw errorOf(answer);
    if (answer.json !== undefined) return answer.json;
    throw new ApiError(answer.status, 'Other', `${method} ${path}: the answer is no JSON`);
  }

  /** A server may lie behind a path of its own. */
  #path(path: string): string {
    return this.#access.endpoint(CALL_MS).url.pathname.replace(/\/$/, '') + path;
  }
}

function refOf(kind: Kind, {metadata}: KubeObject): Ref {
  return {kind, namespace: metadata.namespace ?? '', name: metadata.name};
}

function pathOf({kind, namespace, name}: Ref): string {
  return `${collectionOf({kind, namespace})}/${encodeURIComponent(name)}`;
}

function collectionOf({kind, namespace}: Pick<Scope, 'kind' | 'namespace'>): string {
  const base = kind.apiVersion.includes('/')
    ? `/apis/${kind.apiVersion}`
    : `/api/${kind.apiVersion}`;
  const within =
    kind.isNamespaced && namespace !== undefined && namespace !== ''
      ? `/namespaces/${encodeURIComponent(namespace)}`
      : '';
  return `${base}${within}/${kind.plural}`;
}

function selectorOf({labelSelector}: Scope): Readonly<Record<string, string>> {
  return labelSelector === undefined ? {} : {labelSelector};
}

function queryOf(parameters: Readonly<Record<string, string>>): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== '');
  return `?${new URLSearchParams(given).toString()}`;
}

function slim(object: KubeObject): KubeObject {
  const {managedFields: _, ...metadata} = object.metadata as KubeObject['metadata'] & {
    readonly managedFields?: unknown;
  };
  return {...object, metadata};
}

function eventOf(line: string): WatchEvent {
  const event = JSON.parse(line) as {readonly type: string; readonly object: KubeObject};
  switch (event.type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return {type: event.type, object: slim(event.object)};
    case 'BOOKMARK':
      return {type: 'BOOKMARK', resourceVersion: event.object.metadata.resourceVersion ?? ''};
    default:
      throw statusError(Number(at(event.object, 'code') ?? 0), event.object);
  }
}

function errorOf({status, headers, text}: Pick<Answer, 'status' | 'headers' | 'text'>): ApiError {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    body = undefined;
  }
  const seconds = Number(headers['retry-after']);
  const retryAfterMs = Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : undefined;
  return statusError(status, body, retryAfterMs);
}

const REASONS: Readonly<Record<number, ApiReason>> = {
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Expired',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'Unavailable',
  502: 'Unavailable',
  503: 'Unavailable',
  504: 'Unavailable',
};

function statusError(status: number, body: unknown, retryAfterMs?: number): ApiError {
  const told = textAt(body, 'reason');
  const reason = told === 'AlreadyExists' ? told : (REASONS[status] ?? 'Other');
  const message = textAt(body, 'message') ?? `the API server answered ${status}`;
  return new ApiError(status, reason, message, {retryAfterMs});
}
