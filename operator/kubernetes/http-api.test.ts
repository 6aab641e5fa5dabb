/** The client over HTTP against a fake API server behind a real socket. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {KubeConfig} from '@kubernetes/client-node';
import {type FakeHttpServer, serveFakeApi} from '#operator/simulation/fake-api/http-server.ts';
import {accessOf} from './access.ts';
import {ApiError, type WatchEvent} from './api.ts';
import {HttpKubeApi} from './http-api.ts';
import {kinds} from './kinds.ts';
import {pod, world} from './testing-world.ts';

async function connected(server: FakeHttpServer) {
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    {name: 'fake', server: server.url, skipTLSVerify: true},
    {name: 'someone', token: 'secret-token'},
  );
  const access = await accessOf(config);
  return {access, api: new HttpKubeApi(access)};
}

async function served(run: (all: Awaited<ReturnType<typeof parts>>) => Promise<void>) {
  const all = await parts();
  try {
    await run(all);
  } finally {
    all.access.close();
    await all.server.close();
  }
}

async function parts() {
  const {store} = world();
  const server = await serveFakeApi(store);
  return {store, server, ...(await connected(server))};
}

const scope = {kind: kinds.pod, namespace: 'shop', labelSelector: undefined};
const ref = {kind: kinds.pod, namespace: 'shop', name: 'a'};

test('verbs reach the server as the paths and types that it knows', () =>
  served(async ({api, server, store}) => {
    await api.create(kinds.pod, pod('a'));
    await api.patch(ref, {metadata: {labels: {x: 'y'}}});
    await api.patch(ref, {status: {phase: 'Running'}}, 'status');
    await api.apply(kinds.pod, pod('a', {annotations: {b: 'c'}}));
    const found = await api.get(ref);
    await api.replace(kinds.pod, {...found, spec: {nodeName: 'n'}});
    await api.delete(ref, {uid: found.metadata.uid});
    assert.deepEqual(found.metadata.labels, {x: 'y'});
    assert.ok(store.get(ref).metadata.deletionTimestamp);
    const at = '/api/v1/namespaces/shop/pods';
    assert.deepEqual(
      server.requests.map(({method, path, type}) => `${method} ${path} ${type}`.trim()),
      [
        `POST ${at}?fieldManager=svc-operator application/json`,
        `PATCH ${at}/a?fieldManager=svc-operator application/merge-patch+json`,
        `PATCH ${at}/a/status?fieldManager=svc-operator application/merge-patch+json`,
        `PATCH ${at}/a?fieldManager=svc-operator&force=true application/apply-patch+yaml`,
        `GET ${at}/a`,
        `PUT ${at}/a?fieldManager=svc-operator application/json`,
        `DELETE ${at}/a application/json`,
      ],
    );
  }));

test('lists are read page by page, without managed fields, with the kind of their items', () =>
  served(async ({api, server, store}) => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) store.create(kinds.pod, pod(name));
    const {items, resourceVersion} = await api.list(scope);
    assert.equal(items.length, 5);
    assert.equal(resourceVersion, '5');
    assert.ok(items.every(({kind, metadata}) => kind === 'Pod' && !('managedFields' in metadata)));
    assert.equal(server.requests.length, 3);
  }));

test('twenty calls use one connection', () =>
  served(async ({api, server, store}) => {
    store.create(kinds.pod, pod('a'));
    for (let count = 0; count < 20; count++) await api.get(ref);
    assert.equal(server.connections, 1);
  }));

test('a watch tells of changes as they come, and of its end', () =>
  served(async ({api, server, store}) => {
    const events: WatchEvent[] = [];
    const {promise: seen, resolve} = Promise.withResolvers<void>();
    const watching = api.watch(
      {...scope, resourceVersion: '0'},
      event => {
        events.push(event);
        if (events.length === 2) resolve();
      },
      new AbortController().signal,
    );
    store.create(kinds.pod, pod('a'));
    store.patch(ref, {metadata: {labels: {x: 'y'}}});
    await seen;
    assert.deepEqual(
      events.map(({type}) => type),
      ['ADDED', 'MODIFIED'],
    );
    server.cut();
    await assert.rejects(watching, {name: 'ApiError', reason: 'Network'});
  }));

test('a watch from a version that is gone is refused as such', () =>
  served(async ({api, store}) => {
    store.create(kinds.pod, pod('a'));
    store.compact();
    const watching = api.watch(
      {...scope, resourceVersion: '0'},
      () => {},
      new AbortController().signal,
    );
    await assert.rejects(watching, {name: 'ApiError', reason: 'Expired'});
  }));

const refusals: readonly (readonly [number, string])[] = [
  [403, 'Forbidden'],
  [404, 'NotFound'],
  [409, 'Conflict'],
  [422, 'Invalid'],
  [429, 'TooManyRequests'],
  [500, 'Unavailable'],
  [503, 'Unavailable'],
  [418, 'Other'],
];

for (const [status, reason] of refusals) {
  test(`status ${status} is ${reason}`, () =>
    served(async ({api, server}) => {
      server.refuse.push({status, headers: {'Retry-After': '3'}});
      await assert.rejects(api.get(ref), error => {
        assert.ok(error instanceof ApiError);
        assert.deepEqual([error.reason, error.retryAfterMs], [reason, 3_000]);
        return true;
      });
    }));
}

test('a server that is not there is a lost call', async () => {
  const server = await serveFakeApi(world().store);
  const {api, access} = await connected(server);
  await server.close();
  try {
    await assert.rejects(api.get(ref), {name: 'ApiError', reason: 'Network', status: 0});
  } finally {
    access.close();
  }
});
