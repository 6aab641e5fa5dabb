/** When the health monitor warns, and how often. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {resolveSettings} from '#server/base/setting-values.ts';
import {HealthMonitor, type HealthSample} from './health-monitor.ts';

const well: HealthSample = {
  disk: {directory: '/data', freePercent: 50, freeBytes: 1 << 30},
  heapBytes: 100,
  heapBytesMax: 1_000,
  pauseMs: 0,
};
const minute = 60_000;

function monitor() {
  const warnings: string[] = [];
  const state = {now: 0, isEnabled: true};
  const health = new HealthMonitor({
    clock: {monotonic: () => state.now},
    settings: () => {
      const values = {'svc.server.healthCheck.enabled': state.isEnabled};
      return resolveSettings([{name: 'test', values}]).settings;
    },
    warn: message => void warnings.push(message),
  });
  return {health, warnings, state};
}

test('nothing is said while all is well', () => {
  const {health, warnings} = monitor();
  for (let at = 0; at < 3; at++) health.look(well);
  health.look({...well, disk: undefined});
  assert.deepEqual(warnings, []);
});

test('a low disk is told once a day', () => {
  const {health, warnings, state} = monitor();
  const low = {...well, disk: {directory: '/data', freePercent: 19.99, freeBytes: 5 << 20}};
  for (state.now = 0; state.now < 24 * 60 * minute; state.now += 60 * minute) health.look(low);
  assert.deepEqual(warnings, ['Free space on the disk of /data is low: 19.99 % (5 MB) is left']);
  health.look(low);
  assert.equal(warnings.length, 2);
});

test('a low heap is told once in half an hour, apart from the disk', () => {
  const {health, warnings, state} = monitor();
  const low = {...well, heapBytes: 801};
  health.look({...low, disk: {directory: '/data', freePercent: 1, freeBytes: 0}});
  assert.equal(warnings.length, 2);
  assert.match(warnings[1] ?? '', /heap is low: 19\.9 %/);
  state.now = 30 * minute - 1;
  health.look(low);
  assert.equal(warnings.length, 2);
  state.now = 30 * minute;
  health.look(low);
  assert.equal(warnings.length, 3);
});

test('pauses that grow by more than a fifth are told, once they are long enough', () => {
  const {health, warnings} = monitor();
  for (const pauseMs of [1, 10, 100, 119]) health.look({...well, pauseMs});
  assert.deepEqual(warnings, [
    'Pauses of the network thread grew from 10.0 to 100.0 ms on average',
  ]);
});

test('it says nothing when it is switched off, and begins at once when it is switched on', () => {
  const {health, warnings, state} = monitor();
  state.isEnabled = false;
  health.look({...well, heapBytes: 999});
  assert.deepEqual(warnings, []);
  state.isEnabled = true;
  health.look({...well, heapBytes: 999});
  assert.equal(warnings.length, 1);
});
