/**
 * The fake API server behind a real socket: enough of the REST paths for the client that speaks
 * HTTP to be tested with what it meets, pages, streams, statuses and broken connections included.
 */
import http from 'node:http';
import {once} from 'node:events';
import type {KubeObject} from '#operator/api/kube-object.ts';
import {ApiError, type Kind, type Scope} from '#operator/kubernetes/api.ts';
import {kinds} from '#operator/kubernetes/kinds.ts';
import type {ObjectStore} from './object-store.ts';

export interface FakeHttpServer {
  readonly url: string;
  readonly requests: readonly {
    readonly method: string;
    readonly path: string;
    readonly type: string;
  }[];
  readonly connections: number;
  /** Answers the next requests with these statuses instead. */
  readonly refuse: {status: number; headers?: Record<string, string>}[];
  /** Breaks all connections. */
  cut(): void;
  close(): Promise<void>;
}

const PATH = new RegExp(
  '^/apis?/((?:[a-z0-9.-]+/)?v[a-z0-9]+)(?:/namespaces/([^/]+))?' +
    '/([a-z]+)(?:/([^/]+))?(?:/(status|scale))?$',
);
const PAGE = 2;

interface Target {
  readonly kind: Kind;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly subresource: string | undefined;
}

export async function serveFakeApi(store: ObjectStore): Promise<FakeHttpServer> {
  const requests: {method: string; path: string; type: string}[] = [];
  const refuse: FakeHttpServer['refuse'] = [];
  let connections = 0;
  const server = http.createServer((request, response) => {
    const {method = '', url = '', headers} = request;
    requests.push({method, path: url, type: headers['content-type'] ?? ''});
    const refused = refuse.shift();
    if (refused !== undefined) {
      response.writeHead(refused.status, refused.headers).end('{"message":"not now"}');
      return;
    }
    void answer(store, request, response);
  });
  server.on('connection', () => connections++);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    refuse,
    get connections() {
      return connections;
    },
    cut: () => server.closeAllConnections(),
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(
  store: ObjectStore,
  request: http.IncomingMessage,
  response: http.ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://fake');
  try {
    const target = targetOf(url.pathname);
    const text = await textOf(request);
    const body = text === '' ? undefined : (JSON.parse(text) as KubeObject);
    if (url.searchParams.get('watch') === 'true')
      return watch(store, scopeOf(target, url), url, response);
    const told = carryOut(store, {method: request.method ?? '', target, url, body, request});
    response.writeHead(200, {'Content-Type': 'application/json'}).end(JSON.stringify(told));
  } catch (error) {
    const failure = error instanceof ApiError ? error : new ApiError(500, 'Other', String(error));
    const {status, reason, message} = failure;
    response.writeHead(status).end(JSON.stringify({kind: 'Status', code: status, reason, message}));
  }
}

interface Asked {
  readonly method: string;
  readonly target: Target;
  readonly url: URL;
  readonly body: KubeObject | undefined;
  readonly request: http.IncomingMessage;
}

function carryOut(store: ObjectStore, {method, target, url, body, request}: Asked): unknown {
  const {kind, name, namespace = ''} = target;
  const ref = {kind, namespace, name};
  const given = body ?? {apiVersion: '', kind: '', metadata: {name}};
  switch (method) {
    case 'GET':
      return name === '' ? page(store, scopeOf(target, url), url) : store.get(ref);
    case 'POST':
      return store.create(kind, given);
    case 'PUT':
      return store.replace(kind, given);
    case 'PATCH':
      return request.headers['content-type'] === 'application/apply-patch+yaml'
        ? store.apply(kind, given)
        : store.patch(ref, body, target.subresource);
    default: {
      store.delete(ref, given['preconditions'] ?? {});
      return {kind: 'Status', status: 'Success'};
    }
  }
}

/** Two items a page, so that every test of a list pages. */
function page(store: ObjectStore, scope: Scope, url: URL): unknown {
  const from = Number(url.searchParams.get('continue') ?? '0');
  const all = store.list(scope);
  const items = all.slice(from, from + PAGE).map(({kind: _, apiVersion: __, ...rest}) => ({
    ...rest,
    metadata: {...rest.metadata, managedFields: [{manager: 'somebody'}]},
  }));
  const next = from + PAGE < all.length ? {continue: String(from + PAGE)} : {};
  return {items, metadata: {resourceVersion: String(store.version), ...next}};
}

function watch(store: ObjectStore, scope: Scope, url: URL, response: http.ServerResponse): void {
  let seen = Number(url.searchParams.get('resourceVersion') ?? '0');
  const pump = (): void => {
    for (const {version, event} of store.changesAfter(scope, seen)) {
      seen = version;
      response.write(`${JSON.stringify(event)}\n`);
    }
  };
  const changes = store.changesAfter(scope, seen);
  response.writeHead(200, {'Content-Type': 'application/json'});
  response.flushHeaders();
  if (changes.length > 0) pump();
  const end = store.onChange(pump);
  response.on('close', end);
}

function targetOf(path: string): Target {
  const [, apiVersion, namespace, plural, name = '', subresource] = PATH.exec(path) ?? [];
  const kind = Object.values(kinds).find(
    one => one.plural === plural && one.apiVersion === apiVersion,
  );
  if (kind === undefined) throw new ApiError(404, 'NotFound', `no path ${path}`);
  return {kind, namespace, name: decodeURIComponent(name), subresource};
}

function scopeOf({kind, namespace}: Target, url: URL): Scope {
  return {kind, namespace, labelSelector: url.searchParams.get('labelSelector') ?? undefined};
}

async function textOf(request: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
