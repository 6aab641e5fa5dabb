/**
 * A program for power-loss.slow.test.ts: runs a random history on a RocksDB store below
 * SVC_RECORD_ROOT and marks the begin and the end of every operation. Reads STORE_ENGINE,
 * STORE_SEED, STORE_OPERATIONS and STORE_BULK_BYTES.
 */
import {join} from 'node:path';
import {createMarker} from '../power-loss/power-loss.ts';
import {powerLossHistory, writeChanges} from '../property/random-history.ts';
import {openStore} from '#server/storage/rocksdb/open.ts';
import type {Store} from '#server/storage/store.ts';

async function main(): Promise<void> {
  const root = process.env['SVC_RECORD_ROOT'] ?? '';
  const engine = process.env['STORE_ENGINE'] === 'fallback' ? 'fallback' : 'native';
  const history = powerLossHistory(Number(process.env['STORE_SEED']), {
    length: Number(process.env['STORE_OPERATIONS']),
    bulkBytes: Number(process.env['STORE_BULK_BYTES']),
  });
  const mark = createMarker(root);
  const path = join(root, 'store');
  const open = (): Promise<Store> => openStore(path, {engine, memtableBytes: 64 << 10});
  let store = await open();
  mark('opened');
  for (const [index, operation] of history.entries()) {
    mark(`begin ${index}`);
    if (operation.kind === 'write') writeChanges(store, operation.changes, operation.sync);
    else if (operation.kind === 'make-durable') store.makeDurable();
    else if (operation.kind === 'compact') store.compact();
    else if (operation.kind === 'checkpoint') store.checkpoint(join(root, `checkpoint-${index}`));
    else if (operation.kind === 'reopen') {
      store.close();
      store = await open();
    }
    mark(`end ${index}`);
  }
  store.close();
}

await main();
