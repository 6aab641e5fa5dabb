/** Which groups of processes have a limit of processor time. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {hasProcessorQuota} from './processor-quota.ts';

function isLimited(files: Readonly<Record<string, string>>): boolean {
  return hasProcessorQuota(path => files[path]);
}

test('a limit is told by the group of either version', () => {
  assert.ok(isLimited({'/sys/fs/cgroup/cpu.max': '50000 100000\n'}));
  assert.ok(isLimited({'/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '200000\n'}));
});

test('without a limit, or without groups, there is none', () => {
  assert.ok(!isLimited({'/sys/fs/cgroup/cpu.max': 'max 100000\n'}));
  assert.ok(!isLimited({'/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1\n'}));
  assert.ok(!isLimited({}));
  assert.equal(typeof hasProcessorQuota(), 'boolean');
});
