/** One change a bucket, however many buckets there are. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {BucketChanges} from './bucket-changes.ts';

test('each bucket has one change, among few buckets and among many', () => {
  const changes = new BucketChanges();
  assert.deepEqual(changes.all, []);
  for (let turn = 1; turn <= 3; turn += 1) {
    for (let bucketId = 0; bucketId < 20; bucketId += 1) {
      const change = changes.of(bucketId);
      change.countDelta += bucketId;
      change.takesPositions ||= bucketId % 2 === 0;
    }
  }
  assert.equal(changes.all.length, 20);
  for (const {bucketId, countDelta, takesPositions} of changes.all) {
    assert.equal(countDelta, 3 * bucketId);
    assert.equal(takesPositions, bucketId % 2 === 0);
    assert.equal(changes.find(bucketId)?.countDelta, countDelta);
  }
  assert.equal(changes.find(20), undefined);
});
