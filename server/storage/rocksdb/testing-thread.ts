/** A thread for threads.test.ts: attaches to the store it is given and answers questions. */
import {parentPort, workerData} from 'node:worker_threads';
import {createPackedRows, eachRow} from '../packed-rows.ts';
import type {ShareableStore, Store, StoreSnapshot} from '../store.ts';
import {attachStore} from './open.ts';

interface Question {
  readonly get?: string;
  readonly viewGet?: string;
  readonly attach?: bigint;
  readonly release?: boolean;
  readonly holdScanner?: boolean;
  /** Takes that many snapshots and counts those that saw half of a batch. */
  readonly watch?: number;
  readonly close?: boolean;
}

async function main(): Promise<void> {
  const store = await attachStore(workerData as ShareableStore);
  let snapshot: StoreSnapshot | undefined;
  parentPort?.on('message', (question: Question) => {
    if (question.close === true) {
      store.close();
      process.exit();
    }
    parentPort?.postMessage(answer(question));
  });

  function answer(question: Question): string {
    if (question.get !== undefined) return String(store.get(Buffer.from(question.get)));
    if (question.viewGet !== undefined) return String(snapshot?.get(Buffer.from(question.viewGet)));
    if (question.watch !== undefined) return `${countTorn(store, question.watch)} torn`;
    if (question.holdScanner === true) {
      store.scan([{start: Buffer.alloc(0)}], {rowsMax: 1}).next(createPackedRows(100));
      store.snapshot();
      return 'held';
    }
    if (question.release === true) {
      snapshot?.release();
      return 'released';
    }
    try {
      snapshot = store.attachSnapshot(question.attach ?? 0n);
      return 'attached';
    } catch (error) {
      return String(error);
    }
  }
}

function countTorn(store: Store, viewCount: number): number {
  let torn = 0;
  const into = createPackedRows(1000);
  for (let taken = 0; taken < viewCount; taken++) {
    const snapshot = store.snapshot();
    const seen = new Set([String(snapshot.get(Buffer.from('m')))]);
    for (const reverse of [false, true]) {
      snapshot.scan([{start: Buffer.alloc(0)}], {reverse}).next(into);
      for (const row of eachRow(into)) seen.add(String(row.value));
    }
    if (seen.size > 1) torn++;
    snapshot.release();
  }
  return torn;
}

await main();
