/**
 * Writers at all members of a cluster, each record with a number of its own: what was acknowledged
 * must be there afterwards, once, whatever happened meanwhile.
 */
import assert from 'node:assert/strict';
import type {Client} from '#server/client/client.ts';
import {ServerError} from '#server/client/server-error.ts';
import {type Member, untilLed} from '../cluster/cluster-system.ts';
import type {SvcCluster} from '../cluster/svc-cluster.ts';

const writers = 8;
const answerMillisMax = 5_000;
/** They are there all the time, and leave processors to what is tested. */
const pauseMillis = 15;

/** Makes the database `d` that writers write to, where numbers are unique. */
export async function prepareNumbers(of: SvcCluster): Promise<void> {
  const client = of.client(await untilLed(of));
  await client.createDatabase('d');
  await client.command('d', 'CREATE VERTEX TYPE V');
  await client.command('d', 'CREATE PROPERTY V.id LONG');
  await client.command('d', 'CREATE INDEX ON V (id) UNIQUE');
  client.close();
}

/** They write until they are told to end. */
export class UniqueWriters {
  readonly acknowledged = new Set<number>();
  refused = 0;
  unknown = 0;
  readonly #clients: readonly Client[];
  readonly #working: readonly Promise<void>[];
  #next: number;
  #isOver = false;

  /** `from`: the first number; those of earlier writers lie below. */
  constructor(of: SvcCluster, from: number) {
    this.#next = from;
    this.#clients = of.members.map(member => of.client(member, answerMillisMax));
    this.#working = Array.from({length: writers}, (_, index) => this.#write(index));
  }

  /** Writes with any outcome. */
  get answered(): number {
    return this.acknowledged.size + this.refused + this.unknown;
  }

  /** Every number so far is below. */
  get next(): number {
    return this.#next;
  }

  get told(): string {
    const {acknowledged, refused, unknown} = this;
    return `${acknowledged.size} acknowledged, ${refused} refused, ${unknown} unknown`;
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#working);
    for (const client of this.#clients) client.close();
  }

  async #write(index: number): Promise<void> {
    for (let turn = index; !this.#isOver; turn++) {
      const client = this.#clients[turn % this.#clients.length];
      assert.ok(client !== undefined);
      const id = this.#next++;
      const params = {id, filler: 'x'.repeat(2_000)};
      try {
        await client.command('d', 'INSERT INTO V SET id = :id, filler = :filler', {params});
        this.acknowledged.add(id);
      } catch (error) {
        if (error instanceof ServerError && error.exceptionName === 'NeedRetryException') {
          this.refused++;
        } else this.unknown++;
      }
      await new Promise(resolve => setTimeout(resolve, pauseMillis));
    }
  }
}

/** The numbers that a member holds. */
export async function numbersAt(of: SvcCluster, member: Member): Promise<Set<number>> {
  const stored = new Set<number>();
  const rows = of.clientOf(member).queryStream('d', 'SELECT id FROM V', {limit: -1});
  for await (const row of rows) stored.add(Number(row['id']));
  return stored;
}

/** Whether all members were compared and hold the same. */
export async function isConsistent(of: SvcCluster): Promise<boolean> {
  const client = of.client(await untilLed(of));
  try {
    const path = '/api/v1/cluster/verify/d';
    return (await client.send({method: 'POST', path, again: true})).text.includes('ALL_CONSISTENT');
  } finally {
    client.close();
  }
}
