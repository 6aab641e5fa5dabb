/**
 * A client of the API server for scenarios: objects as they are in JSON, by kind and name.
 *
 * Kinds need not be known here: where they live is asked of the server once. What the server
 * refuses is thrown with its own words.
 */
import {readFileSync} from 'node:fs';
import {Agent, request} from 'node:https';

export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
    readonly resourceVersion?: string;
    readonly generation?: number;
  };
  readonly [field: string]: unknown;
}

export interface Reference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name?: string;
}

export class RefusedByApiServer extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

interface Resource {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

const patchTypes = {
  apply: 'application/apply-patch+yaml',
  merge: 'application/merge-patch+json',
} as const;

export class Kubernetes {
  readonly #server: URL;
  readonly #token: string;
  readonly #agent: Agent;
  readonly #resources = new Map<string, Promise<readonly Resource[]>>();

  constructor(server: string, authority: string, token: string) {
    this.#server = new URL(server);
    this.#token = token;
    this.#agent = new Agent({ca: readFileSync(authority), keepAlive: true, maxSockets: 8});
  }

  async get<T extends KubernetesObject>(reference: Reference): Promise<T> {
    return (await this.ask('GET', await this.#pathOf(reference))) as T;
  }

  /** Undefined: there is none. */
  async find<T extends KubernetesObject>(reference: Reference): Promise<T | undefined> {
    return this.get<T>(reference).catch((error: unknown) => {
      if (error instanceof RefusedByApiServer && error.status === 404) return undefined;
      throw error;
    });
  }

  async list<T extends KubernetesObject>(
    reference: Omit<Reference, 'name'>,
    selector?: string,
  ): Promise<readonly T[]> {
    const query = selector === undefined ? '' : `?labelSelector=${encodeURIComponent(selector)}`;
    const answer = await this.ask('GET', `${await this.#pathOf(reference)}${query}`);
    const {items} = answer as {items: readonly T[]};
    return items.map(item => ({
      ...item,
      apiVersion: reference.apiVersion,
      kind: reference.kind,
    }));
  }

  /** Server-side apply, as `kubectl apply --server-side --force-conflicts`. */
  async apply<T extends KubernetesObject>(object: KubernetesObject): Promise<T> {
    const query = '?fieldManager=lab&force=true';
    const path = `${await this.#pathOf(referenceTo(object))}${query}`;
    return (await this.ask('PATCH', path, object, patchTypes.apply)) as T;
  }

  /** @param options - `isTrial`: the server checks everything and keeps nothing. */
  async create(object: KubernetesObject, {isTrial = false} = {}): Promise<void> {
    const {name: _, ...rest} = referenceTo(object);
    const query = isTrial ? '?dryRun=All' : '';
    await this.ask('POST', `${await this.#pathOf(rest)}${query}`, object);
  }

  /** A merge patch, of the object or of its `status` or `scale`. */
  async patch(
    reference: Reference,
    change: object,
    {subresource = '', isTrial = false} = {},
  ): Promise<void> {
    const path = await this.#pathOf(reference);
    const tail = subresource === '' ? '' : `/${subresource}`;
    const query = isTrial ? '?dryRun=All' : '';
    await this.ask('PATCH', `${path}${tail}${query}`, change, patchTypes.merge);
  }

  /** What is not there is deleted. @param options - `DeleteOptions` of the API. */
  async remove(reference: Reference, options: object = {}): Promise<void> {
    await this.ask('DELETE', await this.#pathOf(reference), options).catch((error: unknown) => {
      if (!(error instanceof RefusedByApiServer && error.status === 404)) throw error;
    });
  }

  /** The API itself. @throws {RefusedByApiServer} for a status of 300 and above. */
  ask(method: string, path: string, body?: object, type = 'application/json'): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const text = body === undefined ? '' : JSON.stringify(body);
      const headers = {
        // Node.js would send the body of a DELETE without saying how long it is.
        'content-length': Buffer.byteLength(text),
        authorization: `Bearer ${this.#token}`,
        accept: 'application/json',
        'content-type': type,
      };
      const {hostname: host, port} = this.#server;
      const asked = request({agent: this.#agent, host, port, method, path, headers}, response => {
        let answer = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (answer += chunk));
        response.on('error', reject);
        response.on('end', () => {
          const {statusCode = 0} = response;
          if (statusCode < 300)
            return resolve(answer.startsWith('{') ? JSON.parse(answer) : answer);
          reject(new RefusedByApiServer(statusCode, `${method} ${path}: ${saidIn(answer)}`));
        });
      });
      asked.setTimeout(20_000, () => asked.destroy(new Error(`${method} ${path}: no answer`)));
      asked.on('error', reject);
      asked.end(text);
    });
  }

  async #pathOf({apiVersion, kind, namespace, name}: Reference): Promise<string> {
    const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const {name: plural, namespaced} = await this.#resourceOf(group, kind);
    const scope = namespaced && namespace !== undefined ? `/namespaces/${namespace}` : '';
    return `${group}${scope}/${plural}${name === undefined ? '' : `/${name}`}`;
  }

  async #resourceOf(group: string, kind: string): Promise<Resource> {
    const known = this.#resources.get(group) ?? this.#discover(group);
    this.#resources.set(group, known);
    const found = (await known.catch(() => [])).find(resource => resource.kind === kind);
    if (found !== undefined) return found;
    // A definition that was applied since.
    this.#resources.delete(group);
    throw new RefusedByApiServer(404, `${group} has no ${kind}`);
  }

  async #discover(group: string): Promise<readonly Resource[]> {
    const {resources} = (await this.ask('GET', group)) as {resources: readonly Resource[]};
    return resources.filter(({name}) => !name.includes('/'));
  }
}

export function referenceTo({apiVersion, kind, metadata}: KubernetesObject): Reference {
  const {name, namespace} = metadata;
  return {apiVersion, kind, name, ...(namespace !== undefined && {namespace})};
}

function saidIn(text: string): string {
  try {
    return (JSON.parse(text) as {message?: string}).message ?? text;
  } catch {
    return text.slice(0, 500);
  }
}
