/**
 * The database that archives are made of: records of a kilobyte of words, the same in every system.
 *
 * Words are drawn from a vocabulary, so that the text is deflated to less than half, as prose is;
 * each record is a stretch of a text of 8 MB, which no window of a compressor sees twice.
 */
import assert from 'node:assert/strict';
import {SeededRandom} from '#server/testing/property/seeded-random.ts';
import type {PostgreSql} from '../peers/postgresql.ts';
import {prepare, type Target} from '../peers/target.ts';

export const database = 'bench';
const recordBytes = 1_000;
const linesAtOnce = 500;
/** The reference system takes no body of more than 100 MB. */
const recordsAtOnce = 50_000;
const poolBytes = 8 << 20;

export class Items {
  readonly count: number;
  readonly #pool = textOf(poolBytes);

  constructor(megabytes: number) {
    this.count = Math.ceil((megabytes * 1e6) / recordBytes);
  }

  text(id: number): string {
    const at = (id * 104_729) % (poolBytes - recordBytes);
    return this.#pool.slice(at, at + recordBytes);
  }

  /** The same for ours and for the reference system. */
  async fill(target: Target): Promise<void> {
    await prepare(target, database, [
      'CREATE VERTEX TYPE Item',
      'CREATE PROPERTY Item.id LONG',
      'CREATE INDEX ON Item (id) UNIQUE',
    ]);
    await this.add(target, 0);
  }

  /** Adds the records from `from` on. */
  async add(target: Target, from: number): Promise<void> {
    const query = {wal: true, idMapping: false};
    for (let start = from; start < this.count; start += recordsAtOnce) {
      const end = Math.min(this.count, start + recordsAtOnce);
      const counts = await target.client.batch(database, this.#lines(start, end), {query});
      assert.equal(counts.verticesCreated, end - start);
    }
  }

  async fillPostgreSql(postgresql: PostgreSql): Promise<void> {
    await postgresql.sql('CREATE TABLE item (id bigint PRIMARY KEY, text text NOT NULL)');
    for (let from = 0; from < this.count; from += 100_000) {
      let rows = '';
      for (let id = from; id < Math.min(this.count, from + 100_000); id += 1) {
        rows += `${id}\t${this.text(id)}\n`;
      }
      await postgresql.sql(`COPY item FROM STDIN;\n${rows}\\.\n`);
    }
    await postgresql.sql('VACUUM ANALYZE item; CHECKPOINT;');
  }

  /** Fails where a database does not hold every record. */
  async check({client}: Target, name: string): Promise<void> {
    const {result} = await client.query(name, 'SELECT count(*) AS n, max(id) AS last FROM Item');
    assert.deepEqual([result[0]?.['n'], result[0]?.['last']], [this.count, this.count - 1]);
  }

  async *#lines(from: number, end: number): AsyncGenerator<string> {
    for (let start = from; start < end; start += linesAtOnce) {
      let chunk = '';
      for (let id = start; id < Math.min(end, start + linesAtOnce); id += 1) {
        const head = `{"@type":"vertex","@class":"Item","@id":"${id}"`;
        chunk += `${head},"id":${id},"text":"${this.text(id)}"}\n`;
      }
      yield chunk;
    }
  }
}

function textOf(bytes: number): string {
  const random = new SeededRandom(19);
  const letters = 'etaoinshrdlucmfwypvbgkjqxz';
  const words = Array.from({length: 4_000}, () =>
    Array.from({length: 2 + random.below(9)}, () => letters[random.below(26)]).join(''),
  );
  const parts: string[] = [];
  for (let length = 0; length < bytes; ) {
    // Some words are frequent, most are rare.
    const word = words[Math.floor(words.length * (random.below(1_000) / 1_000) ** 2)] ?? '';
    parts.push(word);
    length += word.length + 1;
  }
  return parts.join(' ');
}
