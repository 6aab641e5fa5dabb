/**
 * The choice of the engine: what this machine lacks is refused in one sentence before anything is
 * loaded, and a native store that fails its self-test costs a line in the log, not the start.
 */
import assert from 'node:assert/strict';
import {mkdtempSync, readdirSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import type {Logger} from '#server/platform/logger.ts';
import {closing} from '#server/testing/closing.ts';
import {openFallback} from './fallback.ts';
import {loadFallback} from './fallback-binding.ts';
import {findObstacle, type Machine, readMachine} from './machine.ts';
import type {Addon} from './native.ts';
import {chooseEngine} from './open.ts';
import {selfTest} from './self-test.ts';

const dataRoot = mkdtempSync(join(tmpdir(), 'svc-choice-'));
after(() => rmSync(dataRoot, {recursive: true}));

const fit: Machine = {
  platform: 'linux',
  architecture: 'x64',
  processorFlags: new Set(['avx', 'avx2']),
  glibc: '2.36',
};

test('a machine that cannot run the store is refused with its reason', () => {
  assert.equal(findObstacle(fit), undefined);
  assert.equal(findObstacle({...fit, glibc: '2.34'}), undefined);
  assert.equal(findObstacle({...fit, glibc: '3.0'}), undefined);
  const table: [Partial<Machine>, RegExp][] = [
    [{platform: 'darwin'}, /linux-x64 only, and this is darwin-x64/],
    [{architecture: 'arm64'}, /linux-arm64/],
    [{processorFlags: new Set(['avx'])}, /AVX2/],
    [{glibc: '2.31'}, /glibc 2\.34 or later, and this is 2\.31/],
    [{glibc: undefined}, /another C library/],
  ];
  for (const [lack, reason] of table) {
    assert.match(findObstacle({...fit, ...lack}) ?? '', reason);
    const refused = (error: unknown) => error instanceof Refusal && error.code === 'start.refused';
    assert.throws(() => choose({machine: {...fit, ...lack}, setting: 'fallback'}), refused);
  }
  assert.equal(findObstacle(readMachine()), undefined, 'and this machine is fit');
});

test('the native store is chosen where it passes its self-test', () => {
  const {engine, lines} = choose({setting: 'auto'});
  assert.equal(engine, 'native');
  // With the package's library the log says what would be faster.
  assert.ok(['', 'store.library'].includes(lines.join()), lines.join());
  assert.equal(choose({setting: 'fallback'}).engine, 'fallback');
  assert.deepEqual(readdirSync(dataRoot), [], 'nothing is left behind');
});

test('any surprise means the fallback and one line, or a refusal when native is demanded', () => {
  const addon = {path: join(dataRoot, 'absent.node'), isRelease: false};
  const {engine, lines} = choose({setting: 'auto', addon});
  assert.equal(engine, 'fallback');
  assert.deepEqual(lines, ['store.fallback']);
  assert.throws(() => choose({setting: 'native', addon}), /native store does not work here/);
});

test('the self-test finds a store that forgets', async () => {
  const path = join(dataRoot, 'forgetful');
  const store = closing(
    await openFallback(loadFallback(), path, {
      createIfMissing: true,
      blockCacheBytes: 1 << 20,
    }),
  );
  const forgetful = Object.assign(Object.create(store) as typeof store, {
    get: () => undefined,
    write: store.write.bind(store),
    batch: store.batch.bind(store),
    snapshot: store.snapshot.bind(store),
    scan: store.scan.bind(store),
    close: () => store.close(),
  });
  assert.throws(() => selfTest(dataRoot, () => forgetful), /get is right/);
  store.close();
});

function choose(choice: {
  setting: 'auto' | 'native' | 'fallback';
  addon?: Addon;
  machine?: Machine;
}) {
  const lines: string[] = [];
  const logger: Logger = {log: (_level, event) => lines.push(event)};
  return {engine: chooseEngine({dataRoot, logger, ...choice}), lines};
}
