/** Both RocksDB stores keep the contract of store.ts, each in a directory of its own. */
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {testStoreContract} from '../store.contract.ts';
import {openStore} from './open.ts';

for (const engine of ['native', 'fallback'] as const) {
  const root = mkdtempSync(join(tmpdir(), `svc-${engine}-`));
  testStoreContract({
    name: engine,
    path: name => join(root, name),
    open: (directory, options) => openStore(join(root, directory), {engine, ...options}),
    end: () => rmSync(root, {recursive: true}),
  });
}
