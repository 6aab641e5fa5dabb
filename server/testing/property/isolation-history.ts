/**
 * Random transactions side by side over records, indexes and edges, and what each of them saw:
 * the material for `simulation/anomalies.ts`. Beside the tests: `make fuzz TARGET=isolation`.
 *
 * A cell is a vertex with the list of the values that were appended to it and their number, which
 * two indexes hold as well. A hub has an edge to every cell, by which cells are read too, and gets
 * a marked edge with some of the appends: the marks are a set to which anybody may add.
 */
import type {Isolation} from '#server/transactions/transaction-contract.ts';
import {Refusal} from '#server/base/errors.ts';
import type {RunRequest} from '#server/session/session.ts';
import {
  type Append,
  type Attempt,
  type Findings,
  findAnomalies,
  type History,
  type Look,
} from '#server/simulation/anomalies.ts';
import {createSeededRandom, type SeededRandom} from '#server/simulation/seeded-random.ts';
import type {Fuzzer} from '../fuzz/fuzzer.ts';
import {root, ServiceWorld, type TestDatabase} from '../worlds/service-world.ts';

const cells = 5;
const clients = 8;
const transactionsOfClient = 12;

const schema = [
  'CREATE VERTEX TYPE Hub',
  'CREATE VERTEX TYPE Cell',
  'CREATE PROPERTY Cell.id INTEGER',
  'CREATE PROPERTY Cell.n INTEGER',
  'CREATE INDEX ON Cell (id) UNIQUE',
  'CREATE INDEX ON Cell (n, id) NOTUNIQUE',
  'CREATE EDGE TYPE Has',
  'CREATE EDGE TYPE Mark',
  'CREATE PROPERTY Mark.v INTEGER',
  'CREATE INDEX ON Mark (v) UNIQUE',
  'CREATE VERTEX Hub',
  ...Array.from({length: cells}, (_, id) => `CREATE VERTEX Cell SET id = ${id}, n = 0, log = []`),
  'CREATE EDGE Has FROM (SELECT FROM Hub) TO (SELECT FROM Cell)',
];

const marks = 'marks';
const cellName = (id: unknown): string => `cell ${String(id)}`;

type Row = Readonly<Record<string, unknown>>;
type Seen = ReadonlyMap<string, readonly number[] | number>;

interface Question {
  readonly text: string;
  readonly language?: 'cypher';
  readonly seen: (rows: readonly Row[]) => Seen;
}

const logs = (rows: readonly Row[]): Seen =>
  new Map(rows.map(({id, log}) => [cellName(id), log as number[]]));
const markValues = (rows: readonly Row[]): Seen => new Map([[marks, rows.map(({v}) => Number(v))]]);

/** The same state, asked in many ways. */
const questions: readonly ((random: SeededRandom) => Question)[] = [
  () => ({text: 'SELECT id, log FROM Cell', seen: logs}),
  random => ({text: `SELECT id, log FROM Cell WHERE id = ${random.below(cells)}`, seen: logs}),
  random => ({text: `SELECT id, log FROM Cell WHERE id >= ${random.below(cells)}`, seen: logs}),
  () => ({
    // Both values come from the keys of the index.
    text: 'SELECT id, n FROM Cell WHERE n >= 0',
    seen: rows => new Map(rows.map(({id, n}) => [cellName(id), Number(n)])),
  }),
  () => ({
    text: 'MATCH (:Hub)-[:Has]->(c:Cell) RETURN c.id AS id, c.log AS log',
    language: 'cypher',
    seen: logs,
  }),
  () => ({text: 'SELECT v FROM Mark WHERE v >= 0', seen: markValues}),
  () => ({text: 'MATCH (:Hub)-[m:Mark]->() RETURN m.v AS v', language: 'cypher', seen: markValues}),
  () => ({
    text: "SELECT id, log, inE('Mark').v AS marks FROM Cell",
    seen: rows => {
      const all = rows.flatMap(row => row['marks'] as number[]);
      return new Map<string, readonly number[] | number>([...logs(rows), [marks, all]]);
    },
  }),
];

export type LevelOf = (random: SeededRandom) => Isolation;

export const bothLevels: LevelOf = random =>
  random.chance(50) ? 'READ_COMMITTED' : 'REPEATABLE_READ';

/** Runs one history in a database of its own. */
export async function runHistory(
  world: ServiceWorld,
  seed: number,
  levelOf: LevelOf = bothLevels,
): Promise<History> {
  const database = await world.database(schema);
  const run = new HistoryRun(world, database, levelOf);
  const random = createSeededRandom(seed);
  const seeds = Array.from({length: clients}, () => random.u32());
  await Promise.all(seeds.map((each, client) => run.client(createSeededRandom(each), client)));
  const rows = await database.run('SELECT id, log FROM Cell');
  const marked = await database.run('SELECT v FROM Mark');
  const final = new Map<string, readonly number[]>([
    ...rows.map(({id, log}) => [cellName(id), log as number[]] as const),
    [marks, marked.map(({v}) => Number(v))],
  ]);
  await world.service.dropDatabase(root, database.name);
  return {attempts: run.attempts, final, sets: new Set([marks])};
}

class HistoryRun {
  readonly attempts: Attempt[] = [];
  readonly #world: ServiceWorld;
  readonly #database: TestDatabase;
  readonly #levelOf: LevelOf;
  #time = 0;
  #value = 0;

  constructor(world: ServiceWorld, database: TestDatabase, levelOf: LevelOf) {
    this.#world = world;
    this.#database = database;
    this.#levelOf = levelOf;
  }

  async client(random: SeededRandom, client: number): Promise<void> {
    for (let number = 0; number < transactionsOfClient; number += 1) {
      await turns(random.below(4));
      const level = this.#levelOf(random);
      const steps: (Look | Append)[] = [];
      const begun = this.#tick();
      const committed = await this.#transaction(random, level, steps);
      this.attempts.push({name: `${client}.${number}`, level, begun, steps, committed});
    }
  }

  /** When it was committed; undefined when it was refused or rolled back. */
  async #transaction(
    random: SeededRandom,
    level: Isolation,
    steps: (Look | Append)[],
  ): Promise<number | undefined> {
    const {service} = this.#world;
    const {name} = this.#database;
    const transactionId = await service.begin(root, name, {isolation: level});
    try {
      for (let left = 1 + random.below(5); left > 0; left -= 1) {
        const step = random.chance(45)
          ? await this.#append(random, level, transactionId)
          : await this.#look(random, transactionId);
        steps.push(...step);
        await turns(random.below(3));
      }
      if (random.chance(10)) {
        await service.rollback(root, name, transactionId);
        return undefined;
      }
      await service.commit(root, name, transactionId, undefined);
      return this.#tick();
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'commit.conflict') throw error;
      await service.rollback(root, name, transactionId);
      return undefined;
    }
  }

  async #look(random: SeededRandom, transactionId: string): Promise<readonly Look[]> {
    const {text, language, seen} = random.pick(questions)(random);
    const begun = this.#tick();
    const more = {transactionId, limit: -1, ...(language && {language})};
    return [{kind: 'look', begun, seen: seen(await this.#database.run(text, more))}];
  }

  /** Appends in one statement or, where that is safe, as a client does who computes for himself. */
  async #append(
    random: SeededRandom,
    level: Isolation,
    transactionId: string,
  ): Promise<readonly (Look | Append)[]> {
    const id = random.below(cells);
    const object = cellName(id);
    this.#value += 1;
    const value = this.#value;
    const steps: (Look | Append)[] = [];
    const more: Partial<RunRequest> = {transactionId};
    if (level === 'REPEATABLE_READ' && random.chance(50)) {
      const begun = this.#tick();
      const rows = await this.#database.run(`SELECT id, log FROM Cell WHERE id = ${id}`, more);
      steps.push({kind: 'look', begun, seen: logs(rows)});
      const [row = {log: []}] = rows;
      const log = [...(row['log'] as number[]), value];
      await this.#database.run(
        `UPDATE Cell SET log = [${log.join(', ')}], n = ${log.length} WHERE id = ${id}`,
        more,
      );
    } else {
      const appended = `UPDATE Cell SET log = log || [${value}], n = n + 1 WHERE id = ${id}`;
      await this.#database.run(appended, more);
    }
    steps.push({kind: 'append', object, value});
    if (random.chance(50)) {
      const to = `(SELECT FROM Cell WHERE id = ${id})`;
      const link = `CREATE EDGE Mark FROM (SELECT FROM Hub) TO ${to} SET v = ${value}`;
      await this.#database.run(link, more);
      // Values are unique in all objects together.
      steps.push({kind: 'append', object: marks, value});
    }
    return steps;
  }

  #tick(): number {
    this.#time += 1;
    return this.#time;
  }
}

async function turns(count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1) await new Promise(setImmediate);
}

/** What many histories came to. */
export class HistoryTally {
  histories = 0;
  committed = 0;
  refused = 0;
  reads = 0;
  writeSkews = 0;

  add({attempts}: History, {reads, writeSkews}: Findings): void {
    this.histories += 1;
    const committed = attempts.filter(attempt => attempt.committed !== undefined).length;
    this.committed += committed;
    this.refused += attempts.length - committed;
    this.reads += reads;
    this.writeSkews += writeSkews;
  }

  toString(): string {
    const {histories, committed, refused, reads, writeSkews} = this;
    return (
      `${histories} histories, ${committed} transactions committed, ${refused} refused or ` +
      `rolled back, ${reads} reads of objects, ${writeSkews} groups with write skew`
    );
  }
}

/** One history after another, every other one where commits are heard of late. */
export async function isolationFuzzer(seed: number): Promise<Fuzzer> {
  const worlds = [await ServiceWorld.open(), await ServiceWorld.open({}, {reportsLate: true})];
  const tally = new HistoryTally();
  return {
    async step() {
      const number = seed + tally.histories;
      const history = await runHistory(worlds[number % 2] as ServiceWorld, number);
      const findings = findAnomalies(history);
      const [anomaly] = findings.anomalies;
      if (anomaly !== undefined) throw new Error(`seed ${number}: ${anomaly}`);
      tally.add(history, findings);
    },
    summary: () => `${tally.toString()}, no anomaly`,
    async close() {
      for (const world of worlds) await world.close();
    },
  };
}
