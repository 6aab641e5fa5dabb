/**
 * W2, memory: that a million small transactions leave nothing behind in the server.
 *
 * Inserts under a unique key, updates of one record, and scripts with a transaction of their own
 * take turns, with 64 clients. Resident memory goes up and down by two hundred megabytes under load:
 * the garbage of some 250,000 transactions is collected at once. So the server rests after each
 * 100,000 until a collection has surely come (the runtime starts one within 8 to 20 s of quiet), and
 * the least that it held by then is kept: what leaks lifts it. What counts is the slope of the line
 * that fits best. What fills up once and is bounded (caches, the compiler's code) does so before the
 * first reading.
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
const sampleMillis = 100;
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
      const least = await leastDuring(svc.pid, async () => {
        await work.run(transactions / readings);
        await rest(restMillis);
      });
      resident.push(least / megabyte);
      report.say(`tenth ${step + 1}: at least ${Math.round(least / megabyte)} MB`);
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
      notes: {residentMB: resident.map(Math.round)},
    });
  } finally {
    await svc.dispose();
  }
}

/** The least bytes that the process held while the work was done. */
async function leastDuring(pid: number, work: () => Promise<void>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  const sampling = setInterval(() => {
    least = Math.min(least, memoryOf(pid).resident);
  }, sampleMillis);
  try {
    await work();
  } finally {
    clearInterval(sampling);
  }
  return Math.min(least, memoryOf(pid).resident);
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

  /** At least so many. */
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

/** Of the line that fits best, a step a value. */
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
