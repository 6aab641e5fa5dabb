/** The thread of `snapshot-thread.ts`: carries its orders out, several at a time. */
import {closeSync, openSync} from 'node:fs';
import {parentPort, workerData} from 'node:worker_threads';
import {assert} from '#server/base/assert.ts';
import {checksumOfFile} from '#server/replication/snapshot/file-checksum.ts';
import {transferFiles} from '#server/replication/snapshot/transfer.ts';
import {checksummer} from '#server/storage/rocksdb/open.ts';
import type {
  SnapshotThreadAnswer,
  SnapshotThreadRequest,
  SnapshotThreadStart,
  SnapshotWork,
} from './snapshot-thread.ts';

const port = parentPort;
assert(port !== null, 'the snapshot thread is a thread');
const sum = checksummer((workerData as SnapshotThreadStart).storeEngine);
port.on('message', ({number, work}: SnapshotThreadRequest) => {
  const answer = (message: SnapshotThreadAnswer): void => port.postMessage(message);
  carriedOut(work).then(
    value => answer({number, kind: 'done', value}),
    (error: unknown) => {
      const {name, message} = error instanceof Error ? error : new Error(String(error));
      answer({number, kind: 'failed', name, message});
    },
  );
});

async function carriedOut(work: SnapshotWork): Promise<unknown> {
  if (work.kind === 'transfer') return await transferFiles(work.order, sum);
  const descriptor = openSync(work.path, 'r');
  try {
    return checksumOfFile(descriptor, work.bytes, sum);
  } finally {
    closeSync(descriptor);
  }
}
