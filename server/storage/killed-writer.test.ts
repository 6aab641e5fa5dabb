/**
 * What a killed process has written to a store, the other engine finds. It starts programs and so
 * runs in every check; store.metamorphic.test.ts, which is longer, need not.
 */
import assert from 'node:assert/strict';
import {fork} from 'node:child_process';
import {once} from 'node:events';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {closing} from '#server/testing/closing.ts';
import {
  createSeeded,
  digestOf,
  randomHistory,
  writeChanges,
} from '#server/testing/property/random-history.ts';
import {createMemoryStore} from './memory/memory-store.ts';
import {openStore} from './rocksdb/open.ts';

const root = mkdtempSync(join(tmpdir(), 'svc-killed-writer-'));
after(() => rmSync(root, {recursive: true}));

const engines = ['native', 'fallback'] as const;

for (const [index, engine] of engines.entries()) {
  const other = engines[1 - index] ?? 'native';
  test(`what ${engine} wrote before it was killed, ${other} finds`, async () => {
    const path = join(root, `killed-${engine}`);
    const seed = 100 + index;
    const child = fork(join(import.meta.dirname, 'testing-writer.ts'), {
      execArgv: ['--conditions=source'],
      env: {...process.env, STORE_PATH: path, STORE_ENGINE: engine, STORE_SEED: String(seed)},
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const written = await new Promise<number>((resolve, reject) => {
      child.once('message', count => resolve(Number(count)));
      child.once('exit', () => reject(new Error('the writer ended early')));
    });
    child.kill('SIGKILL');
    await once(child, 'exit');

    const twin = createMemoryStore();
    const operations = randomHistory(createSeeded(seed), written);
    for (const operation of operations) {
      if (operation.kind === 'write') writeChanges(twin, operation.changes, false);
    }
    const store = closing(await openStore(path, {engine: other, mustExist: true}));
    assert.equal(digestOf(store), digestOf(twin));
    store.close();
    const again = closing(await openStore(path, {engine, mustExist: true}));
    assert.equal(digestOf(again), digestOf(twin));
    again.close();
  });
}
