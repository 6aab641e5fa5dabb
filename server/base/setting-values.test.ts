/**
 * Settings: every default passes its own check; sources, messages and units as documented.
 * Holds invariant B2.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {
  environmentName,
  MASK,
  parseSetting,
  requireSettingKey,
  resolveSettings,
} from './setting-values.ts';
import {settingAreas} from '#server/testing/documents/setting-areas.ts';
import type {SettingRow} from './setting-row.ts';
import {settingKeys, settingRows} from './settings.ts';
import {settingsWithoutMeaning} from './settings-without-meaning.ts';

test('names are unique as environment variables and begin with svc', () => {
  assert.equal(new Set(settingKeys.map(environmentName)).size, settingKeys.length);
  for (const key of settingKeys) assert.match(key, /^svc(\.[a-z][A-Za-z0-9]*)+$/);
});

test('every default is shown in a form that reads back as itself', () => {
  const {settings, refused} = resolveSettings([]);
  assert.deepEqual(refused, []);
  for (const line of settings.report()) {
    if (line.value === MASK) continue;
    assert.deepEqual(parseSetting(line.key, line.value, 'test'), settings.get(line.key), line.key);
  }
});

test('descriptions are sentences that fit on a page', () => {
  for (const key of settingKeys) {
    const row: SettingRow = settingRows[key];
    assert.match(row.description, /^[A-Z].{10,160}\.$/, key);
  }
});

test('the first source wins, and the origin is its name', () => {
  const {settings, refused} = resolveSettings([
    {name: '--set', values: {'svc.txRetries': '7'}},
    {name: 'file', values: {'svc.txRetries': 9, 'svc.ha.enabled': true}},
  ]);
  assert.deepEqual(refused, []);
  assert.equal(settings.get('svc.txRetries'), 7);
  assert.equal(settings.origin('svc.txRetries'), '--set');
  assert.equal(settings.get('svc.ha.enabled'), true);
  assert.equal(settings.origin('svc.ha.enabled'), 'file');
  assert.equal(settings.origin('svc.txTimeout'), 'default');
});

const readings = [
  // key                              raw          value
  ['svc.ha.logSegmentSize', '64MB', 64 * 2 ** 20],
  ['svc.ha.logSegmentSize', '1 g', 2 ** 30],
  ['svc.ha.logSegmentSize', 65_536, 65_536],
  ['svc.server.httpBodyContentMaxSize', '-1', -1],
  ['svc.server.httpSessionExpireTimeout', '5', 5_000],
  ['svc.server.httpSessionExpireTimeout', '1500ms', 1_500],
  ['svc.queryQueueTimeout', '5', 5],
  ['svc.queryQueueTimeout', '2m', 120_000],
  ['svc.server.httpIncomingPort', '2480-2489', {from: 2480, to: 2489}],
  ['svc.server.httpIncomingPort', 0, {from: 0, to: 0}],
  ['svc.server.mode', 'PRODUCTION', 'production'],
  ['svc.txStaleReadCheck', 'False', false],
] as const;

for (const [key, raw, value] of readings) {
  test(`${key}=${raw} is read`, () => {
    assert.deepEqual(parseSetting(key, raw, 'test'), value);
  });
}

const refusedValues = [
  ['svc.txWalFlush', '3', /whole number from 0 to 2/],
  ['svc.txRetries', 'abc', /whole number/],
  ['svc.txRetries', '1.5', /whole number/],
  ['svc.ha.enabled', 'yes', /true or false/],
  ['svc.server.mode', 'fast', /one of development, test, production/],
  ['svc.ha.logSegmentSize', '12 parsecs', /such as 64MB/],
  ['svc.server.httpIncomingPort', '9-3', /range such as/],
  ['svc.server.httpIncomingPort', '70000', /from 0 to 65535/],
  ['svc.queryQueueMaxSize', '99999999999999999999', /whole number/],
  ['svc.ha.quorum', 'none', /one of majority, all; commits are acknowledged by a majority/],
  ['svc.ha.quorum', 'Three', /three of five/],
  ['svc.ha.raftPort', '0', /from 1 to 65535/],
] as const;

for (const [key, raw, message] of refusedValues) {
  test(`${key}=${raw} is refused with what is allowed`, () => {
    const code = raw === 'abc' ? 'number.format' : 'setting.value';
    assert.throws(() => parseSetting(key, raw, 'test'), {code, message});
  });
}

test('an unknown key names the nearest one, and all refusals come at once', () => {
  const {settings, refused} = resolveSettings([
    {name: '--set', values: {'svc.txRetrys': '1', 'svc.txWalFlush': 'never'}},
  ]);
  assert.deepEqual(
    refused.map(refusal => [refusal.code, refusal.detail['key']]),
    [
      ['setting.unknown', 'svc.txRetrys'],
      ['number.format', 'svc.txWalFlush'],
    ],
  );
  assert.match(refused[0]?.message ?? '', /did you mean 'svc.txRetries'/);
  assert.equal(settings.get('svc.txWalFlush'), 2);
});

test('names of other systems are passed over, each once, and stop no start', () => {
  const [key = '', reason] = Object.entries(settingsWithoutMeaning)[0] ?? [];
  const {refused, passedOver} = resolveSettings([
    {name: '--set', values: {[key]: 'anything'}},
    {name: 'environment', values: {[key]: '1'}},
  ]);
  assert.deepEqual(refused, []);
  assert.deepEqual(passedOver, [{key, origin: '--set', reason}]);
});

test('names of other systems are none of ours, and a command that sets one is refused', () => {
  for (const [key, reason] of Object.entries(settingsWithoutMeaning)) {
    assert.ok(!settingKeys.some(known => known === key), key);
    assert.throws(() => requireSettingKey(key, 'test'), {
      code: 'setting.unknown',
      message: `Setting '${key}' (test) has no meaning here: ${reason}`,
    });
    for (const [named] of reason.matchAll(/svc(\.\w+)+/g)) requireSettingKey(named, 'reason');
  }
});

test('folders follow the root path unless they are set', () => {
  const {settings} = resolveSettings([
    {name: '--set', values: {'svc.server.rootPath': '/data', 'svc.server.configDirectory': '/l'}},
  ]);
  assert.equal(settings.get('svc.server.databaseDirectory'), '/data/databases');
  assert.equal(settings.get('svc.server.configDirectory'), '/l');
});

test('secrets are never shown, not even when they are refused', () => {
  const {settings} = resolveSettings([
    {name: '--set', values: {'svc.server.rootPassword': 'hunter2hunter2'}},
  ]);
  assert.equal(settings.get('svc.server.rootPassword'), 'hunter2hunter2');
  assert.doesNotMatch(JSON.stringify(settings.report()), /hunter2/);
});

test('a change gives new settings and leaves the old ones alone', () => {
  const {settings} = resolveSettings([]);
  const changed = settings.with('svc.txRetries', 5, 'request');
  assert.equal(changed.get('svc.txRetries'), 5);
  assert.equal(changed.origin('svc.txRetries'), 'request');
  assert.equal(settings.get('svc.txRetries'), 3);
  assert.throws(() => settings.with('svc.nope', 1, 'request'), {code: 'setting.unknown'});
});

test('every setting stands in one area', () => {
  const inAreas = settingAreas.flatMap(({rows}) => Object.keys(rows));
  assert.deepEqual(inAreas.toSorted(), settingKeys.toSorted());
});
