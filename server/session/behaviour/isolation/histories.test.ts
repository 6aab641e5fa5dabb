/**
 * Random concurrent histories over one service: clients that read, write, change the schema and
 * load in bulk at the same time, some of them ended in the middle.
 *
 * Checked at every read and at the end: no update is lost, no transaction is seen in part, no edge
 * dangles, indexes, counts and both ends of edges agree with the records, unique keys are unique,
 * and no record id is given twice. HISTORY_SEED runs one seed, HISTORY_SEEDS so many of them.
 */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {createSeededRandom, type SeededRandom} from '#server/simulation/seeded-random.ts';
import {assertIntegrity} from '#server/simulation/integrity.ts';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';
import type {SessionService} from '../../service.ts';
import type {RunRequest} from '../../session.ts';

/** Seeds that once found something stay in the list. */
const seedsKept: readonly number[] = [];
const seedFirst = Number(process.env['HISTORY_SEED'] ?? 1);
const seedCount = Number(process.env['HISTORY_SEEDS'] ?? (process.env['HISTORY_SEED'] ? 1 : 5));
const seeds = [...seedsKept, ...Array.from({length: seedCount}, (_, number) => seedFirst + number)];

/** Every other history runs where commits are heard of later than they are in the store. */
const worlds: ServiceWorld[] = [];
before(async () => {
  for (const reportsLate of [false, true]) {
    worlds.push(await ServiceWorld.open({'svc.txRetries': '30'}, {reportsLate}));
  }
});
after(async () => {
  for (const world of worlds) await world.close();
});

for (const seed of seeds) {
  test(`a concurrent history, seed ${seed}`, async context => {
    context.diagnostic(`again: HISTORY_SEED=${seed}`);
    const history = await History.begin(seed, worlds[seed % 2] as ServiceWorld);
    await history.run();
    await history.checkEnd();
    context.diagnostic(history.summary());
  });
}

const accounts = 6;
const balance = 100;
const counters = 3;
const keys = 12;
const nodes = 14;
const tags = 4;

const schema = [
  'CREATE DOCUMENT TYPE Account',
  'CREATE PROPERTY Account.id INTEGER',
  'CREATE INDEX ON Account (id) UNIQUE',
  'CREATE DOCUMENT TYPE Counter',
  'CREATE DOCUMENT TYPE Pair',
  'CREATE DOCUMENT TYPE Key',
  'CREATE PROPERTY Key.k INTEGER',
  'CREATE INDEX ON Key (k) UNIQUE',
  'CREATE VERTEX TYPE Node',
  'CREATE PROPERTY Node.id INTEGER',
  'CREATE PROPERTY Node.tag INTEGER',
  'CREATE PROPERTY Node.ref INTEGER (external true)',
  'CREATE INDEX ON Node (id) NOTUNIQUE',
  'CREATE EDGE TYPE Knows',
  'CREATE PROPERTY Knows.w INTEGER',
  'CREATE INDEX ON Knows (w) NOTUNIQUE',
  'CREATE EDGE TYPE Light LIGHTWEIGHT',
  'CREATE EDGE TYPE Once UNIQUE',
  'INSERT INTO Pair SET side = 1, v = 0',
  'INSERT INTO Pair SET side = 2, v = 0',
];

type Outcome = 'done' | 'refused';
type Action = (client: SeededRandom) => Promise<void>;

/** What may happen to anybody at any time. */
const always = ['commit.conflict', 'transaction.expired', 'query.terminated', 'transaction.failed'];

class History {
  readonly #seed: number;
  readonly #service: SessionService;
  readonly #database: TestDatabase;
  readonly #increments = new Array<number>(counters).fill(0);
  readonly #rids = new Set<string>();
  readonly #outcomes = new Map<string, number>();
  #serial = 0;

  private constructor(seed: number, service: SessionService, database: TestDatabase) {
    this.#seed = seed;
    this.#service = service;
    this.#database = database;
  }

  static async begin(seed: number, world: ServiceWorld): Promise<History> {
    const rows = [
      ...Array.from({length: accounts}, (_, id) => `Account SET id = ${id}, balance = ${balance}`),
      ...Array.from({length: counters}, (_, id) => `Counter SET id = ${id}, n = 0`),
      ...Array.from({length: nodes}, (_, id) => `Node SET id = ${id}, tag = ${id % tags}`),
    ];
    const inserts = rows.map(row => `INSERT INTO ${row}`);
    return new History(seed, world.service, await world.database([...schema, ...inserts]));
  }

  async run(): Promise<void> {
    const random = createSeededRandom(this.#seed);
    const clients = 8 + random.below(9);
    await Promise.all(
      Array.from({length: clients}, async () => {
        const client = createSeededRandom(random.u32());
        for (let step = 0; step < 24; step += 1) {
          for (let turns = client.below(4); turns > 0; turns -= 1) await new Promise(setImmediate);
          const [name, action] = client.pick(this.#actions);
          await this.#attempt(name, () => action(client));
        }
      }),
    );
  }

  /** Everything that must hold whenever nobody is in the middle of a step. */
  check(): void {
    const {database, schema: current} = this.#service.databaseSession(root, this.#database.name);
    const reader = database.read();
    try {
      // A schema change may be applied and not announced yet.
      const {context} = current;
      if (reader.schemaVersion === context.catalog.version) assertIntegrity(reader, context);
    } finally {
      reader.close();
    }
  }

  async checkEnd(): Promise<void> {
    this.check();
    assert.equal(await this.#total(), accounts * balance, 'money was made or lost');
    const stored = await this.#database.run('SELECT n FROM Counter ORDER BY id');
    assert.deepEqual(
      stored.map(row => row['n']),
      this.#increments,
      'an update was lost or doubled',
    );
  }

  summary(): string {
    return [...this.#outcomes].map(([what, count]) => `${what} ${count}`).join(', ');
  }

  readonly #actions: readonly (readonly [string, Action])[] = [
    ['increment', client => this.#increment(client.below(counters))],
    ['increment', client => this.#increment(client.below(counters))],
    ['read-add-write', client => this.#readAddWrite(client)],
    ['script', client => this.#script(client)],
    ['transfer', client => this.#transfer(client)],
    ['transfer', client => this.#transfer(client)],
    ['pair', client => this.#pair(client)],
    ['read', () => this.#read()],
    ['repeatable read', client => this.#repeatable(client)],
    ['key', client => this.#insert(`Key SET k = ${client.below(keys)}`)],
    ['key', client => this.#insert(`Key SET k = ${client.below(keys)}`)],
    ['key', client => this.#write(`UPDATE Key SET k = ${client.below(keys)} WHERE k = 1`)],
    ['key', client => this.#write(`DELETE FROM Key WHERE k = ${client.below(keys)}`)],
    ['key', client => this.#write(`UPDATE Key SET u = 1 UPSERT WHERE k = ${client.below(keys)}`)],
    ['node', client => this.#node(client)],
    ['node', client => this.#node(client)],
    ['tag', client => this.#write(`UPDATE Node SET tag = ${client.below(tags)} ${where(client)}`)],
    ['ref', client => this.#write(`UPDATE Node SET ref = ${client.below(20)} ${where(client)}`)],
    ['edge', client => this.#edge(client)],
    ['edge', client => this.#edge(client)],
    ['edge', client => this.#edge(client)],
    ['weight', client => this.#write(`UPDATE Knows SET w = ${client.below(tags)} WHERE w = 1`)],
    ['unlink', client => this.#write(`DELETE FROM Knows WHERE w = ${client.below(tags)}`)],
    ['delete', client => this.#write(`DELETE VERTEX FROM Node ${where(client)}`)],
    ['schema', client => this.#schema(client)],
    ['schema', client => this.#schema(client)],
    ['temporary', client => this.#insert(`Temp SET k = ${client.below(3)}`)],
    ['bulk', client => this.#bulk(client)],
    ['terminate', client => this.#terminate(client)],
  ];

  async #attempt(name: string, action: () => Promise<void>): Promise<void> {
    let outcome: Outcome = 'done';
    try {
      await action();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const allowed = [...always, ...(allowedBy[name] ?? [])];
      if (!allowed.includes(error.code)) {
        throw new Error(`${name}: ${error.code} ${error.message}`, {cause: error});
      }
      outcome = 'refused';
    }
    const what = `${name} ${outcome}`;
    this.#outcomes.set(what, (this.#outcomes.get(what) ?? 0) + 1);
  }

  async #write(text: string, more: Partial<RunRequest> = {}): Promise<void> {
    await this.#database.run(text, more);
  }

  async #insert(what: string): Promise<void> {
    const rows = await this.#database.run(`INSERT INTO ${what}`);
    for (const row of rows) this.#isNew(String(row['@rid']));
  }

  #isNew(rid: string): void {
    assert.match(rid, /^#\d+:\d+$/);
    assert.ok(!this.#rids.has(rid), `the id ${rid} was given twice`);
    this.#rids.add(rid);
  }

  async #increment(id: number): Promise<void> {
    await this.#write(`UPDATE Counter SET n = n + 1 WHERE id = ${id}`);
    this.#increments[id] = (this.#increments[id] ?? 0) + 1;
  }

  /** Does what clients do that compute for themselves: safe under REPEATABLE_READ. */
  async #readAddWrite(client: SeededRandom): Promise<void> {
    const id = client.below(counters);
    await this.#inTransaction(
      'REPEATABLE_READ',
      client,
      async more => {
        const [row] = await this.#database.run(`SELECT n FROM Counter WHERE id = ${id}`, more);
        await this.#write(
          `UPDATE Counter SET n = ${Number(row?.['n']) + 1} WHERE id = ${id}`,
          more,
        );
      },
      () => {
        this.#increments[id] = (this.#increments[id] ?? 0) + 1;
      },
    );
  }

  async #script(client: SeededRandom): Promise<void> {
    const id = client.below(counters);
    const text = `BEGIN; UPDATE Counter SET n = n + 1 WHERE id = ${id}; COMMIT RETRY 30`;
    await this.#write(text, {language: 'sqlscript'});
    this.#increments[id] = (this.#increments[id] ?? 0) + 1;
  }

  async #transfer(client: SeededRandom): Promise<void> {
    const [from, to, amount] = [client.below(accounts), client.below(accounts), client.below(9)];
    const change = (id: number, by: number, more: Partial<RunRequest>): Promise<void> =>
      this.#write(`UPDATE Account SET balance = balance + ${by} WHERE id = ${id}`, more);
    const level = client.chance(50) ? 'READ_COMMITTED' : 'REPEATABLE_READ';
    await this.#inTransaction(level, client, async more => {
      if (client.chance(30)) assert.equal(await this.#total(more), accounts * balance);
      await change(from, -amount, more);
      if (client.chance(30)) {
        assert.equal(await this.#total(more), accounts * balance - amount, 'half of a transfer');
      }
      await change(to, amount, more);
      if (client.chance(30)) assert.equal(await this.#total(more), accounts * balance);
    });
  }

  async #pair(client: SeededRandom): Promise<void> {
    this.#serial += 1;
    const value = this.#serial;
    await this.#inTransaction('READ_COMMITTED', client, async more => {
      for (const side of [1, 2]) {
        await this.#write(`UPDATE Pair SET v = ${value} WHERE side = ${side}`, more);
      }
    });
  }

  async #read(): Promise<void> {
    this.check();
    assert.equal(await this.#total(), accounts * balance);
    const [first, second] = await this.#database.run('SELECT v FROM Pair');
    assert.equal(first?.['v'], second?.['v'], 'a transaction was seen in part');
  }

  async #repeatable(client: SeededRandom): Promise<void> {
    await this.#inTransaction('REPEATABLE_READ', client, async more => {
      const tag = client.below(tags);
      const look = async (): Promise<unknown> => ({
        total: await this.#total(more),
        pairs: await this.#database.run('SELECT v FROM Pair', more),
        counters: await this.#database.run('SELECT n FROM Counter', more),
        edges: await this.#database.run('SELECT w FROM Knows', more),
        byIndex: await this.#count(`WHERE tag = ${tag}`, more),
        byScan: await this.#count(`WHERE tag + 0 = ${tag}`, more),
      });
      const first = (await look()) as {byIndex: number; byScan: number};
      assert.equal(first.byIndex, first.byScan, 'index and records differ in one snapshot');
      assert.deepEqual(await look(), first, 'the snapshot moved');
    });
  }

  async #node(client: SeededRandom): Promise<void> {
    const properties = `id = ${client.below(nodes)}, tag = ${client.below(tags)}`;
    const [row] = await this.#database.run(`CREATE VERTEX Node SET ${properties}`);
    this.#isNew(String(row?.['@rid']));
  }

  async #edge(client: SeededRandom): Promise<void> {
    const type = client.pick(['Knows', 'Light', 'Once']);
    const end = (): string => `(SELECT FROM Node ${where(client)})`;
    const set = type === 'Knows' ? ` SET w = ${client.below(tags)}` : '';
    await this.#write(`CREATE EDGE ${type} FROM ${end()} TO ${end()}${set}`);
  }

  async #schema(client: SeededRandom): Promise<void> {
    await this.#write(
      client.pick([
        'CREATE INDEX IF NOT EXISTS ON Node (tag) NOTUNIQUE',
        'CREATE INDEX IF NOT EXISTS ON Node (ref) UNIQUE',
        'DROP INDEX `Node[tag]` IF EXISTS',
        'DROP INDEX `Node[ref]` IF EXISTS',
        'CREATE DOCUMENT TYPE Temp IF NOT EXISTS',
        'DROP TYPE Temp IF EXISTS',
        'TRUNCATE TYPE Key',
        'TRUNCATE TYPE Knows UNSAFE',
        'TRUNCATE TYPE Light UNSAFE',
        `CREATE PROPERTY Node.p${client.below(5)} IF NOT EXISTS STRING`,
        `ALTER PROPERTY Node.tag EXTERNAL ${client.below(2) === 0}`,
      ]),
    );
  }

  /** New nodes in a chain, its first one tied to a node that was there. */
  async #bulk(client: SeededRandom): Promise<void> {
    const [there] = await this.#database.run(`SELECT @rid AS rid FROM Node ${where(client)}`);
    const size = 2 + client.below(5);
    const lines = Array.from({length: size}, (_, at) =>
      JSON.stringify({
        '@type': 'v',
        '@class': 'Node',
        '@id': `t${at}`,
        id: client.below(nodes),
        tag: 1,
      }),
    );
    for (let at = 0; at < size; at += 1) {
      const from = at === 0 ? there?.['rid'] : `t${at - 1}`;
      if (from === undefined) continue;
      lines.push(
        JSON.stringify({
          '@type': 'e',
          '@class': 'Knows',
          '@from': from,
          '@to': `t${at}`,
          w: at % tags,
        }),
      );
    }
    const load = this.#service.loads.beginLines(root, {
      database: this.#database.name,
      format: 'json',
      references: 'id',
      ordinalBase: 0,
      lightEdges: false,
      bidirectional: true,
      vertexBatchSize: 3,
      edgeBatchSize: 3,
      retriesMax: 30,
      retryDelayMs: 1,
      tellsIds: true,
      onVertices: (_load, ids) => {
        ids.forEach((text, at) => {
          if (at % 2 === 1) this.#isNew(text);
        });
      },
      onVerticesEnd: () => {},
      onEdges: () => {},
    });
    try {
      await load.push(Buffer.from(`${lines.join('\n')}\n`));
      await load.finish();
    } finally {
      load.close();
    }
  }

  async #terminate(client: SeededRandom): Promise<void> {
    const service = this.#service;
    const open = service.transactions(root).filter(one => one.database === this.#database.name);
    if (open.length > 0 && client.chance(50)) {
      await service.terminateTransaction(root, client.pick(open).id);
      return;
    }
    const running = service.queries(root).filter(one => one.database === this.#database.name);
    if (running.length > 0) service.terminateQuery(root, client.pick(running).id);
  }

  /** Runs the statements in a transaction; `done` is called when it is committed. */
  async #inTransaction(
    level: 'READ_COMMITTED' | 'REPEATABLE_READ',
    client: SeededRandom,
    work: (more: Partial<RunRequest>) => Promise<void>,
    done: () => void = () => {},
  ): Promise<void> {
    const service = this.#service;
    const {name} = this.#database;
    const transactionId = await service.begin(root, name, {isolation: level});
    try {
      await work({transactionId});
      for (let turns = client.below(5); turns > 0; turns -= 1) await new Promise(setImmediate);
      if (client.chance(10)) return;
      await service.commit(root, name, transactionId, undefined);
      done();
    } finally {
      await service.rollback(root, name, transactionId);
    }
  }

  async #total(more: Partial<RunRequest> = {}): Promise<number> {
    const [row] = await this.#database.run('SELECT sum(balance) AS total FROM Account', more);
    return Number(row?.['total']);
  }

  async #count(condition: string, more: Partial<RunRequest>): Promise<number> {
    const [row] = await this.#database.run(`SELECT count(*) AS c FROM Node ${condition}`, more);
    return Number(row?.['c']);
  }
}

/** Refusals that belong to an action, beside conflicts and terminations. */
const allowedBy: Readonly<Record<string, readonly string[]>> = {
  key: ['commit.duplicate-key'],
  node: ['commit.duplicate-key'],
  ref: ['commit.duplicate-key'],
  schema: ['commit.duplicate-key'],
  edge: ['commit.duplicate-key', 'record.not-found', 'argument'],
  temporary: ['schema.unknown-type'],
  bulk: ['record.not-found', 'schema.unknown-type'],
};

function where(client: SeededRandom): string {
  return `WHERE id = ${client.below(nodes)}`;
}
