/**
 * What imports make of the exports of other systems, of rows that name vertices which are there
 * already, of several files at once, and of word vectors.
 */
import assert from 'node:assert/strict';
import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import {assertRefused, type ExchangeWorld, startExchangeWorld} from './testing-exchange.ts';

const examples = join(import.meta.dirname, '../../../examples/migrate');
let world: ExchangeWorld;

before(async () => {
  world = await startExchangeWorld('exchange-sources');
});
after(() => world.close());

test('edges of CSV join vertices that are there, by a property and by record id', async () => {
  const people = {rows: 'vertex', vertexType: 'Person', typeIdProperty: 'id', typeIdType: 'LONG'};
  await world.send('joined', 'id,name\n1,Ada\n2,Bea\n', {...people, typeIdUnique: 'true'});
  const towns = {new: 'false', rows: 'vertex', vertexType: 'Town', typeIdProperty: 'code'};
  await world.send('joined', 'code,name\n007,Rome\n1,Oslo\n', {...towns, typeIdType: 'STRING'});
  const knows = {new: 'false', rows: 'edge', edgeType: 'Knows', vertexType: 'Person'};
  const made = await world.send('joined', 'from,to,since\n1,2,1999\n2,1,\n', {
    ...knows,
    typeIdProperty: 'id',
  });
  assert.deepEqual([made['vertices'], made['edges']], [0, 2]);
  await world.send('joined', 'person,town\n1,007\n2,1\n', {
    new: 'false',
    rows: 'edge',
    edgeType: 'LivesIn',
    edgeFromField: 'person',
    edgeToField: 'town',
    edgeFromType: 'Person',
    edgeToType: 'Town',
    edgeFromProperty: 'id',
    edgeToProperty: 'code',
  });
  const found = await world.rows(
    'joined',
    'MATCH (t:Town)<-[:LivesIn]-(a:Person)-[k:Knows]->(b:Person) ' +
      'RETURN a.name, t.name, b.name, k.since ORDER BY a.name',
    'cypher',
  );
  assert.deepEqual(found, [
    {'a.name': 'Ada', 't.name': 'Rome', 'b.name': 'Bea', 'k.since': 1999},
    {'a.name': 'Bea', 't.name': 'Oslo', 'b.name': 'Ada', 'k.since': null},
  ]);
  const [ada, bea] = await world.rows('joined', 'SELECT @rid AS r FROM Person ORDER BY id');
  const byRid = `from,to\n${String(bea?.['r'])},${String(ada?.['r'])}\n`;
  const again = await world.send('joined', byRid, {...knows, edgeType: 'Likes'});
  assert.equal(again['edges'], 1);
});

test('an end that is nowhere is told with its row, two vertices of one name as well', async () => {
  await world.send('ends', 'id,name\n1,Ada\n1,Bea\n2,Cleo\n', {rows: 'vertex', vertexType: 'P'});
  const edges = {new: 'false', rows: 'edge', edgeType: 'Knows', vertexType: 'P'};
  const byName = {...edges, typeIdProperty: 'name'};
  await assertRefused(
    world.send('ends', 'from,to\nAda,Cleo\nAda,Dora\n', byName),
    /record 3 .*'Dora' is no vertex of the source, nor one of 'P' by its property 'name'/,
  );
  await assertRefused(
    world.send('ends', 'from,to\n1,2\n', {...edges, typeIdProperty: 'id'}),
    /two vertices of 'P' have '1' as 'id'/,
  );
  await assertRefused(world.send('ends', 'from,to\nAda,\n', byName), /record 2 .*no field 'to'/);
  const rid = world.send('ends', 'from,to\n#1:99,#1:98\n', edges);
  await assertRefused(rid, /#1:9\d.*\(line 2\)|line 2.*#1:9\d/);
  assert.deepEqual(await world.rows('ends', 'SELECT count(*) AS n FROM P'), [{n: 3}]);
});

test('several files make one new database, or none', async () => {
  const file = (name: string, content: string): string => {
    const path = join(world.root, name);
    writeFileSync(path, content);
    return `file://${path}`;
  };
  const people = file('people.txt', 'id;name;secret\n1;Ada;x\n2;Bea;y\n');
  const knows = file('knows.txt', 'one,other\n1,2\n');
  await world.client.createDatabase('several');
  const words = (edges: string): string =>
    `IMPORT DATABASE WITH vertices = '${people}', verticesDelimiter = ';', ` +
    `verticesPropertiesInclude = 'id,name', vertexType = 'Person', typeIdProperty = 'id', ` +
    `edges = '${edges}', edgesHeader = 'from,to', edgesSkipEntries = 1, edgeType = 'Knows'`;
  const {result} = await world.client.command('several', words(knows));
  assert.deepEqual([result[0]?.['vertices'], result[0]?.['edges']], [2, 1]);
  const found = await world.rows(
    'several',
    'SELECT name, secret, out("Knows").name AS k FROM Person',
  );
  assert.deepEqual(found[0], {name: 'Ada', secret: null, k: ['Bea']});
  const lone = world.client.command('several', "IMPORT DATABASE WITH edgesDelimiter = ';'");
  await assertRefused(lone, /needs a file or address/);
  const both = `IMPORT DATABASE '${people}' WITH edges = '${knows}'`;
  await assertRefused(world.client.command('several', both), /'edges' names a file beside/);
});

test('columns get the names of a mapping, objects are vertices where that is said', async () => {
  const mapping = '{"emp_no":"id","nm":"name"}';
  const common = {rows: 'vertex', vertexType: 'P', mapping, typeIdProperty: 'id'};
  await world.send('mapped', 'emp_no,nm,left\n1,Ada,x\n', {
    ...common,
    propertiesInclude: 'emp_no,nm',
  });
  await world.send('mapped', '[{"emp_no":2,"nm":"Bea"}]', {...common, new: 'false'});
  await world.send('mapped', '<l><e from="1" to="2" w="3"/></l>', {
    new: 'false',
    rows: 'edge',
    edgeType: 'E',
    vertexType: 'P',
    typeIdProperty: 'id',
  });
  const found = await world.rows('mapped', 'SELECT *, out("E").name AS o FROM P ORDER BY id');
  assert.deepEqual(
    found.map(({id, name, left, o}) => ({id, name, left, o})),
    [
      {id: 1, name: 'Ada', left: undefined, o: ['Bea']},
      {id: 2, name: 'Bea', left: undefined, o: []},
    ],
  );
});

test('what the schema declares as text or decimal keeps what is written', async () => {
  await world.client.createDatabase('declared');
  for (const text of [
    'CREATE DOCUMENT TYPE R',
    'CREATE PROPERTY R.version STRING',
    'CREATE PROPERTY R.price DECIMAL',
    'CREATE PROPERTY R.day DATE',
    'CREATE PROPERTY R.at DATETIME',
    'CREATE PROPERTY R.ok BOOLEAN',
  ]) {
    await world.client.command('declared', text);
  }
  const rows =
    'version,price,day,at,ok,free\n' +
    '1.10,12345678901234567890.10,2024-02-29,2024-02-29 12:13:14.5,t,1.10\n';
  await world.send('declared', rows, {new: 'false', documentType: 'R'});
  const [row] = await world.rows(
    'declared',
    'SELECT version, price.asString() AS price, day, ok, free FROM R',
  );
  assert.deepEqual(row, {
    version: '1.10',
    price: '12345678901234567890.10',
    day: '2024-02-29',
    ok: true,
    free: 1.1,
  });
});

test('word vectors become records that a search finds', async () => {
  const glove = 'king 1.0 0.9 0.1\nqueen 0.9 1.0 0.1\nNew York 0.1 0.0 1.0\n';
  for (const [name, content, options] of [
    ['glove', glove, {}],
    ['word2vec', `3 3\n${glove}`, {rows: 'vertex', vertexType: 'Document'}],
  ] as const) {
    const probed = await world.send(name, content, {...options, probeOnly: 'true'});
    assert.deepEqual([probed['format'], probed['entries']], ['vectors', 3], name);
    const made = await world.send(name, content, {...options, m: '16', distanceFunction: 'COSINE'});
    assert.equal(Number(made['documents']) + Number(made['vertices']), 3);
    const text =
      "SELECT name FROM (SELECT expand(vector.neighbors('Document[vector]', [1.0, 0.95, 0.1], 2)))";
    const words = (await world.rows(name, text)).map(({name: word}) => word);
    assert.deepEqual(new Set(words), new Set(['king', 'queen']));
    const [city] = await world.rows(name, "SELECT vector FROM Document WHERE name = 'New York'");
    assert.deepEqual(city?.['vector'], [0.1, 0, 1]);
  }
  await assertRefused(
    world.send('short', 'king 1.0 0.9 0.1\nqueen 0.9 1.0\n'),
    /record 2 .*numbers/,
  );
  await assertRefused(world.send('none', `2 2\na 1 b\n`), /record 2 .*number of its vector/);
});

test('an export of ArcadeDB comes in with its schema and the types of its values', async () => {
  const lines = readFileSync(join(examples, 'arcadedb/music.jsonl'), 'utf8');
  const made = await world.send('music', lines);
  assert.deepEqual(
    [made['documents'], made['vertices'], made['edges'], made['skipped']],
    [1, 6, 4, 0],
  );
  const [album] = await world.rows(
    'music',
    'SELECT released, added, price, vec, m, emb, big FROM Album WHERE id = 12',
  );
  assert.deepEqual(album, {
    released: '1959-08-17',
    added: '2024-02-29 12:13:14',
    price: 9.75,
    vec: [0.5, 1],
    m: {since: '2020-01-01 00:00:00'},
    emb: {'@type': 'Note', '@cat': 'd', text: 'inner'},
    big: 9007199254740993n,
  });
  const found = await world.rows('music', 'SELECT about.name AS a, others.name AS o FROM Note');
  assert.deepEqual(found, [{a: 'Nina Simone', o: ['Nina Simone', 'Bill Evans']}]);
  const twice = world.client.command('music', 'INSERT INTO Artist SET id = 1');
  await assertRefused(twice, /Artist\[id\]|duplicate/i);
  const view = await world.rows('music', 'SELECT name FROM Names ORDER BY name');
  assert.deepEqual(view, [{name: 'Bill Evans'}, {name: 'Nina Simone'}]);
});

test('an option that the format of the file does not know is refused', async () => {
  const objects = '{"a":1}\n{"a":2}\n';
  await assertRefused(world.send('stray', objects, {delimiter: ';'}), /'delimiter' is for csv/);
  const vectors = {vectorProperty: 'v'};
  await assertRefused(
    world.send('stray', 'a,b\n1,2\n', vectors),
    /is for vectors and the file is csv/,
  );
  await assertRefused(world.send('stray', 'a,b\n1,2\n', {wal: 'false'}), /'wal' is no option/);
  await world.assertNothingLeft('stray');
});

test('nodes of Neo4j keep all of their labels, through an export as well', async () => {
  const lines = readFileSync(join(examples, 'neo4j/movies.jsonl'), 'utf8');
  const made = await world.send('labels', lines);
  assert.deepEqual([made['vertices'], made['edges']], [5, 4]);
  await world.send('labels-again', await world.exported('labels'));
  for (const database of ['labels', 'labels-again']) {
    for (const label of ['Director', 'Person']) {
      const text = `MATCH (d:${label}) WHERE d.born = 1965 RETURN d.name, labels(d)`;
      assert.deepEqual(await world.rows(database, text, 'cypher'), [
        {'d.name': 'Lana Wachowski', 'labels(d)': ['Director', 'Person']},
      ]);
    }
  }
});

test('an export of OrientDB comes in with its classes, links and indexes', async () => {
  const made = await world.send('travel', readFileSync(join(examples, 'orientdb/travel.json')));
  assert.deepEqual([made['documents'], made['vertices'], made['edges']], [1, 4, 3]);
  const found = await world.rows(
    'travel',
    'MATCH (p:Person)-[v:Visited]->(c:City)-[:Near]->(n:City) RETURN p.budget, c.name, n.name',
    'cypher',
  );
  assert.deepEqual(found, [{'p.budget': 1250.5, 'c.name': 'Rome', 'n.name': 'Ostia'}]);
  assert.deepEqual(await world.rows('travel', 'SELECT city.name AS c FROM Review'), [{c: 'Rome'}]);
  assert.deepEqual(await world.rows('travel', 'SELECT count(*) AS n FROM V'), [{n: 4}]);
  const twice = world.client.command('travel', 'INSERT INTO Person SET id = 1');
  await assertRefused(twice, /Person\[id\]|duplicate/i);
});
