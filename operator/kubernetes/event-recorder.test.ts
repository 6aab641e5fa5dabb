/** Events are written once, counted when they come again, and never in anybody's way. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {numberAt, textAt} from '#operator/api/kube-object.ts';
import {clusterObject} from '#operator/api/testing-cluster.ts';
import {ApiError} from './api.ts';
import {EventRecorder} from './event-recorder.ts';
import {kinds} from './kinds.ts';
import {world} from './testing-world.ts';

const told = {reason: 'UpgradeStalled', message: 'db-2 is not ready'} as const;

function recorder(parts: ReturnType<typeof world>): EventRecorder {
  return new EventRecorder({...parts.means, api: parts.api, component: 'svc-operator-0'});
}

const scope = {kind: kinds.event, namespace: 'shop', labelSelector: undefined};

test('the same words are one event, whose count grows at most once a minute', async () => {
  const parts = world();
  const events = recorder(parts);
  for (let count = 0; count < 10; count++) await events.record(clusterObject(), told);
  assert.equal(parts.store.list(scope).length, 1);
  await parts.time.run(61_000);
  await events.record(clusterObject(), told);
  // An operator that starts anew goes on with the same event.
  await recorder(parts).record(clusterObject(), told);
  const [event] = parts.store.list(scope);
  assert.equal(numberAt(event, 'count'), 3);
  assert.equal(textAt(event, 'type'), 'Warning');
  assert.equal(textAt(event, 'involvedObject', 'kind'), 'SvcCluster');
});

test('other words, or another object, are another event', async () => {
  const parts = world();
  const events = recorder(parts);
  await events.record(clusterObject(), told);
  await events.record(clusterObject(), {...told, message: 'db-1 is not ready'});
  await events.record(clusterObject({}, {metadata: {name: 'db', uid: 'uid-later'}}), told);
  assert.equal(parts.store.list({...scope, namespace: undefined}).length, 3);
});

test('an event that cannot be written disturbs nobody', async () => {
  const parts = world({before: () => Promise.reject(new ApiError(403, 'Forbidden', 'no'))});
  await recorder(parts).record(clusterObject(), told);
});
