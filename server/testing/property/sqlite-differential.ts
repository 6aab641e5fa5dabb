/**
 * This server and SQLite asked the same questions about the same rows: `make fuzz TARGET=sqlite`,
 * and a slice in the tests. SQLite is that of the pinned Node.js.
 *
 * Invariant: both tables hold the same facts, and nothing here writes after `open`.
 */
import {DatabaseSync} from 'node:sqlite';
import type {Value} from '#server/model/value.ts';
import type {Fuzzer} from '../fuzz/fuzzer.ts';
import {ServiceWorld, type TestDatabase} from '../worlds/service-world.ts';
import {SeededRandom} from './seeded-random.ts';
import {
  columns,
  type Fact,
  facts,
  type SqliteQuestion,
  sqliteQuestion,
  tables,
} from './sqlite-questions.ts';

const factCount = 300;

export class SqliteDifferential {
  /** Rows that were answered, by the kind of question. */
  readonly rowsOfKind = new Map<string, number>();
  readonly #world: ServiceWorld;
  readonly #database: TestDatabase;
  readonly #sqlite: DatabaseSync;
  readonly #random: SeededRandom;
  #asked = 0;

  private constructor(
    world: ServiceWorld,
    parts: {readonly database: TestDatabase; readonly sqlite: DatabaseSync},
    random: SeededRandom,
  ) {
    this.#world = world;
    this.#database = parts.database;
    this.#sqlite = parts.sqlite;
    this.#random = random;
  }

  static async open(seed: number): Promise<SqliteDifferential> {
    const random = new SeededRandom(seed);
    const rows = facts(random, factCount);
    const world = await ServiceWorld.open();
    const database = await world.database([]);
    const sqlite = new DatabaseSync(':memory:');
    sqlite.exec('PRAGMA case_sensitive_like = ON');
    for (const table of tables) {
      await database.run(`CREATE DOCUMENT TYPE ${table}`);
      sqlite.exec(`CREATE TABLE ${table} (${columns.join(', ')})`);
      await fill(table, rows, {database, sqlite});
    }
    for (const [keys, kind] of [['id', 'UNIQUE'], ...['a', 'c', 's', 't, b'].map(plain)]) {
      for (const property of keys.split(', ')) {
        const type = {id: 'INTEGER', a: 'INTEGER', b: 'INTEGER', c: 'DOUBLE'}[property];
        await database.run(`CREATE PROPERTY Indexed.${property} ${type ?? 'STRING'}`);
      }
      await database.run(`CREATE INDEX ON Indexed (${keys}) ${kind}`);
    }
    return new SqliteDifferential(world, {database, sqlite}, random);
  }

  /** Asks one question of both. Throws with both texts and answers where they differ. */
  async ask(): Promise<void> {
    const question = sqliteQuestion(this.#random, this.#asked++);
    const theirs = this.#sqlite.prepare(question.lite).all();
    const ours = await this.#database.run(question.ours, {limit: -1}).catch((error: unknown) => {
      throw new Error(`refused: ${question.ours}`, {cause: error});
    });
    const [found, wanted] = [linesOf(ours, question), linesOf(theirs, question)];
    const at = wanted.findIndex((line, index) => line !== found[index]);
    if (found.length !== wanted.length || at >= 0) {
      throw new Error(
        `${question.kind}\nhere:   ${question.ours}\nSQLite: ${question.lite}\n` +
          `${found.length} rows here, ${wanted.length} there; first difference at row ${at}:\n` +
          `here:   ${found[at]}\nSQLite: ${wanted[at]}`,
      );
    }
    this.rowsOfKind.set(question.kind, (this.rowsOfKind.get(question.kind) ?? 0) + found.length);
  }

  get asked(): number {
    return this.#asked;
  }

  async close(): Promise<void> {
    this.#sqlite.close();
    await this.#world.close();
  }
}

export async function sqliteFuzzer(seed: number): Promise<Fuzzer> {
  const differential = await SqliteDifferential.open(seed);
  return {
    step: () => differential.ask(),
    summary: () => `${differential.asked} questions, each with one answer here and in SQLite`,
    close: () => differential.close(),
  };
}

function plain(keys: string): readonly [string, string] {
  return [keys, 'NOTUNIQUE'];
}

async function fill(
  table: string,
  rows: readonly Fact[],
  {database, sqlite}: {readonly database: TestDatabase; readonly sqlite: DatabaseSync},
): Promise<void> {
  const marks = columns.map(() => '?').join(', ');
  const insert = sqlite.prepare(`INSERT INTO ${table} VALUES (${marks})`);
  for (const row of rows) {
    insert.run(...columns.map(name => (name === 'ok' ? Number(row.ok) : row[name])));
  }
  // Every other row lacks what is not known, the rest says that it is null.
  const contents = rows.map(row => {
    const known = Object.entries(row).filter(([, value]) => value !== null || row.id % 2 === 0);
    return JSON.stringify(Object.fromEntries(known));
  });
  await database.run(`INSERT INTO ${table} CONTENT [${contents.join(', ')}]`);
}

/** A line for each row: the values by column, numbers to 12 digits, truth as SQLite has it. */
function linesOf(rows: readonly object[], {ordered}: SqliteQuestion): readonly string[] {
  const lines = rows.map(row => {
    const cells = Object.entries(row).map(([name, value]) => [name, plainValue(value)] as const);
    // A column without a value may be left out.
    const known = cells.filter(([, value]) => value !== null);
    return JSON.stringify(known.sort(([a], [b]) => (a < b ? -1 : 1)));
  });
  return ordered ? lines : lines.sort();
}

function plainValue(value: Value | undefined): unknown {
  if (typeof value === 'boolean') return Number(value);
  if (typeof value === 'number') return Number(value.toPrecision(12)) + 0;
  return value ?? null;
}
