/** Each tool over a real service: what it answers, and what it refuses in which words. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import type {Principal} from '#server/security/principal.ts';
import type {TestDatabase} from '#server/testing/worlds/service-world.ts';
import {type ToolOptions, ToolWorld} from '#server/testing/worlds/tool-world.ts';
import {tools} from './tools/tool-list.ts';

let world: ToolWorld;
let people: TestDatabase;

before(async () => {
  world = await ToolWorld.open();
  people = await world.world.database([
    'CREATE VERTEX TYPE Person',
    'CREATE PROPERTY Person.name STRING (mandatory true)',
    'CREATE PROPERTY Person.emb ARRAY_OF_FLOATS',
    'CREATE PROPERTY Person.bio STRING',
    'CREATE INDEX ON Person (name) UNIQUE',
    'CREATE INDEX ON Person (emb) LSM_VECTOR METADATA {"dimensions": 2}',
    'CREATE INDEX ON Person (bio) FULL_TEXT',
    'CREATE EDGE TYPE Knows',
    'CREATE DOCUMENT TYPE Note',
    'DEFINE FUNCTION f.add "INSERT INTO Note SET n = :n" PARAMETERS [n]',
    "INSERT INTO Person SET name = 'ann', age = 30, emb = [1.0, 0.0], bio = 'red apple'",
    "INSERT INTO Person SET name = 'bob', age = 41, emb = [0.0, 1.0], bio = 'green apple'",
    'CREATE EDGE Knows FROM (SELECT FROM Person LIMIT 1) TO (SELECT FROM Person SKIP 1)',
  ]);
});
after(() => world[Symbol.asyncDispose]());

const call = (name: string, given: object = {}, options?: ToolOptions) =>
  world.call(name, {database: people.name, ...given}, options);

async function answer(name: string, given: object = {}, options?: ToolOptions): Promise<Json> {
  const {payload, refusal} = await call(name, given, options);
  assert.equal(refusal, undefined);
  return payload as Json;
}

/** What JSON may be. */
type Json = Readonly<Record<string, unknown>>;

async function refused(
  name: string,
  given: object,
  words: string | RegExp,
  options?: ToolOptions,
): Promise<void> {
  const {refusal = 'nothing', isShown} = await call(name, given, options);
  if (typeof words === 'string') assert.equal(refusal, words);
  else assert.match(refusal, words);
  assert.equal(isShown, true, `${refusal}: shown in production`);
}

test('there are the sixteen tools, in their order', () => {
  assert.deepEqual(
    tools.map(({name}) => name),
    [
      'list_databases',
      'get_schema',
      'query',
      'execute_command',
      'sample_records',
      'vector_search',
      'full_text_search',
      'hybrid_search',
      'upsert_entity',
      'upsert_relationship',
      'server_status',
      'profiler_start',
      'profiler_stop',
      'profiler_status',
      'get_server_settings',
      'set_server_setting',
    ],
  );
});

test('get_schema answers types with their properties and indexes', async () => {
  const {database, types} = await answer('get_schema');
  assert.equal(database, people.name);
  const [knows, , person] = types as readonly Json[];
  assert.deepEqual(knows, {name: 'Knows', category: 'edge'});
  const {properties, indexes, category} = person as Record<string, readonly Json[]>;
  assert.equal(category, 'vertex');
  assert.deepEqual(
    properties?.find(({name}) => name === 'name'),
    {
      name: 'name',
      type: 'STRING',
      mandatory: true,
    },
  );
  assert.deepEqual(
    indexes?.find(({name}) => name === 'Person[name]'),
    {
      name: 'Person[name]',
      type: 'LSM_TREE',
      properties: ['name'],
      unique: true,
    },
  );
});

test('query answers records and their count, in every language, up to a limit', async () => {
  const select = {language: 'sql', query: 'SELECT name FROM Person ORDER BY name'};
  assert.deepEqual(await answer('query', select), {
    records: [{name: 'ann'}, {name: 'bob'}],
    count: 2,
  });
  assert.deepEqual(await answer('query', {...select, limit: 1}), {
    records: [{name: 'ann'}],
    count: 1,
  });
  const match = 'MATCH (p:Person)-[:Knows]->(q) RETURN q.name AS name';
  assert.deepEqual(await answer('query', {query: match}), {records: [{name: 'bob'}], count: 1});
  const {records} = await answer('query', {language: 'sql', query: 'SELECT FROM Person LIMIT 1'});
  const [first] = records as readonly Json[];
  assert.match(String(first?.['@rid']), /^#\d+:0$/);
  assert.equal(first?.['@type'], 'Person');
  await refused('query', {...select, limit: 0}, "'limit' must be between 1 and 100000");
});

test('query refuses whatever writes, wherever the write hides', async () => {
  const words = 'Query contains write operations. Use execute_command tool instead of query tool';
  for (const [language, query] of [
    ['sql', 'INSERT INTO Note SET n = 1'],
    ['sql', '/* SELECT */ DELETE FROM Note'],
    ['sql', 'SELECT `f.add`(1)'],
    ['sql', 'SELECT (SELECT f.add(1)) AS x'],
    ['sqlscript', 'LET $x = f.add(1); RETURN 1'],
    ['cypher', 'CALL { CREATE (:Person {name: "x"}) } RETURN 1 AS one'],
    ['cypher', 'CALL do.when(true, "CREATE (:Person)", "") YIELD value RETURN value'],
    ['sql', 'CREATE VERTEX TYPE Hidden'],
    ['cypher', 'CREATE (:Hidden)'],
  ] as const) {
    await refused('query', {language, query}, words);
  }
  const filter = 'f.add(1) IS NOT NULL';
  await refused(
    'vector_search',
    {indexName: 'Person[emb]', queryVector: [1, 0], k: 2, filter},
    "'filter' contains write operations: a condition only reads",
  );
  assert.deepEqual(await people.run('SELECT FROM Note'), []);
});

test('execute_command needs what the statement does, and names what is missing', async () => {
  const insert = {language: 'sql', command: 'INSERT INTO Note SET n = 1'};
  const cases: readonly (readonly [string, string, ToolOptions['permitted'], string])[] = [
    ['sql', insert.command, ['read', 'update', 'delete', 'schema', 'admin'], 'Insert'],
    ['sql', 'UPDATE Note SET n = 2', ['read', 'insert'], 'Update'],
    ['sql', 'DELETE FROM Note', ['read', 'insert', 'update'], 'Delete'],
    ['sql', 'CREATE DOCUMENT TYPE X', ['read', 'insert'], 'Schema change'],
    ['cypher', 'CREATE (:Unheard)', ['read', 'insert'], 'Schema change'],
    ['sql', 'ALTER DATABASE `svc.txRetries` 5', ['read', 'schema'], 'Admin'],
    ['sql', 'BACKUP DATABASE', ['read', 'schema'], 'Admin'],
    ['sql', 'SELECT FROM Person', ['insert'], 'Read'],
    ['sql', 'SELECT f.add(1)', ['read', 'update'], 'Insert'],
    ['sqlscript', 'IF (1 = 2) { DELETE FROM Note; }', ['read', 'insert'], 'Delete'],
  ];
  for (const [language, command, permitted, word] of cases) {
    await refused(
      'execute_command',
      {language, command},
      `${word} operations are not allowed by MCP configuration`,
      {permitted: permitted ?? []},
    );
  }
  const {records, count} = await answer('execute_command', insert, {permitted: ['insert']});
  assert.equal(count, 1);
  assert.equal((records as readonly Json[])[0]?.['n'], 1);
  const remove = {language: 'sql', command: 'DELETE FROM Note'};
  assert.deepEqual(await answer('execute_command', remove, {permitted: ['delete']}), {
    records: [{count: 1}],
    count: 1,
  });
  const select = {language: 'sql', command: 'SELECT 1 AS a'};
  assert.deepEqual(await answer('execute_command', select), {records: [{a: 1}], count: 1});
});

test('sample_records answers the first records of types', async () => {
  const samples = await answer('sample_records', {limit: 1});
  assert.deepEqual(
    {...samples, samples: Object.keys(samples['samples'] as object)},
    {
      samples: ['Note', 'Person'],
      sampledTypes: 2,
      availableTypes: 2,
      recordsReturned: 1,
      truncated: false,
    },
  );
  const named = await answer('sample_records', {types: ['Knows']});
  assert.equal(
    (named['samples'] as Record<string, readonly Json[]>)['Knows']?.[0]?.['@type'],
    'Knows',
  );
  assert.equal(named['availableTypes'], 2);
  const missing = `Type 'Nope' does not exist in database '${people.name}'`;
  await refused('sample_records', {types: ['Nope']}, missing);
  await refused('sample_records', {limit: 21}, "'limit' must be between 1 and 20");
});

test('searches answer as over HTTP, and refuse in their words', async () => {
  const near = {indexName: 'Person[emb]', queryVector: [1, 0.1], k: 1};
  const {results, ...head} = await answer('vector_search', near);
  assert.deepEqual(head, {
    indexName: 'Person[emb]',
    sparse: false,
    scoring: 'distance_lower_is_better:COSINE',
    candidateLimit: 1,
    truncated: true,
    count: 1,
  });
  const [found] = results as readonly Json[];
  const properties = found?.['properties'] as Json | undefined;
  assert.equal(properties?.['name'], 'ann');
  const texts = await answer('full_text_search', {typeName: 'Person', queryText: 'apple'});
  assert.equal(texts['count'], 2);
  const hybrid = {vectorIndexName: 'Person[emb]', queryVector: [1, 0], k: 3};
  const fused = await answer('hybrid_search', {
    ...hybrid,
    fulltextIndexName: 'Person[bio]',
    fulltextQuery: 'apple',
    expand: {edgeTypes: ['Knows']},
  });
  assert.equal(fused['fused'], true);
  await refused('vector_search', {...near, k: 1_001}, "'k' must be between 1 and 1000");
  await refused(
    'vector_search',
    {...near, indexName: 'Person[bio]'},
    /is FULL_TEXT, not LSM_VECTOR/,
  );
  await refused('full_text_search', {queryText: ' ', typeName: 'Person'}, /must not be blank/);
  await refused('hybrid_search', {...hybrid, expand: {maxDepth: 4}}, /maxDepth must be between/);
  await refused('hybrid_search', {...hybrid, fulltextQuery: 'x'}, /supplied together/);
  await refused(
    'hybrid_search',
    {...hybrid, expand: {edgeTypes: ['Nope']}},
    /'Nope' does not exist/,
  );
  await refused('vector_search', near, /Read operations are not allowed/, {permitted: []});
});

test('native rights are asked as well', async () => {
  const anna: Principal = {name: 'anna', root: false, grants: new Map([[people.name, ['reader']]])};
  await world.world.security.saveGroup(people.name, 'reader', {
    types: {'*': {access: ['readRecord']}},
  });
  const {refusal} = await call(
    'execute_command',
    {language: 'sql', command: 'CREATE DOCUMENT TYPE Mine'},
    {as: anna},
  );
  assert.match(refusal ?? '', /'anna' is not allowed/);
  const entity = {typeName: 'Person', matchKeys: {name: 'eve'}};
  assert.match((await call('upsert_entity', entity, {as: anna})).refusal ?? '', /'anna'/);
  await refused('profiler_start', {}, /only root is/, {as: anna});
  await refused('set_server_setting', {key: 'svc.txRetries', value: '1'}, /only root/, {as: anna});
});

test('upsert_entity finds or makes one vertex, and sets its properties', async () => {
  const given = {typeName: 'Person', matchKeys: {name: 'mia'}, setProperties: {age: 9}};
  const first = (await answer('upsert_entity', given))['records'] as readonly Json[];
  const again = {...given, setProperties: {age: 10, tags: ['a']}};
  const second = (await answer('upsert_entity', again))['records'] as readonly Json[];
  assert.equal(first[0]?.['age'], 9);
  assert.deepEqual([second[0]?.['age'], second[0]?.['tags']], [10, ['a']]);
  assert.equal(first[0]?.['@rid'], second[0]?.['@rid']);
  assert.deepEqual(await answer('upsert_entity', {...given, returnRecord: false}), {
    records: [],
    count: 1,
  });
  const fresh = {typeName: 'Brand new', matchKeys: {'odd key': 1.5}};
  const permitted = ['insert', 'update'] as const;
  const [made] = (await answer('upsert_entity', fresh, {permitted}))['records'] as readonly Json[];
  assert.equal(made?.['odd key'], 1.5);
  const empty = {typeName: 'Person', matchKeys: {}};
  const words = "'matchKeys' is required and must contain at least one property";
  await refused('upsert_entity', empty, words);
  await refused('upsert_entity', {typeName: 'Person'}, words);
  await refused(
    'upsert_entity',
    {...empty, matchKeys: {a: {b: 1}}},
    /'matchKeys.a' must be a text/,
  );
  await refused('upsert_entity', {...empty, matchKeys: {a: null}}, /'matchKeys.a' must be a text/);
  await refused('upsert_entity', {...given, typeName: 'A` DELETE'}, /'typeName' must not/);
  await refused('upsert_entity', {...given, matchKeys: {'a`b': 1}}, /'matchKeys' must not/);
  const update = 'Update operations are not allowed by MCP configuration';
  await refused('upsert_entity', given, update, {permitted: ['read', 'insert']});
  const insert = 'Insert operations are not allowed by MCP configuration';
  await refused('upsert_entity', given, insert, {permitted: ['read', 'update']});
});

test('upsert_relationship keeps one edge of a type from one vertex to another', async () => {
  const given = {
    fromType: 'Person',
    fromMatchKeys: {name: 'ann'},
    toType: 'City',
    toMatchKeys: {name: 'rome'},
    relType: 'LivesIn',
    relProperties: {since: 2020},
  };
  const [first] = (await answer('upsert_relationship', given))['records'] as readonly Json[];
  const again = {...given, relProperties: {since: 2021}};
  const [second] = (await answer('upsert_relationship', again))['records'] as readonly Json[];
  assert.equal(first?.['@rid'], second?.['@rid']);
  assert.deepEqual([first?.['since'], second?.['since']], [2020, 2021]);
  assert.deepEqual(await people.run('SELECT count(*) AS c FROM LivesIn'), [{c: 1}]);
});

test('32 upserts at once make one vertex and one edge, without any unique index', async () => {
  const other = await world.world.database([]);
  const at = {database: other.name};
  const calls = Array.from({length: 32}, (_, n) =>
    Promise.all([
      world.call('upsert_entity', {...at, typeName: 'E', matchKeys: {id: 1}, setProperties: {n}}),
      world.call('upsert_relationship', {
        ...at,
        fromType: 'E',
        fromMatchKeys: {id: n % 2 === 0 ? 1 : 2},
        toType: 'E',
        toMatchKeys: {id: 3},
        relType: 'R',
        relProperties: {n},
      }),
    ]),
  );
  for (const answered of (await Promise.all(calls)).flat()) {
    assert.equal(answered.refusal, undefined);
    assert.equal((answered.payload as Json)['count'], 1);
  }
  assert.deepEqual(await other.run('SELECT id FROM E ORDER BY id'), [{id: 1}, {id: 2}, {id: 3}]);
  assert.deepEqual(await other.run('SELECT count(*) AS c FROM R'), [{c: 2}]);
});

test('ends that are named by other keys are the same ends', async () => {
  const other = await world.world.database([
    'CREATE VERTEX TYPE P',
    'CREATE EDGE TYPE R',
    'CREATE VERTEX P SET a = 1, b = 1',
    'CREATE VERTEX P SET a = 2, b = 2',
  ]);
  const calls = Array.from({length: 32}, (_, n) => {
    const key = n % 2 === 0 ? 'a' : 'b';
    return world.call('upsert_relationship', {
      database: other.name,
      fromType: 'P',
      fromMatchKeys: {[key]: 1},
      toType: 'P',
      toMatchKeys: {[key]: 2},
      relType: 'R',
    });
  });
  for (const {refusal} of await Promise.all(calls)) assert.equal(refusal, undefined);
  assert.deepEqual(await other.run('SELECT count(*) AS c FROM R'), [{c: 1}]);
});

test('settings are told and changed; secrets are masked', async () => {
  const {settings} = await answer('get_server_settings', {}, {permitted: ['read']});
  const rows = settings as readonly Json[];
  assert.ok(rows.some(({key}) => key === 'svc.server.mode'));
  const secret = rows.find(({key}) => key === 'svc.server.rootPassword');
  assert.notEqual(secret?.['value'], '');
  const change = {key: 'svc.queryMaxConcurrent', value: '7'};
  assert.deepEqual(await answer('set_server_setting', change), {
    key: 'svc.queryMaxConcurrent',
    previousValue: '-1',
    newValue: '7',
    message: "Setting 'svc.queryMaxConcurrent' updated successfully.",
  });
  await refused(
    'set_server_setting',
    {key: 'svc.nope', value: '3'},
    'Unknown server setting: svc.nope',
  );
  await refused('set_server_setting', {...change, value: 'abc'}, /svc.queryMaxConcurrent/);
  await refused('set_server_setting', {...change, value: ''}, /'value' must not be empty/);
  const words = 'Admin operations are not allowed by MCP configuration';
  await refused('set_server_setting', change, words, {permitted: ['read']});
});

test('the profiler records one session at a time', async () => {
  assert.deepEqual((await answer('profiler_stop'))['status'], 'not_recording');
  const started = await answer('profiler_start', {timeoutSeconds: 5});
  assert.deepEqual([started['status'], started['timeoutSeconds']], ['started', 5]);
  const again = await answer('profiler_start', {timeoutSeconds: 9});
  assert.deepEqual([again['status'], again['timeoutSeconds']], ['already_recording', 5]);
  assert.equal((await answer('profiler_status'))['recording'], true);
  assert.equal((await answer('profiler_stop'))['recording'], false);
  assert.equal((await answer('profiler_status'))['timeoutSeconds'], 5);
  assert.equal((await answer('profiler_stop'))['status'], 'not_recording');
  await refused(
    'profiler_start',
    {timeoutSeconds: 0},
    "'timeoutSeconds' must be between 1 and 3600",
  );
  const words = 'Admin operations are not allowed by MCP configuration';
  for (const name of ['profiler_start', 'profiler_stop', 'profiler_status']) {
    await refused(name, {}, words, {permitted: ['read']});
  }
});

test('server_status tells who the server is', async () => {
  const status = await answer('server_status', {}, {permitted: []});
  assert.equal(status['version'], '1.0');
  assert.equal(status['serverName'], 'svc_0');
  assert.ok((status['databases'] as readonly string[]).includes(people.name));
  assert.equal('ha' in status, false);
});
