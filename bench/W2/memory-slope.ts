/**
 * W2, memory: that a million small transactions leave nothing behind in the server.
 *
 * Inserts under a unique key, updates of one record, and scripts with a transaction of their own
 * take turns, with 64 clients. Resident memory goes up and down by two hundred megabytes under
 * load, so the server rests after each 100,000 until it has collected its garbage
 * (server/node/runtime/heap-trimmer.ts). What it holds then is read, without the memtables and the
 * block cache, as it reports them itself: both fill up to limits of their own, at their own times.
 * What leaks lifts the readings; what counts is the slope of the line that fits best.
 */
import {setTimeout as rest} from 'node:timers/promises';
import {startSvc} from '../peers/svc.ts';
import {measure, prepare, type Target} from '../peers/target.ts';
import {memoryOf, pinned} from '../processes.ts';
import type {Report} from '../report.ts';
import {Inserter, schema} from './inserter.ts';

const database = 'bench';
const clients = 64;
const millisAtOnce = 2_000;
const transactions = 1_000_000;
const readings = 10;
const megabyte = 2 ** 20;
const restMillis = 30_000;
/** Records that updates and scripts choose among, by a key that no insert has. */
const hotRecords = 10_000;

const update = 'UPDATE Hot SET n = n + 1 WHERE k = :k';
const script =
  'BEGIN; LET h = SELECT FROM Hot WHERE k = :k; ' +
  'UPDATE Hot SET n = n + 1 WHERE k = :k; COMMIT RETRY 100; RETURN $h';

export async function memorySlope(report: Report): Promise<void> {
  const svc = await startSvc();
  try {
    report.say(`W2 memory: ${transactions} transactions, pinned: ${pinned()}`);
    await prepare(svc, database, [
      ...schema,
      'CREATE DOCUMENT TYPE Hot',
      'CREATE PROPERTY Hot.k LONG',
      'CREATE INDEX ON Hot (k) UNIQUE',
    ]);
    await fillHot(svc);
    const work = new Work(svc);
    await work.run(transactions / 2);
    const resident: number[] = [];
    for (let step = 0; step < readings; step += 1) {
      await work.run(transactions / readings);
      await rest(restMillis);
      const held = await holdings(svc);
      resident.push(held.rest);
      report.say(
        `tenth ${step + 1}: ${shown(held.resident)} MB resident, of these memtables ` +
          `${shown(held.memtables)}, cache ${shown(held.cache)}; the rest ${shown(held.rest)}`,
      );
    }
    await work.inserter.check();
    report.add({
      class: 'W2',
      point: 'memory over a million transactions',
      unit: 'MB per 100,000',
      durability: 'fsync',
      // A slope downwards is as good as none.
      ours: [Math.max(slopeOf(resident), 0.001)],
      peer: 'none',
      theirs: [],
      gate: {at: 'most', bound: 1},
      notes: {restMB: resident.map(Math.round)},
    });
  } finally {
    await svc.dispose();
  }
}

interface Holdings {
  readonly resident: number;
  readonly memtables: number;
  readonly cache: number;
  readonly rest: number;
}

/** Megabytes of memory, as of now. */
async function holdings({pid, client}: Target): Promise<Holdings> {
  const {metrics} = (await client.serverInfo('default')) as unknown as ServerInfo;
  const {storageMemtables, storageCache} = metrics.profiler;
  const resident = memoryOf(pid).resident / megabyte;
  const memtables = storageMemtables.space / megabyte;
  const cache = storageCache.space / megabyte;
  return {resident, memtables, cache, rest: resident - memtables - cache};
}

interface ServerInfo {
  readonly metrics: {
    readonly profiler: Readonly<Record<'storageMemtables' | 'storageCache', {space: number}>>;
  };
}

function shown(megabytes: number): string {
  return megabytes.toFixed(0);
}

async function fillHot({client}: Target): Promise<void> {
  for (let from = 0; from < hotRecords; from += 1_000) {
    const values = Array.from({length: 1_000}, (_, at) => `(${from + at}, 0)`).join();
    await client.command(database, `INSERT INTO Hot (k, n) VALUES ${values}`);
  }
}

/** The three kinds of transactions in turn. */
class Work {
  readonly inserter: Inserter;
  readonly #target: Target;
  #turn = 0;

  constructor(target: Target) {
    this.#target = target;
    this.inserter = new Inserter(target, database);
  }

  /** Runs at least `count` operations. */
  async run(count: number): Promise<void> {
    for (let done = 0; done < count; this.#turn += 1) {
      done += (await this.#some(this.#turn % 3)).operations;
    }
  }

  #some(kind: number) {
    if (kind === 0) return this.inserter.single(clients, millisAtOnce);
    return kind === 1 ? this.#change('sql', update) : this.#change('sqlscript', script);
  }

  #change(language: string, command: string) {
    return measure(this.#target, {
      path: `/api/v1/command/${database}`,
      before: `{"language":"${language}","command":"${command}","params":{"k":`,
      after: '}}',
      numbers: {kind: 'random', count: hotRecords, seed: this.#turn},
      clients,
      millis: millisAtOnce,
    });
  }
}

/** Returns the slope of the line that fits best, in one step a value. */
function slopeOf(values: readonly number[]): number {
  const middle = (values.length - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  let product = 0;
  let square = 0;
  values.forEach((value, at) => {
    product += (at - middle) * (value - mean);
    square += (at - middle) ** 2;
  });
  return product / square;
}
