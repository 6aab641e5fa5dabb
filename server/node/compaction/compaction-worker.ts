/** The thread of `store-compactions.ts`: carries out the one order that it is started with. */
import {parentPort, workerData} from 'node:worker_threads';
import type {CompactionOrder} from '#server/engine/store-compaction.ts';
import {packError} from '#server/session/threads/thread-errors.ts';
import {attachStore} from '#server/storage/rocksdb/open.ts';
import type {Store} from '#server/storage/store.ts';
import {lowerPriority} from '../threads/priority.ts';
import type {CompactionNews} from './store-compactions.ts';

const port = parentPort;
if (port !== null) {
  // RocksDB's own threads write and merge.
  lowerPriority('statement');
  const order = workerData as CompactionOrder;
  const store = await attachStore(order.store);
  let news: CompactionNews;
  try {
    news = {kind: 'done', finished: compact(store, order)};
  } catch (error) {
    news = {kind: 'failed', error: packError(error)};
  } finally {
    store.close();
  }
  port.postMessage(news);
}

function compact(store: Store, {ranges, stop}: CompactionOrder): boolean {
  if (ranges.length === 0) return store.compact({stop});
  return ranges.every(range => store.compact({range, stop}));
}
