/** What is asked again, how often, and what is not. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {ApiError, type ApiReason, type KubeApi} from './api.ts';
import {kinds} from './kinds.ts';
import {RetryingApi} from './retrying-api.ts';
import {pod, world} from './testing-world.ts';

const ref = {kind: kinds.pod, namespace: 'shop', name: 'a'};
const verbs: Readonly<Record<string, (api: KubeApi) => Promise<unknown>>> = {
  get: api => api.get(ref),
  list: api => api.list({kind: kinds.pod, namespace: 'shop', labelSelector: undefined}),
  apply: api => api.apply(kinds.pod, pod('a')),
  patch: api => api.patch(ref, {}),
  'delete with uid': api => api.delete(ref, {uid: 'uid-1'}),
  'delete by name': api => api.delete(ref, {}),
  create: api => api.create(kinds.pod, pod('b')),
  replace: api => api.replace(kinds.pod, pod('a')),
};

async function callsUntilAnswer(
  verb: string,
  reason: ApiReason,
  failures: number,
): Promise<number> {
  let calls = 0;
  const parts = world({
    before: () =>
      ++calls <= failures
        ? Promise.reject(new ApiError(503, reason, 'not now'))
        : Promise.resolve(),
  });
  parts.store.create(kinds.pod, pod('a'));
  const api = new RetryingApi(parts.api, parts.means);
  const settled = verbs[verb]?.(api).then(
    () => 'answered',
    () => 'failed',
  );
  await parts.time.run(60_000);
  assert.notEqual(await settled, undefined);
  return calls;
}

const cases: readonly (readonly [string, ApiReason, number, number])[] = [
  ['get', 'Unavailable', 2, 3],
  ['list', 'Network', 2, 3],
  ['apply', 'TooManyRequests', 3, 4],
  ['patch', 'Network', 9, 4],
  ['delete with uid', 'Network', 1, 2],
  ['delete by name', 'Network', 1, 1],
  ['create', 'Network', 1, 1],
  ['replace', 'Network', 1, 1],
  ['get', 'NotFound', 1, 1],
  ['apply', 'Conflict', 1, 1],
  ['apply', 'Forbidden', 1, 1],
];

for (const [verb, reason, failures, expected] of cases) {
  test(`${verb} that fails ${failures} times with ${reason} is asked ${expected}x`, async () => {
    assert.equal(await callsUntilAnswer(verb, reason, failures), expected);
  });
}

test('it waits as long as the server asks', async () => {
  let calls = 0;
  const parts = world({
    before: () =>
      ++calls === 1
        ? Promise.reject(new ApiError(429, 'TooManyRequests', 'busy', {retryAfterMs: 7_000}))
        : Promise.resolve(),
  });
  parts.store.create(kinds.pod, pod('a'));
  void new RetryingApi(parts.api, parts.means).get(ref);
  await parts.time.run(6_900);
  assert.equal(calls, 1);
  await parts.time.run(200);
  assert.equal(calls, 2);
});
