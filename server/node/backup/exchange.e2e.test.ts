/**
 * Imports and exports of a real server: every format that is read, every type of value through an
 * export and back, and what is refused or breaks off, which leaves nothing behind.
 */
import assert from 'node:assert/strict';
import {readdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import {gzipSync} from 'node:zlib';
import type {Client} from '#server/client/client.ts';
import {ServerError} from '#server/client/server-error.ts';
import {assertRefused, type ExchangeWorld, startExchangeWorld} from './testing-exchange.ts';

let world: ExchangeWorld;
let client: Client;

before(async () => {
  world = await startExchangeWorld('exchange');
  client = world.client;
});
after(() => world.close());

const graph = {
  jsonl:
    '{"type":"node","id":"0","labels":["Person"],"properties":{"name":"Ada","born":1815}}\n' +
    '{"type":"node","id":"1","labels":["Person"],"properties":{"name":"Bea"}}\n' +
    '{"type":"relationship","id":"0","label":"Knows","properties":{"since":1999},' +
    '"start":{"id":"0","labels":["Person"]},"end":{"id":"1","labels":["Person"]}}\n',
  graphml:
    '<?xml version="1.0"?>\n<graphml><key id="n" for="node" attr.name="name" attr.type="string"/>' +
    '<key id="b" for="node" attr.name="born" attr.type="int"/>' +
    '<key id="s" for="edge" attr.name="since" attr.type="int"/>' +
    '<graph edgedefault="directed"><edge source="a" target="b" label="Knows"><data key="s">1999' +
    '</data></edge><node id="a" labels=":Person"><data key="n">Ada</data>' +
    '<data key="b">1815</data></node><node id="b" labels=":Person"><data key="n">Bea</data>' +
    '</node></graph></graphml>',
  graphson:
    '{"id":{"@type":"g:Int32","@value":1},"label":"Person","outE":{"Knows":[{"id":7,"inV":' +
    '{"@type":"g:Int32","@value":2},"properties":{"since":{"@type":"g:Int32","@value":1999}}}]},' +
    '"properties":{"name":[{"id":0,"value":"Ada"}],"born":[{"id":1,"value":' +
    '{"@type":"g:Int32","@value":1815}}]}}\n' +
    '{"id":{"@type":"g:Int32","@value":2},"label":"Person","properties":{"name":[{"id":2,' +
    '"value":"Bea"}]}}\n',
  orientdb: JSON.stringify({
    info: {name: 'db', 'exporter-version': 13},
    schema: {
      classes: [
        {name: 'V', 'cluster-ids': [9]},
        {name: 'E', 'cluster-ids': [10]},
        {name: 'Person', 'cluster-ids': [11], 'super-classes': ['V']},
        {name: 'Knows', 'cluster-ids': [12], 'super-classes': ['E']},
        {name: 'OUser', 'cluster-ids': [5]},
      ],
    },
    records: [
      {'@type': 'd', '@rid': '#5:0', '@class': 'OUser', name: 'admin'},
      {'@type': 'd', '@rid': '#12:0', '@class': 'Knows', out: '#11:0', in: '#11:1', since: 1999},
      {
        '@type': 'd',
        '@rid': '#11:0',
        '@class': 'Person',
        name: 'Ada',
        born: 1815,
        out_Knows: ['#12:0'],
        '@fieldTypes': 'out_Knows=g',
      },
      {'@type': 'd', '@rid': '#11:1', '@class': 'Person', name: 'Bea', in_Knows: ['#12:0']},
    ],
  }),
  turtle:
    '@prefix p: <http://example.org/> .\n@prefix x: <http://www.w3.org/2001/XMLSchema#> .\n' +
    'p:a a p:Person ; p:name "Ada" ; p:born "1815"^^x:integer ; p:Knows p:b .\n' +
    'p:b a p:Person ; p:name "Bea" .\n',
};

for (const [name, content] of Object.entries(graph)) {
  test(`a graph from ${name}`, async () => {
    const database = `g-${name}`;
    const answer = await world.send(database, content);
    assert.deepEqual([answer['vertices'], answer['edges'], answer['skipped']], [2, 1, 0]);
    const found = await world.rows(
      database,
      'MATCH (a:Person)-[k:Knows]->(b:Person) RETURN a.name, a.born, b.name, k.since',
      'cypher',
    );
    const since = name === 'turtle' ? null : 1999;
    const expected = {'a.name': 'Ada', 'a.born': 1815, 'b.name': 'Bea', 'k.since': since};
    assert.deepEqual(found, [expected]);
  });
}

test('rows of CSV as vertices, and then as edges between them', async () => {
  const people = 'id,name,note\n1,Ada,"a, ""b""\nc"\n2,Bea,\n';
  const vertices = {rows: 'vertex', vertexType: 'Person', typeIdProperty: 'id'};
  const made = await world.send('csv', gzipSync(people), vertices);
  assert.deepEqual([made['format'], made['vertices']], ['csv', 2]);
  const [ada] = await world.rows('csv', 'SELECT name, note FROM Person WHERE id = 1');
  assert.deepEqual(ada, {name: 'Ada', note: 'a, "b"\nc'});
});

test('documents from lists, objects, lines and XML', async () => {
  const wish = {documentType: 'Song'};
  for (const [name, content] of [
    ['list', '[{"title":"One","n":1},\n {"title":"Two","n":{"deep":[1,2]}}]'],
    ['lines', '{"title":"One","n":1}\n{"title":"Two","n":{"deep":[1,2]}}\n'],
    ['xml', '<songs><song title="One"><n>1</n></song><song title="Two"><n a="2"/></song></songs>'],
  ] as const) {
    const answer = await world.send(`d-${name}`, content, wish);
    assert.equal(answer['documents'], 2, name);
    const titles = await world.rows(`d-${name}`, 'SELECT title FROM Song ORDER BY title');
    assert.deepEqual(titles, [{title: 'One'}, {title: 'Two'}], name);
  }
});

test('a probe says what there is and changes nothing', async () => {
  const answer = await world.send('probed', graph.graphml, {probeOnly: 'true'});
  assert.equal(answer['format'], 'graphml');
  assert.deepEqual(answer['types'], [
    {kind: 'edge', name: 'Knows', entries: 1, properties: ['since']},
    {kind: 'vertex', name: 'Person', entries: 2, properties: ['name', 'born']},
  ]);
  assert.ok(!(await client.databases()).includes('probed'));
});

test('every type of value comes back from an export as it was', async () => {
  await client.createDatabase('all');
  const run = (text: string): Promise<unknown> => client.command('all', text);
  await run('CREATE VERTEX TYPE Base');
  await run('CREATE VERTEX TYPE Thing EXTENDS Base BUCKETS 2');
  for (const property of [
    'b BOOLEAN',
    's SHORT',
    'i INTEGER (mandatory true, min 0)',
    'l LONG',
    'f FLOAT',
    'd DOUBLE',
    'c DECIMAL',
    't STRING (regexp "[a-z]*")',
    'day DATE',
    'at DATETIME',
    'bytes BINARY',
    'tags LIST OF STRING',
    'more MAP',
  ]) {
    await run(`CREATE PROPERTY Thing.${property}`);
  }
  await run('CREATE INDEX ON Thing (i) UNIQUE');
  await run('CREATE EDGE TYPE Likes');
  await run('CREATE EDGE TYPE Light LIGHTWEIGHT');
  await run('CREATE DOCUMENT TYPE Note');
  await run(
    'INSERT INTO Thing SET b = true, s = 7, i = 1, l = 9007199254740993, f = 1.5, d = 2.0, ' +
      "c = 12.50, t = 'abc', day = '2024-02-29', at = '2024-02-29 12:13:14', tags = ['x', 'y'], " +
      "more = {'a': {'b': [1, 2.5, null]}, '$date': 1}, free = 3.0",
  );
  await run("INSERT INTO Thing SET i = 2, t = 'z'");
  await run('INSERT INTO Note SET text = "<&> \\u00e9"');
  await run('UPDATE Note SET about = (SELECT @rid FROM Thing WHERE i = 1)');
  await run(
    'CREATE EDGE Likes FROM (SELECT FROM Thing WHERE i = 1) TO (SELECT FROM Thing WHERE i = 2) ' +
      'SET much = 0.5',
  );
  await run(
    'CREATE EDGE Light FROM (SELECT FROM Thing WHERE i = 2) TO (SELECT FROM Thing WHERE i = 1)',
  );
  const first = await world.exported('all', 'jsonl');
  const answer = await world.send('again', first);
  assert.deepEqual([answer['documents'], answer['vertices'], answer['edges']], [1, 2, 2]);
  const second = await world.exported('again', 'jsonl');
  const withoutMoment = (text: string): string[] =>
    text
      .split('\n')
      .filter(line => !line.startsWith('{"t":"info"'))
      .map(line => line.replaceAll(/#\d+:-?\d+/g, '#'));
  assert.deepEqual(withoutMoment(second).sort(), withoutMoment(first).sort());
  const twice = client.command('again', 'INSERT INTO Thing SET i = 1');
  await assert.rejects(twice, error => error instanceof ServerError && error.status === 409);
});

test('an export of the graph alone is read back by its own format', async () => {
  for (const format of ['graphml', 'graphson']) {
    const text = await world.exported('g-jsonl', format);
    const answer = await world.send(`back-${format}`, text);
    assert.deepEqual([answer['format'], answer['vertices'], answer['edges']], [format, 2, 1]);
    const found = await world.rows(
      `back-${format}`,
      'MATCH (a:Person)-[k:Knows]->(b:Person) RETURN a.name, a.born, b.name, k.since',
      'cypher',
    );
    const expected = {'a.name': 'Ada', 'a.born': 1815, 'b.name': 'Bea', 'k.since': 1999};
    assert.deepEqual(found, [expected], format);
  }
});

test('statements do the same with files of the server', async () => {
  const path = join(world.root, 'people.jsonl');
  writeFileSync(path, graph.jsonl);
  await client.createDatabase('sql');
  const imported = await client.command('sql', `IMPORT DATABASE 'file://${path}'`);
  assert.equal(imported.result[0]?.['vertices'], 2);
  const {result} = await client.command('sql', 'EXPORT DATABASE WITH format = "graphml"');
  assert.deepEqual([result[0]?.['edges'], result[0]?.['totalRecords']], [1, 3]);
  assert.match(String(result[0]?.['toUrl']), /exports\/sql-export-\d{8}-\d{9}\.graphml\.tgz$/);
  const outside = client.command('sql', "EXPORT DATABASE 'file:///tmp/x.tgz'");
  await assert.rejects(outside, /is a path/);
});

const bad: readonly (readonly [
  string,
  string | Buffer,
  Readonly<Record<string, string>>,
  RegExp,
])[] = [
  ['an unknown option', '[]', {speed: '9'}, /'speed' is no option/],
  ['an end that is nowhere', graph.jsonl.replace('"end":{"id":"1"', '"end":{"id":"9"'), {}, /'9'/],
  ['a line that is no JSON', '{"a":1}\n{"a":\n', {}, /record 2/],
  ['a DOCTYPE', '<!DOCTYPE a [<!ENTITY b "c">]><a><d>&b;</d></a>', {}, /DOCTYPE/],
  ['too many columns', `${'a,'.repeat(600)}b\n`, {}, /maxProperties/],
  ['a cell without end', `a,b\n"${'x'.repeat(9_000)}`, {}, /maxPropertySize/],
  ['triples that do not parse', '<http://a> <http://b> <http://c> .\n<http://a> x', {}, /record/],
  ['a bomb', gzipSync(Buffer.alloc(80 << 20, 0x61)), {format: 'csv'}, /500 times|maxPropertySize/],
  ['an empty file', '', {}, /empty/],
];

for (const [what, content, options, expected] of bad) {
  test(`refused, with nothing left: ${what}`, async () => {
    await assertRefused(world.send('bad', content, options), expected);
    await world.assertNothingLeft('bad');
  });
}

test('rows that cannot be read are left out where that is wanted', async () => {
  const content = '{"a":1}\n{"a":\n{"a":3}\n';
  const answer = await world.send('skipping', content, {onRowError: 'skip'});
  assert.deepEqual([answer['documents'], answer['skipped']], [2, 1]);
});

test('an archive is restored from a file of the server, and from no address inside', async () => {
  const {path} = await client.serverCommand('trigger backup csv', {encryptionKey: 'key'});
  const command = `restore database from-file file://${String(path)}`;
  await assert.rejects(client.serverCommand(command), /encryptionKey is missing/);
  await client.serverCommand(command, {encryptionKey: 'key'});
  const [ada] = await world.rows('from-file', 'SELECT name FROM Person WHERE id = 1');
  assert.deepEqual(ada, {name: 'Ada'});
  assert.deepEqual(readdirSync(join(world.root, 'temporary')), []);
  const inside = client.serverCommand('restore database inside http://127.0.0.1:1/a.zip');
  await assert.rejects(inside, error => error instanceof ServerError && error.status === 403);
});

test('addresses of the machine itself are not asked', async () => {
  for (const address of ['http://127.0.0.1:1/x', 'http://2130706433/x', 'http://[::1]/x']) {
    const importing = client.serverCommand(`import database guarded ${address}`);
    await assert.rejects(importing, error => {
      return error instanceof ServerError && error.status === 403;
    });
  }
});
