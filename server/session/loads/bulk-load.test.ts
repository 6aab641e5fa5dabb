/**
 * A bulk load whose commits fail somewhere: what it counts is what is stored, and nothing comes
 * behind a failure. Holds invariants U2 and U3.
 */
import assert from 'node:assert/strict';
import {tmpdir} from 'node:os';
import {after, before, test} from 'node:test';
import {setImmediate as nextTurn} from 'node:timers/promises';
import fc from 'fast-check';
import {Refusal} from '#server/base/errors.ts';
import type {Database} from '#server/engine/database.ts';
import {createTimers} from '#server/platform/real/clock.ts';
import {createDisk} from '#server/platform/real/disk.ts';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';
import type {CommitOutcome} from '#server/transactions/commit.ts';
import {BulkIds} from '../bulk-ids.ts';
import {SpilledIds} from '../bulk-ids-disk.ts';
import {BulkLoad} from './bulk-load.ts';
import {LineLoad} from './line-load.ts';

const batchSize = 3;

let world: ServiceWorld;
before(async () => {
  world = await ServiceWorld.open();
});
after(() => world.close());

function loadInto(database: TestDatabase): LineLoad {
  const load = new BulkLoad({
    session: database.service.databaseSession(root, database.name),
    guard: () => undefined,
    user: undefined,
    timers: createTimers(),
    references: 'id',
    ordinalBase: 0,
    lightEdges: false,
    bidirectional: true,
    vertexBatchSize: batchSize,
    edgeBatchSize: batchSize,
    retriesMax: 0,
    retryDelayMs: 0,
    ids: new BulkIds({
      countMax: 1_000,
      memoryBytesMax: 1 << 20,
      spill: new SpilledIds(createDisk(), tmpdir(), 'never'),
      seed: 1,
    }),
    entryBytesMax: 1 << 20,
    tellsIds: false,
    makeVertex: () => Promise.resolve(undefined),
    onVertices: () => {},
    onVerticesEnd: () => {},
    onEdges: () => {},
  });
  return new LineLoad(load, {format: 'json', lineBytesMax: 1 << 20});
}

/**
 * Lets commit number `at` fail: at once, before it has a place in the log, or some turns after it
 * was appended, when others may have been appended behind it.
 */
class FailingCommits {
  submitted = 0;
  /** How many had been submitted when the failure was told. */
  submittedAtFailure: number | undefined;
  /** Entries that were appended, as it seems, until it shows that they were not. */
  #unstored = 0;

  constructor(database: Database, at: number, turns: number | 'at once') {
    const submit = database.submit.bind(database);
    const indexOf = (): number =>
      Reflect.get(Object.getPrototypeOf(database), 'lastIndex', database);
    Object.defineProperty(database, 'lastIndex', {get: () => indexOf() + this.#unstored});
    let before: Promise<unknown> = Promise.resolve();
    database.submit = request => {
      this.submitted += 1;
      const isFailing = this.submitted === at;
      if (isFailing && turns !== 'at once') this.#unstored = 1;
      const outcome = isFailing ? this.#fail(turns, before) : submit(request);
      // Outcomes are told in the order of the log.
      const inOrder = Promise.all([outcome, before]).then(([own]) => own);
      before = inOrder;
      return inOrder;
    };
  }

  async #fail(turns: number | 'at once', before: Promise<unknown>): Promise<CommitOutcome> {
    if (turns !== 'at once') {
      for (let left = turns; left > 0; left -= 1) await nextTurn();
      await before;
    }
    this.#unstored = 0;
    this.submittedAtFailure = this.submitted;
    return turns === 'at once'
      ? {kind: 'refused', code: 'disk-full', detail: 'the disk is full'}
      : {kind: 'unknown', detail: 'nobody answered'};
  }
}

const anyCase = fc.record({
  vertices: fc.integer({min: 0, max: 40}),
  edges: fc.integer({min: 0, max: 40}),
  failsAt: fc.integer({min: 1, max: 20}),
  turns: fc.oneof(fc.constant('at once' as const), fc.nat({max: 12})),
});

test('the counts are what is stored, and behind a failed commit comes no other', async () => {
  let failures = 0;
  await fc.assert(
    fc.asyncProperty(anyCase, async ({vertices, edges, failsAt, turns}) => {
      const database = await world.database(['CREATE VERTEX TYPE V', 'CREATE EDGE TYPE E']);
      const commits = new FailingCommits(world.stored(database), failsAt, turns);
      const load = loadInto(database);
      const lines = [
        ...Array.from({length: vertices}, (_, at) => `{"@type":"v","@class":"V","@id":"t${at}"}`),
        ...Array.from({length: vertices === 0 ? 0 : edges}, (_, at) => {
          const [from, to] = [at % vertices, (at * 7) % vertices];
          return `{"@type":"e","@class":"E","@from":"t${from}","@to":"t${to}"}`;
        }),
      ];
      try {
        for (const line of lines) await load.push(Buffer.from(`${line}\n`));
        await load.finish();
        assert.equal(commits.submittedAtFailure, undefined, 'a failure is told');
        assert.equal(load.counts.vertices + load.counts.edges, lines.length);
      } catch (error) {
        assert.ok(error instanceof Refusal);
        assert.equal(error.code, turns === 'at once' ? 'storage.full' : 'commit.unknown');
        failures += 1;
        await load.abandon().catch(() => undefined);
        assert.equal(commits.submitted, commits.submittedAtFailure);
      }
      const [vertex] = await database.run('SELECT count(*) AS n FROM V');
      const [edge] = await database.run('SELECT count(*) AS n FROM E');
      assert.equal(vertex?.['n'], load.counts.vertices);
      assert.equal(edge?.['n'], load.counts.edges);
    }),
    {numRuns: 40},
  );
  assert.ok(failures > 5, `${failures} loads failed`);
});
