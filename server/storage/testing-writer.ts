/**
 * A child program for tests: writes a random history to a store, reports when it is through, and
 * waits to be killed. Reads STORE_PATH, STORE_ENGINE and STORE_SEED.
 */
import {
  createSeeded,
  randomHistory,
  writeChanges,
} from '#server/testing/property/random-history.ts';
import {openStore} from './rocksdb/open.ts';

const operationCount = 300;

async function main(): Promise<void> {
  const path = process.env['STORE_PATH'] ?? '';
  const engine = process.env['STORE_ENGINE'] === 'fallback' ? 'fallback' : 'native';
  const history = randomHistory(createSeeded(Number(process.env['STORE_SEED'])), operationCount);
  const store = await openStore(path, {engine, memtableBytes: 64 << 10});
  for (const operation of history) {
    if (operation.kind === 'write') writeChanges(store, operation.changes, operation.sync);
    else if (operation.kind === 'make-durable') store.makeDurable();
  }
  process.send?.(operationCount);
  setInterval(() => {}, 1000);
}

await main();
