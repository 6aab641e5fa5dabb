/**
 * H7: whichever way leads to a function in JavaScript, no turn of the network thread computes for
 * long. Measured in time of the processor, which no other process of the machine takes part in.
 */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

/** The bound of a call is 20 ms; what compiles and prepares it comes on top. */
const turnMillisMax = 60;
let world: ServiceWorld;
let database: TestDatabase;
before(async () => {
  world = await ServiceWorld.open();
  database = await world.database([
    'CREATE DOCUMENT TYPE T',
    'CREATE DOCUMENT TYPE Watched',
    'INSERT INTO T SET n = 1',
    'DEFINE FUNCTION bad.test "return new RegExp(pattern).test(text)" ' +
      'PARAMETERS [pattern, text] LANGUAGE js',
    'CREATE TRIGGER slow BEFORE CREATE ON TYPE Watched EXECUTE JAVASCRIPT ' +
      `'return new RegExp("^(a+)+$").test("${'a'.repeat(50)}!")'`,
  ]);
});
after(() => world.close());

const parameters = new Map([
  ['p', '^(a+)+$'],
  ['t', `${'a'.repeat(50)}!`],
]);

const ways: Readonly<Record<string, readonly [statement: string, language?: string]>> = {
  'a read': ['SELECT bad.test(:p, :t)'],
  'a condition': ['SELECT FROM T WHERE bad.test(:p, :t)'],
  'a write': ['INSERT INTO T SET a = bad.test(:p, :t)'],
  'a change': ['UPDATE T SET a = bad.test(:p, :t)'],
  'a script': ['LET $x = SELECT bad.test(:p, :t); RETURN $x', 'sqlscript'],
  openCypher: ['RETURN bad.test($p, $t)', 'opencypher'],
  'openCypher that writes': ['CREATE (n:N {a: bad.test($p, $t)})', 'opencypher'],
  'a trigger': ['INSERT INTO Watched SET n = 1'],
};

/** The longest turn of this thread while `work` goes on, in milliseconds of the processor. */
async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let isOver = false;
  const millis = (): number => {
    const {user, system} = process.threadCpuUsage();
    return (user + system) / 1_000;
  };
  const turns = (async () => {
    for (let before = millis(); !isOver; ) {
      await new Promise(resolve => setImmediate(resolve));
      const now = millis();
      longest = Math.max(longest, now - before);
      before = now;
    }
  })();
  try {
    await work();
  } finally {
    isOver = true;
  }
  await turns;
  return longest;
}

for (const [name, [statement, language = 'sql']] of Object.entries(ways)) {
  test(`H7: ${name} leaves the thread to others`, async () => {
    // The first call compiles.
    for (const isMeasured of [false, true]) {
      const longest = await longestTurn(() =>
        assert.rejects(database.run(statement, {language, parameters}), /more than \d+ ms/),
      );
      if (isMeasured) assert.ok(longest < turnMillisMax, `${longest} ms`);
    }
  });
}
