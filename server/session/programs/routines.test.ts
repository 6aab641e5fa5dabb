/** Functions of a database's own: defined, called from every language, bounded, allowed, kept. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import type {RefusalCode} from '#server/base/errors.ts';
import {ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
let database: TestDatabase;

before(async () => {
  world = await ServiceWorld.open({'svc.javascript.networkCallTimeout': '1000'});
  database = await world.database(['CREATE DOCUMENT TYPE Note', 'CREATE DOCUMENT TYPE Empty']);
  for (const n of [1, 2, 3]) await database.run(`INSERT INTO Note SET n = ${n}`);
});

after(() => world.close());

const sql = (text: string, readOnly = false): Promise<unknown[]> => database.run(text, {readOnly});
const cypher = (text: string): Promise<unknown[]> => database.run(text, {language: 'cypher'});

async function refused(running: Promise<unknown>, code: RefusalCode, says: RegExp): Promise<void> {
  await assert.rejects(running, (error: Error & {readonly code?: string}) => {
    assert.equal(error.code, code, error.message);
    assert.match(error.message, says);
    return true;
  });
}

const answers: readonly (readonly [string, string, string, unknown])[] = [
  // name        definition                                                   call          answers
  ['one value', '"SELECT :a * 2 AS r" PARAMETERS [a] LANGUAGE sql', '(4)', 8],
  ['a row', '"SELECT :a AS x, 1 AS y" PARAMETERS [a] LANGUAGE sql', '(4)', {x: 4, y: 1}],
  ['rows', '"SELECT n FROM Note" LANGUAGE sql', '()', [1, 2, 3]],
  ['no row', '"SELECT FROM Empty" LANGUAGE sql', '()', null],
  ['no argument', '"SELECT ifnull(:a, 7) AS r" PARAMETERS [a] LANGUAGE sql', '()', 7],
  ['SQL unless said', '"SELECT 5"', '()', 5],
  ['openCypher', '"RETURN $a + 1 AS r" PARAMETERS [a] LANGUAGE opencypher', '(4)', 5],
  ['its first row', '"UNWIND [3, 4] AS x RETURN x" LANGUAGE cypher', '()', 3],
  ['JavaScript', '"return a.map(x => x + 1)" PARAMETERS [a] LANGUAGE js', '([1, 2])', [2, 3]],
];

for (const [at, [name, definition, call, expected]] of answers.entries()) {
  test(`a function answers ${name}, in SQL and in openCypher`, async () => {
    const [defined] = await sql(`DEFINE FUNCTION answer.f${at} ${definition}`);
    assert.deepEqual(defined, {
      operation: 'create function',
      libraryName: 'answer',
      functionName: `f${at}`,
    });
    const expectedRows = [{r: expected}];
    assert.deepEqual(await sql(`SELECT answer.f${at}${call} AS r`, true), expectedRows);
    assert.deepEqual(await sql(`SELECT \`answer.f${at}\`${call} AS r`), expectedRows);
    assert.deepEqual(await cypher(`RETURN answer.f${at}${call} AS r`), expectedRows);
  });
}

test('a script calls what it has just defined', async () => {
  const text = `DEFINE FUNCTION inside.half "SELECT :a / 2 AS r" PARAMETERS [a] LANGUAGE sql;
    LET $x = inside.half(8); RETURN $x;`;
  assert.deepEqual(await database.run(text, {language: 'sqlscript'}), [{value: 4}]);
});

test('functions call each other and themselves, up to a depth that is named', async () => {
  await sql(
    'DEFINE FUNCTION deep.fact "SELECT if(:n <= 1, 1, :n * deep.fact(:n - 1)) AS r" PARAMETERS [n]',
  );
  await sql('DEFINE FUNCTION deep.over "RETURN deep.fact($n) AS r" PARAMETERS [n] LANGUAGE cypher');
  assert.deepEqual(await sql('SELECT deep.over(5) AS r'), [{r: 120}]);
  await refused(sql('SELECT deep.fact(40) AS r'), 'limit.depth', /32 deep/);
});

test('a function that writes makes its caller a write, through any number of calls', async () => {
  await sql('DEFINE FUNCTION log.add "INSERT INTO Empty SET of = :n" PARAMETERS [n]');
  await sql(
    'DEFINE FUNCTION log.two "RETURN log.add($n).of + 1 AS r" PARAMETERS [n] LANGUAGE cypher',
  );
  await refused(sql('SELECT log.two(1) AS r', true), 'query.not-idempotent', /send it to .command/);
  assert.deepEqual(await sql('SELECT log.two(n) AS r FROM Note'), [{r: 2}, {r: 3}, {r: 4}]);
  assert.deepEqual(await sql('SELECT count(*) AS c FROM Empty'), [{c: 3}]);
  // The rows that it reads are all known before the first of its own comes.
  await sql('SELECT log.add(of) FROM Empty');
  assert.deepEqual(await sql('SELECT count(*) AS c FROM Empty'), [{c: 6}]);
  await sql('DELETE FROM Empty');
});

test('a view may call functions that read, and no others', async () => {
  await sql('DEFINE FUNCTION view.next "SELECT :n + 1" PARAMETERS [n]');
  await sql('CREATE MATERIALIZED VIEW Later AS SELECT view.next(n) AS n FROM Note');
  assert.deepEqual(await sql('SELECT n FROM Later ORDER BY n'), [{n: 2}, {n: 3}, {n: 4}]);
  const text = 'CREATE MATERIALIZED VIEW Bad AS SELECT log.add(n) AS n FROM Note';
  await refused(sql(text), 'query.not-idempotent', /functions that write/);
  await refused(sql('SELECT FROM Bad'), 'schema.unknown-type', /Bad/);
});

test('what it writes goes with the transaction around it', async () => {
  const script = 'BEGIN; SELECT log.add(9); ROLLBACK; SELECT count(*) AS c FROM Empty;';
  assert.deepEqual(await database.run(script, {language: 'sqlscript'}), [{c: 0}]);
});

const mistakes: readonly (readonly [string, RefusalCode, RegExp])[] = [
  ['SELECT answer.f99(1)', 'query.unknown-function', /did you mean 'answer.f/],
  ['SELECT answer.f0(1, 2)', 'query.semantic', /takes 1 arguments but got 2/],
  ['DEFINE FUNCTION answer.f0 "SELECT 1"', 'schema.exists', /'answer.f0' already exists/],
  ['DEFINE FUNCTION text.indexOf "SELECT 1"', 'query.execution', /function of the server/],
  ['DEFINE FUNCTION a.b "SELEC 1"', 'sql.syntax', /'a.b'.*did you mean SELECT/],
  ['DEFINE FUNCTION a.b "LET $x = 1; RETURN $x"', 'not-available', /'a.b': a script/],
  ['DEFINE FUNCTION a.b "RETRUN 1" LANGUAGE cypher', 'cypher.syntax', /did you mean RETURN/],
  ['DEFINE FUNCTION a.b "return (" LANGUAGE js', 'javascript.failed', /'a.b'.*SyntaxError/],
  ['DEFINE FUNCTION a.b "SELECT 1" LANGUAGE klingon', 'sql.syntax', /expected one of sql/],
  ['DEFINE FUNCTION a.b "SELECT 1" PARAMETERS [a, a]', 'argument', /'a' twice/],
  ['DEFINE FUNCTION a.b " "', 'sql.syntax', /the end of the text/],
  [`DEFINE FUNCTION a.b "SELECT '${'x'.repeat(70_000)}'"`, 'argument', /65536 is the most/],
  ['DELETE FUNCTION answer.f88', 'query.unknown-function', /did you mean 'answer.f/],
];

for (const [text, code, says] of mistakes) {
  test(`refused with ${code}: ${text.slice(0, 60)}`, () => refused(sql(text), code, says));
}

test('a deleted function is gone, and statements that were kept know it', async () => {
  await sql('DEFINE FUNCTION short.lived "SELECT 1"');
  assert.deepEqual(await sql('SELECT short.lived() AS r'), [{r: 1}]);
  assert.deepEqual(await sql('DELETE FUNCTION short.lived'), [
    {operation: 'delete function', libraryName: 'short', functionName: 'lived'},
  ]);
  await refused(sql('SELECT short.lived() AS r'), 'query.unknown-function', /lived/);
});

test('schema:functions lists them', async () => {
  await sql('DEFINE FUNCTION listed.one "SELECT :a" PARAMETERS [a]');
  assert.deepEqual(await sql("SELECT FROM schema:functions WHERE name = 'listed.one'"), [
    {name: 'listed.one', language: 'sql', parameters: ['a'], code: 'SELECT :a'},
  ]);
});

test('the time of the statement is that of what it calls', async () => {
  const body = 'UNWIND range(0, 3000) AS x UNWIND range(0, 3000) AS y RETURN count(x + y) AS c';
  await sql(`DEFINE FUNCTION slow.count "${body}" LANGUAGE opencypher`);
  await refused(sql('SELECT slow.count() AS r LIMIT 1 TIMEOUT 30'), 'query.timeout', /30 ms/);
  await sql('DEFINE FUNCTION slow.loop "for (;;) {}" LANGUAGE js');
  await refused(sql('SELECT slow.loop() AS r LIMIT 1 TIMEOUT 30'), 'query.timeout', /30 ms/);
  await refused(sql('SELECT slow.loop() AS r'), 'javascript.failed', /more than 1000 ms/);
});

test('a body that names what is not there is refused where it is called', async () => {
  await sql('DEFINE FUNCTION lost.type "SELECT FROM Nowhere"');
  await refused(sql('SELECT lost.type() AS r'), 'schema.unknown-type', /Nowhere/);
});
