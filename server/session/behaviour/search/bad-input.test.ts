/**
 * What a search is not to be given, one row for each: refused by its name before anything is read,
 * or ended by the statement's budget. Nothing of it holds the server for longer.
 */
import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {parseJsonText} from '#server/model/json-parser.ts';
import type {MapValue, Value} from '#server/model/value.ts';
import {createClock} from '#server/platform/real/clock.ts';
import type {Principal} from '#server/security/principal.ts';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';
import {runSearch, type SearchKind} from '../../searches.ts';

/** The clock of a service, a second later at each look. */
const late = {seconds: 0};
const world = await ServiceWorld.open();
const slow = await ServiceWorld.open(
  {},
  {clock: {...createClock(), monotonic: () => (late.seconds += 1) * 1000}},
);
after(async () => {
  await slow.close();
  await world.close();
});

const records = [
  'CREATE VERTEX TYPE Doc',
  'CREATE VERTEX TYPE Secret',
  ...['body STRING', 'toks ARRAY_OF_INTEGERS', 'wts ARRAY_OF_FLOATS', 'emb ARRAY_OF_FLOATS'].map(
    property => `CREATE PROPERTY Doc.${property}`,
  ),
  'CREATE INDEX ON Doc (body) FULL_TEXT METADATA {"allowLeadingWildcard": true}',
  'CREATE INDEX ON Doc (toks, wts) LSM_SPARSE_VECTOR METADATA {"dimensions": 100}',
  'CREATE INDEX ON Doc (emb) LSM_VECTOR METADATA {"dimensions": 2}',
  `INSERT INTO Doc SET body='${'a'.repeat(200)}b', toks=[1,2], wts=[1.0,0.5], emb=[1.0,0.0]`,
  'INSERT INTO Secret SET word = 1',
];
const database = await world.database(records);

const near = (rest: string): string => `SELECT vector.neighbors('Doc[emb]', ${rest})`;
const text = "SELECT FROM Doc WHERE SEARCH_INDEX('Doc[body]', :q) = true";
const products = (rest: string): string =>
  `SELECT vector.sparseNeighbors('Doc[toks,wts]', ${rest})`;

interface Row {
  readonly item: string;
  readonly statement: string;
  readonly q?: Value;
  readonly code: string;
  readonly says: RegExp;
}

const statements: readonly Row[] = [
  {
    item: 'a query of other dimensions',
    statement: near('[1.0], 1'),
    code: 'argument',
    says: /dimension 1 does not match index dimension 2/,
  },
  {
    item: 'a record of other dimensions',
    statement: 'INSERT INTO Doc SET emb = [1.0, 2.0, 3.0]',
    code: 'value.validation',
    says: /emb has 3 dimensions, not 2/,
  },
  {
    item: 'NaN in a query',
    statement: near(':q, 1'),
    q: new Float32Array([Number.NaN, 1]),
    code: 'argument',
    says: /finite numbers only/,
  },
  {
    item: 'an infinity in a query: more than 32 bits hold',
    statement: near('[1e300, 1.0], 1'),
    code: 'argument',
    says: /finite numbers only/,
  },
  {
    item: 'an infinity in a record',
    statement: 'INSERT INTO Doc SET emb = [1e300, 1.0]',
    code: 'value.type',
    says: /does not fit into 'Doc.emb'/,
  },
  {
    item: 'a zero vector, which has no direction',
    statement: near('[0.0, 0.0], 1'),
    code: 'argument',
    says: /at least one non-zero value/,
  },
  {
    item: 'duplicate ids in a query',
    statement: products('[1, 1], [1.0, 2.0], 1'),
    code: 'argument',
    says: /dimension 1 is there twice/,
  },
  {
    item: 'duplicate ids in a record',
    statement: 'INSERT INTO Doc SET toks = [3, 3], wts = [1.0, 1.0]',
    code: 'value.validation',
    says: /dimension 3 is there twice/,
  },
  {
    item: '10 million terms',
    statement: text,
    q: 'a '.repeat(10_000_000),
    code: 'search.syntax',
    says: /20000000 characters, more than 1048576/,
  },
  {
    item: 'terms of an allowed text, more than a query has',
    statement: text,
    q: 'a '.repeat(100_000),
    code: 'search.syntax',
    says: /1024/,
  },
  {
    item: 'fuzzy on a word of 100,000 letters',
    statement: text,
    q: `${'a'.repeat(100_000)}~2`,
    code: 'search.syntax',
    says: /255/,
  },
  {
    item: 'a wildcard of 100,000 letters',
    statement: text,
    q: 'a*'.repeat(50_000),
    code: 'search.syntax',
    says: /255/,
  },
  {item: 'k of 0', statement: near('[1.0, 0.0], 0'), code: 'query.option', says: /k of 1 to/},
  {
    item: 'k beyond what one search answers',
    statement: near('[1.0, 0.0], 1000000'),
    code: 'query.option',
    says: /k of 1 to 100000/,
  },
  {
    item: 'an unknown option',
    statement: near("[1.0, 0.0], 1, {'efSerach': 5}"),
    code: 'query.option',
    says: /efSerach/,
  },
  {
    item: 'an unknown key of METADATA',
    statement: 'CREATE INDEX x ON Doc (emb) LSM_VECTOR METADATA {"dimensions": 2, "ef": 5}',
    code: 'argument',
    says: /Unknown METADATA key 'ef'/,
  },
];

for (const {item, statement, q, code, says} of statements) {
  test(item, async () => {
    const parameters = new Map<string, Value>(q === undefined ? [] : [['q', q]]);
    await assert.rejects(database.run(statement, {parameters}), (error: unknown) => {
      assert.ok(error instanceof Refusal, String(error));
      assert.deepEqual([error.code, says.test(error.message)], [code, true], error.message);
      assert.ok(error.message.length < 1_000, 'what was given is not repeated whole');
      return true;
    });
  });
}

test('a wildcard that could be tried in many ways is answered', async () => {
  const bomb = `${'*a'.repeat(120)}*c`;
  for (const q of [bomb, `${'a*'.repeat(120)}?b`]) {
    const found = await database.run(text, {parameters: new Map([['q', q]])});
    assert.equal(found.length, q === bomb ? 0 : 1);
  }
});

test('half a full-text leg', async () => {
  const leg = {vectorIndexName: 'Doc[emb]', queryVector: [1, 0], k: 1};
  for (const half of [{fulltextQuery: 'a'}, {fulltextIndexName: 'Doc[body]'}]) {
    await refuses('hybrid', {...leg, ...half}, {says: /must be supplied together/});
  }
});

test('a filter that writes', async () => {
  for (const filter of [
    '(DELETE FROM Doc) = 1',
    '1 = 1; DELETE FROM Doc',
    '(INSERT INTO Doc SET a = 1) = 1',
  ]) {
    await refuses(
      'search',
      {...asked, filter},
      {says: /Invalid vector search or filter|'filter' contains write operations/},
    );
  }
  assert.deepEqual(await database.run('SELECT count(*) AS n FROM Doc'), [{n: 1}]);
});

test('a filter that reads a type without the right to', async () => {
  const filter = '(SELECT count(*) FROM Secret) > 0';
  const read = new Set(['readRecord'] as const);
  const rights = {access: new Set<never>(), types: new Map([['Doc', read]]), ...unlimited};
  const who: Principal = {
    name: 'eve',
    root: false,
    grants: new Map([[database.name, []]]),
    rights,
  };
  const found = await searched('search', {...asked, filter: '1 = 1'}, who);
  assert.equal((found as {readonly count: number}).count, 1);
  await refuses('search', {...asked, filter}, {says: /Secret/, who});
});

const asked = {indexName: 'Doc[emb]', queryVector: [1, 0], k: 1};

const unlimited = {resultSetLimit: -1, readTimeout: -1};

async function searched(kind: SearchKind, given: object, who: Principal): Promise<unknown> {
  const text = await runSearch(database.service, who, {
    kind,
    database: database.name,
    given: parseJsonText(JSON.stringify(given)) as MapValue,
    transactionId: undefined,
    tag: undefined,
    signal: undefined,
  });
  return JSON.parse(text);
}

async function refuses(
  kind: SearchKind,
  given: object,
  {says, who = root}: {readonly says: RegExp; readonly who?: Principal},
): Promise<void> {
  await assert.rejects(
    searched(kind, given, who),
    (error: unknown) => error instanceof Refusal && says.test(error.message),
    JSON.stringify(given),
  );
}

test('a search of every kind ends where the time of its statement does', async () => {
  const many: TestDatabase = await slow.database(records.slice(0, -2));
  const rows = Array.from({length: 9_000}, (_, at) => {
    return `{"body": "word${at} common", "toks": [1, 2], "wts": [1, ${at}], "emb": [1, ${at}]}`;
  });
  for (let at = 0; at < rows.length; at += 1_000) {
    await many.run(`INSERT INTO Doc CONTENT [${rows.slice(at, at + 1_000).join()}]`);
  }
  const searches = [
    "SELECT FROM Doc WHERE SEARCH_INDEX('Doc[body]', 'word*') = true",
    "SELECT FROM Doc WHERE SEARCH_INDEX('Doc[body]', '*1?2*') = true",
    "SELECT FROM Doc WHERE SEARCH_INDEX('Doc[body]', 'wurd12~2') = true",
    products('[1, 2], [1.0, 1.0], 5'),
    near('[1.0, 0.5], 5'),
  ];
  for (const search of searches) {
    await assert.rejects(many.run(`${search} TIMEOUT 1`), {code: 'query.timeout'}, search);
  }
});
