/**
 * Inserts into a database of a benchmark, counted, so that the end can be checked against what was
 * acknowledged.
 */
import assert from 'node:assert/strict';
import {type Measured, measure, type Target} from '../peers/target.ts';

export const schema = [
  'CREATE DOCUMENT TYPE Ins',
  'CREATE PROPERTY Ins.k LONG',
  'CREATE PROPERTY Ins.v STRING',
  'CREATE INDEX ON Ins (k) UNIQUE',
];
export const rowsOfCommit = 1_000;
const pad = 'x'.repeat(200);
const keysOfClient = 10_000_000;
const keysOfRun = 300 * keysOfClient;

/** Counts what it inserts, so that the end can be checked. */
export class Inserter {
  readonly #target: Target;
  readonly #database: string;
  #runs = 0;
  records = 0;

  constructor(target: Target, database: string) {
    this.#target = target;
    this.#database = database;
  }

  /** Single records, each a commit. */
  async single(clients: number, millis: number): Promise<Measured> {
    const outcome = await measure(this.#target, {
      ...this.#shape(clients, millis),
      before: '{"language":"sql","command":"INSERT INTO Ins SET k = :k, v = :v","params":{"k":',
      after: `,"v":"${pad}"}}`,
    });
    this.records += outcome.operations;
    return outcome;
  }

  /** A thousand records in one statement with a list of parameters. */
  async many(clients: number, millis: number): Promise<Measured> {
    const values = Array.from({length: rowsOfCommit}, () => '(?, ?)').join();
    const outcome = await measure(this.#target, {
      ...this.#shape(clients, millis),
      before: `{"language":"sql","command":"INSERT INTO Ins (k, v) VALUES ${values}","params":[`,
      rows: {count: rowsOfCommit, each: `,"${pad}"`},
      after: ']}',
    });
    this.records += outcome.operations * rowsOfCommit;
    return outcome;
  }

  /** Inserts about so many. */
  async load(count: number): Promise<void> {
    while (this.records < count) await this.many(4, 1_000);
  }

  async check(): Promise<void> {
    const text = 'SELECT count(*) AS c FROM Ins';
    const {result} = await this.#target.client.query(this.#database, text);
    assert.equal(Number(result[0]?.['c']), this.records, 'every acknowledged record is stored');
  }

  #shape(clients: number, millis: number) {
    const start = ++this.#runs * keysOfRun;
    return {
      path: `/api/v1/command/${this.#database}`,
      numbers: {kind: 'sequence', start, stride: keysOfClient} as const,
      clients,
      millis,
    };
  }
}
