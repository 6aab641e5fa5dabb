/** Statements over a real engine: own writes, isolation, conflicts, schema changes, rights. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import type {Value} from '#server/model/value.ts';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
before(async () => {
  world = await ServiceWorld.open();
});
after(() => world.close());

const people = [
  'CREATE VERTEX TYPE Person',
  'CREATE PROPERTY Person.name STRING',
  'CREATE INDEX ON Person (name) UNIQUE',
  "INSERT INTO Person SET name = 'ann', age = 30",
  "INSERT INTO Person SET name = 'bob', age = 41",
];

const refusedWith = (code: string) => (error: unknown) =>
  error instanceof Refusal && error.code === code;

const ages = (database: TestDatabase, more = {}): Promise<unknown> =>
  database
    .run('SELECT age FROM Person ORDER BY age', more)
    .then(rows => rows.map(row => row['age']));

test('a transaction sees its own writes, others see them after its commit', async () => {
  const database = await world.database(people);
  const transactionId = await world.service.begin(root, database.name);
  await database.run("UPDATE Person SET age = 31 WHERE name = 'ann'", {transactionId});
  assert.deepEqual(await ages(database, {transactionId}), [31, 41]);
  assert.deepEqual(await ages(database), [30, 41]);
  await world.service.commit(root, database.name, transactionId, undefined);
  assert.deepEqual(await ages(database), [31, 41]);
});

test('READ_COMMITTED rereads, REPEATABLE_READ keeps its snapshot', async () => {
  const database = await world.database(people);
  const rereads = await world.service.begin(root, database.name);
  const keeps = await world.service.begin(root, database.name, {isolation: 'REPEATABLE_READ'});
  for (const transactionId of [rereads, keeps]) {
    assert.deepEqual(await ages(database, {transactionId}), [30, 41]);
  }
  await database.run("UPDATE Person SET age = 99 WHERE name = 'ann'");
  assert.deepEqual(await ages(database, {transactionId: rereads}), [41, 99]);
  assert.deepEqual(await ages(database, {transactionId: keeps}), [30, 41]);
});

test('of two transactions that change one record, the second commit is refused', async () => {
  const database = await world.database(people);
  const [first, second] = await Promise.all([
    world.service.begin(root, database.name),
    world.service.begin(root, database.name),
  ]);
  await database.run('UPDATE Person SET age = 1', {transactionId: first});
  await database.run('UPDATE Person SET age = 2', {transactionId: second});
  await world.service.commit(root, database.name, first, undefined);
  await assert.rejects(
    world.service.commit(root, database.name, second, undefined),
    refusedWith('commit.conflict'),
  );
  assert.deepEqual(await ages(database), [1, 1]);
});

test('single statements that collide run again until each has counted', async () => {
  const database = await world.database([
    'CREATE DOCUMENT TYPE Counter',
    'INSERT INTO Counter SET n = 0',
  ]);
  const clients = 20;
  await Promise.all(
    Array.from({length: clients}, () =>
      database.run('UPDATE Counter SET n = n + 1', {retries: 1_000}),
    ),
  );
  assert.deepEqual(await database.run('SELECT n FROM Counter'), [{n: clients}]);
});

test('a failed statement ends its transaction and stores nothing', async () => {
  const database = await world.database(people);
  const transactionId = await world.service.begin(root, database.name);
  await database.run("INSERT INTO Person SET name = 'cid'", {transactionId});
  await assert.rejects(
    database.run("INSERT INTO Person SET name = 'ann'", {transactionId}),
    refusedWith('commit.duplicate-key'),
  );
  await assert.rejects(
    database.run('SELECT FROM Person', {transactionId}),
    refusedWith('transaction.failed'),
  );
  const [row] = await database.run('SELECT count(*) AS c FROM Person');
  assert.equal(row?.['c'], 2);
});

test('an index over existing records finds them, and refuses duplicates among them', async () => {
  const database = await world.database([
    'CREATE DOCUMENT TYPE T',
    'CREATE PROPERTY T.a INTEGER',
    'CREATE PROPERTY T.b INTEGER',
  ]);
  for (let i = 0; i < 30; i += 1) {
    await database.run('INSERT INTO T SET a = ' + String(i) + ', b = ' + String(i % 3));
  }
  const [made] = await database.run('CREATE INDEX ON T (a) UNIQUE');
  assert.equal(made?.['totalIndexed'], 30);
  assert.deepEqual(await database.run('SELECT b FROM T WHERE a = 7'), [{b: 1}]);
  await assert.rejects(
    database.run('CREATE INDEX ON T (b) UNIQUE'),
    refusedWith('commit.duplicate-key'),
  );
  await database.run('CREATE INDEX ON T (b) NOTUNIQUE');
  assert.equal((await database.run('SELECT FROM T WHERE b = 2')).length, 10);
});

test('a dropped edge type leaves no edge behind', async () => {
  const database = await world.database([
    ...people,
    'CREATE EDGE TYPE Knows',
    "CREATE EDGE Knows FROM (SELECT FROM Person WHERE name = 'ann') " +
      "TO (SELECT FROM Person WHERE name = 'bob')",
  ]);
  await assert.rejects(database.run('DROP TYPE Knows'), refusedWith('query.execution'));
  await database.run('DROP TYPE Knows UNSAFE');
  await database.run("DELETE VERTEX FROM Person WHERE name = 'ann'");
  assert.deepEqual(await ages(database), [41]);
});

test('a read-only route refuses a write before anything runs', async () => {
  const database = await world.database(people);
  await assert.rejects(
    database.run('DELETE FROM Person', {readOnly: true}),
    refusedWith('query.not-idempotent'),
  );
  assert.deepEqual(await ages(database), [30, 41]);
});

test('a user without a grant on the database gets nothing of it', async () => {
  const database = await world.database(people);
  const stranger = {name: 'eve', root: false, grants: new Map<string, string[]>()};
  await assert.rejects(
    database.run('SELECT FROM Person', {}, stranger),
    refusedWith('security.denied'),
  );
});

test('a user of the readonly group reads and cannot write', async () => {
  const database = await world.database(people);
  const reader = {name: 'rita', root: false, grants: new Map([[database.name, ['readonly']]])};
  assert.equal((await database.run('SELECT FROM Person', {}, reader)).length, 2);
  for (const text of [
    "INSERT INTO Person SET name = 'x'",
    'DELETE FROM Person',
    'DROP TYPE Person',
  ]) {
    await assert.rejects(database.run(text, {}, reader), refusedWith('security.denied'));
  }
});

test('an id that came as text finds its record wherever ids are looked up', async () => {
  const database = await world.database([...people, 'CREATE EDGE TYPE Knows']);
  const [ann, bob] = await database.run('SELECT @rid AS id FROM Person ORDER BY age');
  const parameters = new Map([
    ['a', String(ann?.['id'])],
    ['b', String(bob?.['id'])],
  ]);
  await database.run('CREATE EDGE Knows FROM :a TO :b', {parameters});
  const statements = [
    'SELECT name FROM Person WHERE @rid = :b',
    'SELECT name FROM Person WHERE @rid IN [:b]',
    'SELECT name FROM :b',
    'SELECT name FROM [:b]',
    'SELECT @in.name AS name FROM Knows WHERE @out = :a',
    'MATCH {type: Person, where: (@rid = :a)}.out(){as: other} RETURN other.name AS name',
  ];
  for (const text of statements) {
    assert.deepEqual(await database.run(text, {parameters}), [{name: 'bob'}], text);
  }
  assert.deepEqual(await database.run('UPDATE :b SET age = 1', {parameters}), [{count: 1}]);
  assert.deepEqual(await database.run('DELETE FROM :b', {parameters}), [{count: 1}]);
  assert.deepEqual(await ages(database), [30]);
});

test('a target given as a parameter is a type, an id or several', async () => {
  const database = await world.database(people);
  const target = (value: Value): {parameters: Map<string, Value>} => ({
    parameters: new Map([['target', value]]),
  });
  const names = (value: Value): Promise<unknown> =>
    database
      .run('SELECT name FROM :target ORDER BY name', target(value))
      .then(rows => rows.map(row => row['name']));
  assert.deepEqual(await names('Person'), ['ann', 'bob']);
  await assert.rejects(names('Persn'), refusedWith('schema.unknown-type'));
  const [bob] = await database.run("SELECT @rid AS id FROM Person WHERE name = 'bob'");
  assert.deepEqual(await names(String(bob?.['id'])), ['bob']);
  assert.deepEqual(await names([String(bob?.['id'])]), ['bob']);
  const changed = await database.run('UPDATE :target SET age = 1', target('Person'));
  assert.deepEqual(changed, [{count: 2}]);
});

test('SET to a query of one column takes its values', async () => {
  const database = await world.database(people);
  const names = '(SELECT name FROM Person ORDER BY name)';
  const read = (): Promise<unknown> => database.run('SELECT friends FROM Person LIMIT 1');
  await database.run(`UPDATE Person SET friends = ${names}`);
  assert.deepEqual(await read(), [{friends: ['ann', 'bob']}]);
  await database.run('UPDATE Person SET friends = (SELECT name, age FROM Person WHERE age = 30)');
  assert.deepEqual(await read(), [{friends: [{name: 'ann', age: 30}]}]);
});

test('an index finds what the comparison without it finds, texts for numbers too', async () => {
  const properties = ['n INTEGER', 'd DOUBLE', 's STRING', 'b BOOLEAN'];
  const database = await world.database([
    'CREATE DOCUMENT TYPE T',
    ...properties.map(property => `CREATE PROPERTY T.${property}`),
    "INSERT INTO T SET n = 1, d = 1.5, s = '7', b = true",
    "INSERT INTO T SET n = 20, d = 20.0, s = 'x', b = false",
  ]);
  const conditions = [
    ["n = '1'", 1],
    ["n > '1'", 1],
    ["n IN ['1', 20]", 2],
    ["n = 'x'", 0],
    ["n BETWEEN '1' AND '20'", 2],
    ["d = '1.5'", 1],
    ["d < ' 20 '", 1],
    ['s = 7', 1],
    ["b = 'true'", 1],
    ["b = 'yes'", 0],
  ] as const;
  const counts = async (): Promise<unknown> => {
    const found: unknown[] = [];
    for (const [condition] of conditions) {
      const [row] = await database.run(`SELECT count(*) AS c FROM T WHERE ${condition}`);
      found.push([condition, row?.['c']]);
    }
    return found;
  };
  assert.deepEqual(await counts(), conditions);
  for (const name of ['n', 'd', 's', 'b'])
    await database.run(`CREATE INDEX ON T (${name}) NOTUNIQUE`);
  assert.deepEqual(await counts(), conditions);
});

test('+= begins with what is added, and adds nothing for null', async () => {
  const database = await world.database(['CREATE DOCUMENT TYPE T', 'INSERT INTO T SET z = 1']);
  await database.run("UPDATE T SET a += 5, b += 'x', c += [1], z += null");
  assert.deepEqual(await database.run('SELECT a, b, c, z FROM T'), [{a: 5, b: 'x', c: [1], z: 1}]);
});

test('CREATE EDGE says itself how often it runs again', async () => {
  const database = await world.database([...people, 'CREATE EDGE TYPE Knows']);
  const edge =
    "CREATE EDGE Knows FROM (SELECT FROM Person WHERE name = 'ann') " +
    "TO (SELECT FROM Person WHERE name = 'bob') SET since = 2001";
  const [made] = await database.run(`${edge} RETRY 3 WAIT 1`);
  assert.equal(made?.['since'], 2001);
  await assert.rejects(database.run(`${edge} WAIT 1`), refusedWith('query.semantic'));
  await assert.rejects(database.run(`${edge} RETRY -1`), refusedWith('query.semantic'));
});

test('MATCH counts each of several edges between two nodes, where both are known too', async () => {
  const database = await world.database([...people, 'CREATE EDGE TYPE Knows']);
  const edge =
    "CREATE EDGE Knows FROM (SELECT FROM Person WHERE name = 'ann') " +
    "TO (SELECT FROM Person WHERE name = 'bob')";
  for (const text of [edge, edge]) await database.run(text);
  const hop = "{type: Person, as: a}.out('Knows'){as: b}";
  const count = async (patterns: string): Promise<unknown> => {
    const [row] = await database.run(`MATCH ${patterns} RETURN count(*) AS n`);
    return row?.['n'];
  };
  assert.equal(await count(hop), 2);
  assert.equal(await count(`${hop}, ${hop}`), 4);
  assert.equal(await count(`{type: Person, as: a}, NOT ${hop}`), 1);
});

test('MOVE VERTEX gives another type, and what else the vertex needs there', async () => {
  const database = await world.database([
    ...people,
    'CREATE EDGE TYPE Knows',
    'CREATE VERTEX TYPE Robot',
    'CREATE PROPERTY Robot.maker STRING (mandatory true)',
    'CREATE INDEX ON Robot (maker) NOTUNIQUE',
    "CREATE EDGE Knows FROM (SELECT FROM Person WHERE name = 'ann') " +
      "TO (SELECT FROM Person WHERE name = 'bob')",
  ]);
  const bob = "(SELECT FROM Person WHERE name = 'bob')";
  await assert.rejects(
    database.run(`MOVE VERTEX ${bob} TO TYPE:Robot`),
    refusedWith('value.validation'),
  );
  const [moved] = await database.run(
    `MOVE VERTEX ${bob} TO TYPE:Robot SET maker = 'acme', age += 1`,
  );
  assert.deepEqual(moved, {...moved, '@type': 'Robot', name: 'bob', maker: 'acme', age: 42});
  assert.deepEqual(await database.run('SELECT name FROM Person'), [{name: 'ann'}]);
  assert.deepEqual(await database.run("SELECT name FROM Robot WHERE maker = 'acme'"), [
    {name: 'bob'},
  ]);
  assert.deepEqual(await database.run("SELECT in('Knows').name AS friends FROM Robot"), [
    {friends: ['ann']},
  ]);
  const [merged] = await database.run(`MOVE VERTEX ${bob} TO TYPE:Robot MERGE {"age": 1}`);
  assert.equal(merged, undefined);
  await assert.rejects(
    database.run('MOVE VERTEX (SELECT FROM Robot) TO TYPE:Knows'),
    refusedWith('query.semantic'),
  );
  await assert.rejects(
    database.run('MOVE VERTEX (SELECT FROM Knows) TO TYPE:Robot'),
    refusedWith('query.execution'),
  );
});

test('FIND REFERENCES names who holds an id, and where; TRAVERSE * goes there', async () => {
  const database = await world.database([...people, 'CREATE EDGE TYPE Knows']);
  const [ann, bob] = (await database.run('SELECT @rid AS id FROM Person ORDER BY age')).map(row =>
    String(row['id']),
  );
  const [edge] = await database.run(`CREATE EDGE Knows FROM ${ann} TO ${bob}`);
  await database.run('CREATE DOCUMENT TYPE Note');
  const [note] = await database.run(
    `INSERT INTO Note SET of = ${ann}, more = [${ann}, ${ann}, {'who': ${bob}}], other = 7`,
  );
  const byNote = {referredBy: note?.['@rid']};
  const toAnn = {rid: ann, ...byNote, fields: ['of.', 'more.<elem>.']};
  const byEdge = {rid: ann, referredBy: edge?.['@rid'], fields: ['@out.']};
  const toBob = {rid: bob, ...byNote, fields: ['more.<elem>.<map:who>.']};
  assert.deepEqual(await database.run(`FIND REFERENCES ${ann} [Note]`), [toAnn]);
  assert.deepEqual(await database.run(`FIND REFERENCES ${ann}`), [byEdge, toAnn]);
  const [found, ofNote] = await Promise.all([
    database.run('FIND REFERENCES (SELECT FROM Person) [Note, Note]'),
    database.run('SELECT @rid AS id FROM (TRAVERSE * FROM Note)'),
  ]);
  assert.deepEqual(found, [toAnn, toBob]);
  assert.deepEqual(
    ofNote.map(row => row['id']),
    [note?.['@rid'], ann, edge?.['@rid'], bob],
  );
  assert.deepEqual(await database.run('FIND REFERENCES #99:0'), []);
  await assert.rejects(
    database.run(`FIND REFERENCES ${ann} [Nope]`),
    refusedWith('schema.unknown-type'),
  );
});

test('a duration of SQL is a number of seconds, unless months have no such number', async () => {
  const database = await world.database([]);
  await database.run("CREATE (:Span {long: duration('P1M'), short: duration('PT90S')})", {
    language: 'cypher',
  });
  const both = 'long, short FROM Span';
  assert.deepEqual(await database.run(`SELECT ${both}`), [{long: 'P1M', short: 90}]);
  assert.deepEqual(await database.run("SELECT duration(1500, 'millisecond') AS d"), [{d: 1.5}]);
  assert.deepEqual(await database.run("SELECT duration(3, 'hour') + '' AS d"), [{d: 'PT3H'}]);
  assert.deepEqual(
    await database.run('MATCH (s:Span) RETURN s.short AS short', {language: 'cypher'}),
    [{short: 'PT1M30S'}],
  );
});

test('ORDER BY takes its direction from a parameter', async () => {
  const database = await world.database([...people, 'INSERT INTO Person SET age = 20']);
  const sorted = async (direction: string): Promise<unknown[]> => {
    const parameters = new Map([['d', direction]]);
    const rows = await database.run('SELECT name, age FROM Person ORDER BY name :d, age', {
      parameters,
    });
    return rows.map(row => row['name']);
  };
  assert.deepEqual(await sorted('DESC'), ['bob', 'ann', null]);
  assert.deepEqual(await sorted('asc'), [null, 'ann', 'bob']);
});

test('what a record was is a row of its id, type and properties', async () => {
  const database = await world.database(people);
  const [row] = await database.run("UPDATE Person SET age = 1 RETURN BEFORE WHERE name = 'ann'");
  assert.deepEqual(Object.keys(row ?? {}).slice(0, 3), ['@rid', '@type', 'name']);
  assert.notEqual(row?.['age'], 1);
});

test('ALTER DATABASE takes effect at once, in this database alone', async () => {
  const [changed, other] = [await world.database(people), await world.database(people)];
  const day = "SELECT date('2024-03-01', 'yyyy-MM-dd').asDate() AS d";
  const [row] = await changed.run("ALTER DATABASE `svc.dateFormat` 'dd/MM/yyyy'");
  assert.deepEqual(row, {
    operation: 'alter database',
    attribute: 'svc.dateFormat',
    oldValue: 'yyyy-MM-dd',
    newValue: 'dd/MM/yyyy',
  });
  assert.deepEqual(await changed.run(day), [{d: '01/03/2024'}]);
  assert.deepEqual(await other.run(day), [{d: '2024-03-01'}]);
  const [facts] = await changed.run('SELECT dateFormat FROM schema:database');
  assert.equal(facts?.['dateFormat'], 'dd/MM/yyyy');

  await changed.run('ALTER DATABASE `svc.dateFormat` null');
  assert.deepEqual(await changed.run(day), [{d: '2024-03-01'}]);
});

test('a database says how often its statements run again, and who may not say so', async () => {
  const database = await world.database(people);
  await database.run('ALTER DATABASE `svc.txRetries` 1000');
  await Promise.all(
    Array.from({length: 20}, () => database.run("UPDATE Person SET age += 1 WHERE name = 'ann'")),
  );
  assert.deepEqual(await ages(database), [41, 50]);
  const reader = {name: 'rita', root: false, grants: new Map([[database.name, ['readonly']]])};
  await assert.rejects(
    database.run('ALTER DATABASE `svc.txRetries` 9', {}, reader),
    refusedWith('security.denied'),
  );
});

test('a script runs as one transaction and answers its last statement or RETURN', async () => {
  const database = await world.database(people);
  const script = {language: 'sqlscript'};
  assert.deepEqual(
    await database.run('LET x = 5; IF ($x > 2) { RETURN $x * 2; } RETURN 0', script),
    [{value: 10}],
  );
  await assert.rejects(
    database.run(
      "INSERT INTO Person SET name = 'zoe'; INSERT INTO Person SET name = 'ann'",
      script,
    ),
    refusedWith('commit.duplicate-key'),
  );
  assert.deepEqual(await ages(database), [30, 41]);
});

test('what is not there yet says so by name', async () => {
  const database = await world.database([]);
  await assert.rejects(
    database.run('g.V()', {language: 'gremlin'}),
    (error: unknown) => refusedWith('not-available')(error) && /gremlin/.test(String(error)),
  );
});

test('a short answer gives back what it used before it is read, a long one then', async () => {
  const database = await world.database(['CREATE DOCUMENT TYPE Row']);
  await database.run('INSERT INTO Row SET n = 1');
  const running = async (text: string): Promise<readonly [number, number]> => {
    const cursor = await world.service.run(root, {...database.request(text), format: 'ndjson'});
    const before = world.service.load.queriesRunning;
    while ((await cursor.next()) !== undefined);
    return [before, world.service.load.queriesRunning];
  };
  assert.deepEqual(await running('SELECT FROM Row WHERE n = 2'), [0, 0]);
  assert.deepEqual(await running('SELECT FROM Row'), [1, 0]);
});

test('a statement that writes runs to its end, however few of its rows are answered', async () => {
  const database = await world.database(['CREATE DOCUMENT TYPE D']);
  const values = Array.from({length: 3_000}, (_, at) => `(${at})`).join(',');
  await database.run(`INSERT INTO D (n) VALUES ${values}`);
  const request = {...database.request('INSERT INTO D FROM SELECT n FROM D'), limit: 10};
  const cursor = await database.service.run(root, request);
  while ((await cursor.next()) !== undefined);
  assert.deepEqual([cursor.summary.returned, cursor.summary.truncated], [10, true]);
  const [row] = await database.run('SELECT count(*) AS n FROM D');
  assert.deepEqual(row, {n: 6_000});
});
