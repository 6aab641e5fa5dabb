/**
 * One random history, three stores, equal answers: reads after every few writes, on the store and
 * on snapshots, over reopening, compaction and checkpoints. The RocksDB directory changes
 * its engine at every reopening. A failure prints its seed; `STORE_SEED`
 * runs that one, `STORE_SEEDS` as many.
 */
import assert from 'node:assert/strict';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {
  createSeeded,
  describeReads,
  digestOf,
  type Operation,
  randomHistory,
  writeChanges,
} from '#server/testing/property/random-history.ts';
import {createMemoryStore, type MemoryStore} from './memory/memory-store.ts';
import {InMemoryDisk} from './memory/shelf.ts';
import {openStore} from './rocksdb/open.ts';
import type {Store, StoreSnapshot} from './store.ts';

const root = mkdtempSync(join(tmpdir(), 'svc-metamorphic-'));
after(() => rmSync(root, {recursive: true}));

const seedFirst = Number(process.env['STORE_SEED'] ?? 1);
const seedCount = Number(process.env['STORE_SEEDS'] ?? (process.env['STORE_SEED'] ? 1 : 12));
const seeds = Array.from({length: seedCount}, (_, index) => seedFirst + index);
const engines = ['native', 'fallback'] as const;

/** One store under comparison, with what a history holds open on it. */
interface Subject {
  store: Store;
  snapshots: StoreSnapshot[];
  reopen(): Promise<Store>;
  /** Where sorted files and checkpoints go. */
  readonly scratch: string;
  openCheckpoint(path: string): Promise<Store>;
}

for (const seed of seeds) {
  test(`seed ${seed}: native, fallback and memory agree on a random history`, async () => {
    const subjects = [
      await rocksSubject(join(root, `${seed}-a`), 0),
      await rocksSubject(join(root, `${seed}-b`), 1),
      memorySubject(),
    ];
    const history = randomHistory(createSeeded(seed), 120);
    for (const [step, operation] of history.entries()) {
      const answers = [];
      for (const subject of subjects) answers.push(await apply(subject, operation, step));
      for (const answer of answers) {
        assert.deepEqual(answer, answers[2], `STORE_SEED=${seed}, step ${step}`);
      }
    }
    for (const subject of subjects) subject.store.close();
  });
}

async function apply(subject: Subject, operation: Operation, step: number): Promise<unknown> {
  const {store, snapshots} = subject;
  switch (operation.kind) {
    case 'write':
      return writeChanges(store, operation.changes, operation.sync);
    case 'make-durable':
      return store.makeDurable();
    case 'compact':
      return store.compact();
    case 'snapshot':
      snapshots.push(store.snapshot());
      return snapshots.length;
    case 'release':
      snapshots.shift()?.release();
      return snapshots.length;
    case 'read':
      return [store, ...snapshots].map(reader => describeReads(reader, operation.seed));
    case 'checkpoint': {
      const path = join(subject.scratch, `checkpoint-${step}`);
      store.checkpoint(path);
      const copy = await subject.openCheckpoint(path);
      const digest = digestOf(copy);
      copy.close();
      return digest;
    }
    case 'reopen':
      subject.snapshots = [];
      store.close();
      subject.store = await subject.reopen();
      return digestOf(subject.store);
  }
}

async function rocksSubject(path: string, turnFirst: number): Promise<Subject> {
  let turn = turnFirst;
  const next = () =>
    openStore(path, {engine: engines[turn++ % 2] ?? 'native', memtableBytes: 65536});
  const openCheckpoint = (from: string) =>
    openStore(from, {engine: engines[turn % 2] ?? 'native', mustExist: true});
  return {store: await next(), snapshots: [], reopen: next, scratch: path, openCheckpoint};
}

function memorySubject(): Subject {
  const shelf = new InMemoryDisk();
  const store: MemoryStore = createMemoryStore({shelf, path: '/store'});
  const open = async (path: string) => createMemoryStore({shelf, path, mustExist: true});
  return {store, snapshots: [], reopen: () => open('/store'), scratch: '/', openCheckpoint: open};
}
