/** Defaults of memory: those of the table where there is room, shares of it where there is not. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {memoryDefaults} from './memory-defaults.ts';
import {GB, MB} from './setting-row.ts';
import {resolveSettings} from './setting-values.ts';
import {type SettingKey, settingRows} from './settings.ts';

const small = {heapBytesMax: 216 * MB, processBytesMax: 512 * MB};

test('on a large machine they are those of the table', () => {
  for (const [key, value] of memoryDefaults({heapBytesMax: 4 * GB, processBytesMax: 24 * GB})) {
    assert.equal(value, settingRows[key].default, key);
  }
});

test('in 512 MiB what they bound fits, and each passes its own check', () => {
  const defaults = memoryDefaults(small);
  const at = (key: SettingKey): number => defaults.get(key) ?? 0;
  assert.ok(at('svc.queryMemoryTotalMax') <= small.heapBytesMax / 3);
  assert.ok(at('svc.queryMemoryMax') < at('svc.queryMemoryTotalMax'));
  // What users keep between statements leaves room for the statements.
  assert.ok(at('svc.keptMemoryMax') <= at('svc.queryMemoryTotalMax') / 2);
  assert.ok(at('svc.keptMemoryMaxPerUser') < at('svc.keptMemoryMax'));
  assert.ok(at('svc.txSizeMax') <= at('svc.keptMemoryMaxPerUser'));
  const outside =
    at('svc.storage.blockCacheSize') +
    at('svc.graphViewMemoryMax') +
    at('svc.columnViewMemoryMax') +
    at('svc.searchMemoryMax');
  assert.ok(outside <= (small.processBytesMax - small.heapBytesMax) / 2, `${outside}`);
  for (const [key, value] of defaults) {
    const row = settingRows[key];
    assert.ok('range' in row && value >= row.range[0] && value <= row.range[1], key);
  }
});

test('what somebody sets wins, and the report tells the default of this machine', () => {
  const source = {name: '--set', values: {'svc.queryMemoryMax': '64MB'}};
  const {settings} = resolveSettings([source], memoryDefaults(small));
  assert.equal(settings.get('svc.queryMemoryMax'), 64 * MB);
  const line = settings.report().find(({key}) => key === 'svc.queryMemoryMax');
  assert.equal(line?.default, 36 * MB);
  assert.equal(settings.get('svc.queryMemoryTotalMax'), 72 * MB);
  assert.equal(settings.origin('svc.queryMemoryTotalMax'), 'default');
});
