/**
 * Calls that try for more than they may, or that the answer cannot hold: writes that hide, names
 * with quotes, answers that are too large, and errors that tell what the data holds.
 */
import assert from 'node:assert/strict';
import {after, before, beforeEach, test} from 'node:test';
import {type HttpWorld, httpWorld} from '#server/testing/worlds/http-world.ts';

let world: HttpWorld;

before(async () => {
  world = await httpWorld();
  for (const command of [
    'CREATE DOCUMENT TYPE Note',
    'CREATE VERTEX TYPE Watched',
    'CREATE VERTEX TYPE Account',
    'CREATE PROPERTY Account.card STRING',
    'CREATE INDEX ON Account (card) UNIQUE',
    `CREATE VERTEX Account SET card = '${secret}'`,
    'CREATE MATERIALIZED VIEW Cards AS SELECT card FROM Account',
    'CREATE VERTEX Watched SET n = 1',
    "CREATE TRIGGER seen AFTER READ ON Watched EXECUTE SQL 'INSERT INTO Note SET seen = true'",
    "CREATE TRIGGER made AFTER CREATE ON Watched EXECUTE SQL 'DELETE FROM Note'",
    'DEFINE FUNCTION f.add "INSERT INTO Note SET n = :n" PARAMETERS [n]',
    'DEFINE FUNCTION f.twice "SELECT f.add(:n) AS a" PARAMETERS [n]',
    'CREATE DOCUMENT TYPE Large',
    `INSERT INTO Large SET text = '${'x'.repeat(100_000)}'`,
  ]) {
    const {status, text} = await world.call('/command/db', {body: {language: 'sql', command}});
    assert.equal(status, 200, text);
  }
});
after(() => world.server.close(0));

const secret = 'card-4929-0000-1111';
const flags = ['Reads', 'Insert', 'Update', 'Delete', 'SchemaChange', 'Admin'] as const;

async function allow(...open: readonly (typeof flags)[number][]): Promise<void> {
  const each = flags.map(flag => [`allow${flag}`, open.includes(flag)]);
  const body = {enabled: true, ...Object.fromEntries(each)};
  assert.equal((await world.call('/mcp/config', {body})).status, 200);
}
beforeEach(() => allow(...flags));

interface Told {
  readonly text: string;
  readonly isError: boolean;
}

async function call(name: string, given: object): Promise<Told> {
  const params = {name, arguments: {database: 'db', ...given}};
  const body = {id: 1, method: 'tools/call', params};
  const {json} = await world.call('/mcp', {body});
  const {result} = json as {result: {content: [{text: string}]; isError: boolean}};
  return {text: result.content[0].text, isError: result.isError};
}

async function count(type: string): Promise<number> {
  const body = {language: 'sql', command: `SELECT count(*) AS c FROM ${type}`};
  const {json} = await world.call('/query/db', {body});
  return (json as {result: [{c: number}]}).result[0].c;
}

test('query proves that nothing is written, whatever a statement calls or fires', async () => {
  const words = 'Query contains write operations. Use execute_command tool instead of query tool';
  const before = await count('Note');
  for (const [language, query] of [
    ['sql', 'SELECT FROM Watched'],
    ['sql', 'SELECT count(*) FROM (SELECT FROM Watched)'],
    ['sql', '-- SELECT\nINSERT INTO Note SET n = 1'],
    ['sql', 'SELECT f.twice(1)'],
    ['sql', 'REFRESH MATERIALIZED VIEW Cards'],
    ['sql', 'CREATE MATERIALIZED VIEW Hidden AS SELECT 1 AS a FROM Account'],
    ['sqlscript', 'LET $a = SELECT FROM Account; IF ($a.size() > 9) { DELETE FROM Note; }'],
    ['sqlscript', 'FOREACH ($i IN [1, 2]) { INSERT INTO Note SET n = $i; }'],
    ['cypher', 'MATCH (w:Watched) RETURN w'],
    ['cypher', '// MATCH\nMERGE (:Account {card: "x"})'],
    ['cypher', 'MATCH (a:Account) FOREACH (i IN [1] | SET a.n = i)'],
  ] as const) {
    assert.deepEqual(await call('query', {language, query}), {text: words, isError: true}, query);
  }
  assert.equal(await count('Note'), before);
  assert.equal(await count('Cards'), 1);
});

test('a command needs what its triggers do', async () => {
  const before = await count('Note');
  const insert = {language: 'sql', command: 'CREATE VERTEX Watched SET n = 2'};
  await allow('Reads', 'Insert', 'Update');
  const refusal = 'Delete operations are not allowed by MCP configuration';
  assert.deepEqual(await call('execute_command', insert), {text: refusal, isError: true});
  await allow('Reads', 'Delete', 'Update');
  assert.match((await call('execute_command', insert)).text, /^Insert operations are not allowed/);
  const read = {language: 'sql', command: 'SELECT FROM Watched'};
  assert.match((await call('execute_command', read)).text, /^Insert operations are not allowed/);
  assert.equal(await count('Note'), before);
});

test('names with quotes name, and end no statement', async () => {
  await allow('Reads', 'Insert', 'Update', 'SchemaChange');
  for (const name of [`O'Brien "x"`, "a'; DROP TYPE Note; --", '"', "''"]) {
    const entity = {typeName: 'Account', matchKeys: {[name]: name}, setProperties: {note: name}};
    const {text, isError} = await call('upsert_entity', entity);
    assert.equal(isError, false, text);
    const {records} = JSON.parse(text) as {records: Record<string, unknown>[]};
    assert.deepEqual([records[0]?.[name], records[0]?.['note']], [name, name]);
  }
  const before = await count('Account');
  for (const [given, argument] of [
    [{typeName: 'A`; DROP TYPE Note', matchKeys: {a: 1}}, 'typeName'],
    [{typeName: 'A\\', matchKeys: {a: 1}}, 'typeName'],
    [{typeName: 'Account', matchKeys: {'a`: 1}) DETACH DELETE n': 1}}, 'matchKeys'],
    [{typeName: 'Account', matchKeys: {a: {b: 1}}}, 'matchKeys.a'],
    [{typeName: 'Account', matchKeys: {a: [1]}}, 'matchKeys.a'],
    [{typeName: 'Account', matchKeys: {a: null}}, 'matchKeys.a'],
    [{typeName: 'Account', matchKeys: [1]}, 'matchKeys'],
  ] as const) {
    const {text, isError} = await call('upsert_entity', given);
    assert(isError && text.includes(`'${argument}' must`), text);
  }
  assert.equal(await count('Account'), before);
});

test('in production an error of the engine tells nothing of the data', async () => {
  const before = [await count('Account'), await count('Note')];
  const failing = [
    {language: 'sql', command: `CREATE VERTEX Account SET card = '${secret}'`},
    {language: 'sql', command: `SELECT '${secret}'.asDate().nope( FROM Account`},
    {language: 'cypher', command: `CREATE (:Account {card: "${secret}"})`},
    {
      language: 'sqlscript',
      command: `INSERT INTO Note SET n = 1; CREATE VERTEX Account SET card = '${secret}';`,
    },
  ];
  for (const command of failing) {
    const {text, isError} = await call('execute_command', command);
    assert(isError && !text.startsWith('The request failed'), text);
  }
  world.set('svc.server.mode', 'production');
  try {
    const generic = 'The request failed. Check the server log for the details';
    for (const command of failing) {
      world.logged.length = 0;
      const told = await call('execute_command', command);
      assert.deepEqual(told, {text: generic, isError: true}, command.command);
      assert(world.logged.includes('mcp.tool'));
    }
    const entity = {typeName: 'Account', matchKeys: {n: 1}, setProperties: {card: secret}};
    assert.equal((await call('upsert_entity', entity)).text, generic);
    const {text} = await call('query', {language: 'sql', query: 'SELECT 1', limit: 0});
    assert.equal(text, "'limit' must be between 1 and 100000");
  } finally {
    world.set('svc.server.mode', 'development');
  }
  assert.deepEqual([await count('Account'), await count('Note')], before);
});

test('an answer has a bound, of one record and of many', async () => {
  const select = {language: 'sql', query: 'SELECT FROM Large'};
  assert.equal((await call('query', select)).isError, false);
  world.set('svc.mcp.answerSizeMax', 65_536);
  try {
    const words = /answer is larger than 65536 bytes \(svc\.mcp\.answerSizeMax\): ask for fewer/;
    const many = {language: 'cypher', query: 'UNWIND range(1, 5000) AS a RETURN a, "some text"'};
    const command = `INSERT INTO Large SET text = '${'y'.repeat(70_000)}'`;
    const made = {language: 'sql', command};
    for (const [name, given] of [
      ['query', select],
      ['query', {...many, limit: 5_000}],
      ['sample_records', {types: ['Large']}],
      ['sample_records', {}],
      ['execute_command', made],
    ] as const) {
      const {text, isError} = await call(name, given);
      assert(isError && words.test(text), `${name}: ${text.slice(0, 200)}`);
    }
    assert.match(
      (await call('execute_command', made)).text,
      /^The command was carried out, but its/,
    );
    assert.equal((await call('query', {...many, limit: 100})).isError, false);
  } finally {
    world.set('svc.mcp.answerSizeMax', 64 * 1024 * 1024);
  }
});

test('fields that mean nothing are passed over, and odd names name no tool', async () => {
  const body = '{"id":1,"method":"ping","x":{"__proto__":1},"params":{"_meta":{"a":1},"y":[]}}';
  assert.equal((await world.call('/mcp', {body})).text, '{"jsonrpc":"2.0","id":1,"result":{}}');
  const {isError} = await call('list_databases', {more: {deep: [1]}, constructor: 1});
  assert.equal(isError, false);
  for (const name of ['constructor', '__proto__', 'toString', 'Query', 'query ']) {
    assert.deepEqual(await call(name, {}), {text: `Unknown tool: ${name}`, isError: true});
  }
});
