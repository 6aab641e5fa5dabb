/**
 * Calls of a member to its leader whose connection is cut: before the call has left, at the first
 * byte of the answer, at the last and at places in between, while the leader stays or another one
 * takes over. Whoever asked is told what is so, or that it is not known, and nothing is written
 * twice. Holds invariant H5.
 */
import assert from 'node:assert/strict';
import {test, type TestContext} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import type {Value} from '#server/model/value.ts';
import {RecordCalls} from '#server/session/record-calls.ts';
import type {RowsRequest} from '#server/session/session.ts';
import {statementRequest} from '#server/session/statement-request.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {type TwoLeaders, twoLeaders} from '#server/testing/protocol/two-leaders.ts';
import {root} from '#server/testing/worlds/service-world.ts';

/** One use of the service of the cluster; every one has a key of its own. */
class Use {
  readonly key: string;
  transactionId: string | undefined;
  readonly #world: TwoLeaders;

  constructor(world: TwoLeaders, key: string) {
    this.#world = world;
    this.key = key;
  }

  get service(): TwoLeaders['ways']['service'] {
    return this.#world.ways.service;
  }

  async rows(text: string, more: Partial<RowsRequest> = {}): Promise<readonly Value[]> {
    const {transactionId} = this;
    const parameters = new Map([['key', this.key]]);
    const request = {...statementRequest('db', text, parameters), transactionId, ...more};
    const cursor = await this.service.rows(root, {...request, limit: 0});
    const rows: Value[] = [];
    try {
      for (;;) {
        const portion = await cursor.next(1_000);
        for (const [value] of portion) rows.push(value ?? null);
        if (portion.length < 1_000) return rows;
      }
    } finally {
      cursor.close();
    }
  }

  async begin(): Promise<void> {
    this.transactionId = await this.service.begin(root, 'db');
  }

  async commit(requestId?: string): Promise<void> {
    await this.service.commit(root, 'db', this.transactionId ?? '', requestId);
  }

  /** Waits until nothing of it goes on at a leader. */
  async settled(): Promise<void> {
    for (const {world} of this.#world.leaders) {
      while (world.service.queries(root).length > 0) await new Promise(setImmediate);
    }
  }

  /** How many records of this use there are, and how many different ones. */
  async effect(): Promise<{readonly count: number; readonly different: number}> {
    const text = 'SELECT n FROM Item WHERE key = :key';
    const parameters = new Map([['key', this.key]]);
    const found = await this.#world.stored.run(text, {parameters, limit: -1});
    const numbers = new Set(found.map(({n}) => n));
    return {count: found.length, different: numbers.size};
  }
}

interface Kind {
  /** What goes before, over a whole connection. */
  readonly before?: (use: Use) => Promise<unknown>;
  readonly cut: (use: Use) => Promise<unknown>;
  /** What a client does next when it was told that it was done; or, `isBold`, in any case. */
  readonly after?: (use: Use) => Promise<unknown>;
  readonly isBold?: boolean;
  /** It reads the many rows that are there. */
  readonly isRead?: boolean;
  /** How many records there are in the end. */
  readonly records: number;
  /** The portions in which they are made. */
  readonly portion?: number;
  /** It may be asked again until an answer comes. */
  readonly isRepeatable?: boolean;
}

const insert = 'INSERT INTO Item SET key = :key, n = 0';
/** More than a portion; with what stands beside each of them an answer of several pieces. */
const manyRows = 1_200;
const beside = `'${'x'.repeat(100)}' AS beside`;
/** The key of the rows that are there to be read. */
const readKey = 'read';
const create = 'CREATE (i:Item {key: $key, n: n})';
const insertMany = `UNWIND range(1, ${manyRows}) AS n ${create} RETURN n, ${beside}`;
const selectMany = `SELECT n, ${beside} FROM Item WHERE key = :key`;
const loaded = Array.from({length: 25}, (_one, n) => n);

const load = (use: Use, requestId?: string): Promise<unknown> => {
  const records = loaded.map(n => {
    const properties = new Map<string, Value>(Object.entries({key: use.key, n}));
    return {type: 'Item', properties};
  });
  return new RecordCalls(use.service, root, {database: 'db', requestId}).load(records, 10);
};
const begin = (use: Use): Promise<void> => use.begin();
const commit = (use: Use): Promise<void> => use.commit();
const beginAndInsert = async (use: Use): Promise<void> => {
  await use.begin();
  await use.rows(insert);
};

const kinds: Readonly<Record<string, Kind>> = {
  insert: {cut: use => use.rows(insert), records: 1},
  'insert with an id': {
    cut: use => use.rows(insert, {requestId: use.key}),
    records: 1,
    isRepeatable: true,
  },
  'insert that answers many rows': {
    cut: use => use.rows(insertMany, {language: 'cypher'}),
    records: manyRows,
  },
  'read of many rows': {
    cut: async use => {
      const found = await use.rows(selectMany);
      assert.equal(found.length, manyRows);
    },
    records: manyRows,
    isRead: true,
  },
  'read of many rows in a transaction': {
    before: begin,
    cut: async use => {
      const found = await use.rows(selectMany);
      assert.equal(found.length, manyRows);
    },
    records: manyRows,
    isRead: true,
  },
  begin: {
    cut: begin,
    after: async use => {
      await use.rows(insert);
      await use.commit();
    },
    records: 1,
  },
  'insert in a transaction': {
    before: begin,
    cut: use => use.rows(insert),
    after: commit,
    records: 1,
  },
  'insert with an id in a transaction that goes on': {
    before: begin,
    cut: use => use.rows(insert, {requestId: use.key}),
    after: commit,
    isBold: true,
    records: 1,
  },
  commit: {before: beginAndInsert, cut: commit, records: 1},
  'commit with an id': {
    before: beginAndInsert,
    cut: use => use.commit(use.key),
    records: 1,
    isRepeatable: true,
  },
  rollback: {
    before: beginAndInsert,
    cut: use => use.service.rollback(root, 'db', use.transactionId ?? ''),
    records: 0,
  },
  load: {cut: use => load(use), records: loaded.length, portion: 10},
  'load with an id': {
    cut: use => load(use, use.key),
    records: loaded.length,
    portion: 10,
    isRepeatable: true,
  },
  'create a database': {cut: use => use.service.createDatabase(root, use.key), records: 0},
};

/** Told `done`, `unknown`, or `nothing happened`. */
type Told = 'done' | 'unknown' | 'nothing';

async function told(work: Promise<unknown>): Promise<Told> {
  try {
    await work;
    return 'done';
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    // A repetition is told that the first one was committed.
    if (error.code === 'request.reused') return 'done';
    return error.code === 'commit.unknown' ? 'unknown' : 'nothing';
  }
}

async function isAsTold(kind: Kind, use: Use, outcome: Told): Promise<void> {
  const {count, different} = await use.effect();
  const {records, portion = records} = kind;
  assert.equal(count, different, 'nothing is written twice');
  const isWhole = count === records;
  const inPortions = count < records && count % Math.max(1, portion) === 0;
  if (outcome === 'done') assert.equal(count, records, 'what is told as done is there');
  else if (outcome === 'unknown' || kind.portion !== undefined) assert.ok(isWhole || inPortions);
  else if (kind.isRead !== true) assert.equal(count, 0, 'nothing happened, as was told');
}

/** Where the connection is cut: so many bytes of the answer pass. */
function places(answerBytes: number): readonly number[] {
  const between = Array.from({length: 6}, (_one, at) => Math.floor((answerBytes * at) / 6));
  return [...new Set([...between, 1, Math.max(0, answerBytes - 1)])].sort((a, b) => a - b);
}

/**
 * @param fault - Begins what happens to the call.
 * @param during - What happens while it waits.
 */
async function oneCall(
  world: TwoLeaders,
  {kind, key}: {kind: Kind; key: string},
  fault: () => void,
  during: () => Promise<void> = async () => {},
): Promise<Told> {
  const use = new Use(world, key);
  await kind.before?.(use);
  fault();
  const [first] = await Promise.all([told(kind.cut(use)), during()]);
  let outcome = first;
  world.link.answerBytesLeft = undefined;
  world.link.isSilent = false;
  if (kind.after !== undefined && (outcome === 'done' || kind.isBold === true)) {
    outcome = await told(kind.after(use));
  }
  await use.settled();
  await isAsTold(kind, use, outcome);
  if (kind.isRepeatable === true && outcome !== 'done') {
    const again = await told(kind.cut(use));
    await use.settled();
    await isAsTold(kind, use, again);
  }
  world.link.onStop = () => {};
  world.lead(0);
  return outcome;
}

async function everyCut(context: TestContext, world: TwoLeaders): Promise<void> {
  const {link} = world;
  let count = 0;
  for (const [name, kind] of Object.entries(kinds)) {
    const keyOf = (made: string): string => (kind.isRead === true ? readKey : made);
    const measured = new Use(world, keyOf(`whole${count}`));
    await kind.before?.(measured);
    const before = link.answerBytes;
    await kind.cut(measured);
    const answerBytes = link.answerBytes - before;
    const outcomes = new Map<string, number>();
    for (const moves of [false, true]) {
      for (const at of places(answerBytes)) {
        const key = keyOf(`k${(count += 1)}`);
        const cut = (): void => {
          link.answerBytesLeft = at;
          if (moves) link.onStop = () => world.lead(1);
        };
        const outcome = await oneCall(world, {kind, key}, cut).catch((error: unknown) => {
          throw new Error(`${name}, cut at ${at} of ${answerBytes}, moves: ${moves}`, {
            cause: error,
          });
        });
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      }
    }
    const counts = [...outcomes].map(([what, times]) => `${what} ${times}`).join(', ');
    context.diagnostic(`${name}: ${counts}`);
  }
  context.diagnostic(`${count} calls were cut`);
}

async function itemWorld(isSecure: boolean): Promise<TwoLeaders> {
  const world = await twoLeaders(isSecure);
  for (const text of [
    'CREATE VERTEX TYPE Item',
    'CREATE PROPERTY Item.key STRING',
    'CREATE INDEX ON Item (key) NOTUNIQUE',
  ]) {
    await world.stored.run(text);
  }
  const parameters = new Map([['key', readKey]]);
  await world.stored.run(insertMany, {language: 'cypher', parameters});
  return world;
}

for (const [way, isSecure] of [
  ['in clear', false],
  ['over TLS', true],
] as const) {
  test(`a call ${way} whose connection is cut is told as it is`, async context => {
    await everyCut(context, await itemWorld(isSecure));
  });
}

test('a call that meets nobody who leads is carried out by whoever does next', async () => {
  const world = await itemWorld(false);
  const alone = ['insert', 'insert with an id', 'begin', 'load', 'create a database'];
  for (const name of alone) {
    const kind = kinds[name];
    assert.ok(kind !== undefined);
    const nobody = (): void => world.lead(undefined);
    const outcome = await oneCall(world, {kind, key: name}, nobody, async () => {
      await eventually('the call waits', () => world.cluster.waiting > 0);
      world.lead(1);
    });
    assert.equal(outcome, 'done');
  }
});

test('a call that a leader is silent about when another one leads is told as it is', async () => {
  const world = await itemWorld(false);
  const outcomes: Told[] = [];
  for (const name of ['insert', 'insert with an id', 'commit', 'commit with an id']) {
    const kind = kinds[name];
    assert.ok(kind !== undefined);
    const silence = (): void => {
      world.link.isSilent = true;
      world.link.onStop = () => world.lead(1);
    };
    outcomes.push(await oneCall(world, {kind, key: name}, silence));
  }
  assert.deepEqual(outcomes, ['unknown', 'done', 'unknown', 'done']);
});

test('a connection remembers only the transactions that are open', async () => {
  const {ways, leaders} = await itemWorld(false);
  const {service} = ways;
  const open = (): number => leaders[0].service.open.size;
  const connection = service.connect();
  const {signal} = connection;
  for (const ends of ['commit', 'rollback'] as const) {
    const id = await service.begin(root, 'db', {connection});
    assert.equal(open(), 1);
    if (ends === 'commit') await service.commit(root, 'db', id, undefined);
    else await service.rollback(root, 'db', id);
  }
  await service.begin(root, 'db', {connection});
  const asked: string[] = [];
  const {rollback} = leaders[0].service;
  leaders[0].service.rollback = (...given) => {
    asked.push(given[2]);
    return rollback.apply(leaders[0].service, given);
  };
  connection.close();
  assert.ok(signal.aborted);
  await eventually('it is rolled back', () => open() === 0);
  assert.equal(asked.length, 1);
});

test('what a client says when it comes goes along with each transaction', async () => {
  const {ways, leaders, own} = await itemWorld(false);
  const [first] = leaders;
  const said = {clientName: 'the tester', isolation: 'REPEATABLE_READ', readOnly: true} as const;
  for (const service of [ways.service, first.world.service]) {
    const {context, close} = service.connect(said);
    const transactionId = await service.begin(root, 'db', context);
    const [open] = first.world.service.transactions(root);
    assert.equal(open?.isolation, 'REPEATABLE_READ');
    assert.equal(open.clientName, 'the tester');
    const request = {...statementRequest('db', insert), ...context, transactionId};
    const refused = {code: 'query.not-idempotent'};
    await assert.rejects(async () => service.rows(root, request), refused);
    close();
    await eventually('it is rolled back', () => first.service.open.size === 0);
  }
  assert.deepEqual(own.transactions(root), []);
});
