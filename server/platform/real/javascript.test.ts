/** The sandbox: what programs see, and that every one of them ends. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {loadJavaScript} from './javascript.ts';

const engine = await loadJavaScript();

const world = {
  callMsMax: 100,
  now: 86_400_000,
  random: () => 0.25,
  isEnded: () => false,
  answer: (question: string) => question.toUpperCase(),
};

/** What a program of this body answers as JSON. */
function run(body: string, more: Partial<typeof world> = {}): unknown {
  const sandbox = engine.open({...world, ...more});
  try {
    const program = sandbox.program(
      `(input, ask) => JSON.stringify((() => { ${body} })()) ?? 'undefined'`,
    );
    return program('in');
  } finally {
    sandbox.close();
  }
}

const seen: readonly (readonly [string, string])[] = [
  ['return [Date.now(), new Date().toISOString()]', '[86400000,"1970-01-02T00:00:00.000Z"]'],
  ['return [new Date(0).getTime(), Date.UTC(1970, 0, 2), typeof Date()]', '[0,86400000,"string"]'],
  ['return new Date(0).constructor.now()', '86400000'],
  ['return new Date() instanceof Date', 'true'],
  ['return Math.random()', '0.25'],
  [
    'return [typeof require, typeof process, typeof fetch, typeof setTimeout, typeof chance]',
    '["undefined","undefined","undefined","undefined","undefined"]',
  ],
  ['return typeof import.meta', ''],
  ['return [input, ask("what")]', '["in","WHAT"]'],
];

for (const [body, expected] of seen) {
  if (expected === '')
    test(`cannot be read: ${body}`, () => assert.throws(() => run(body), /Error/));
  else test(`${body} is ${expected}`, () => assert.equal(run(body), expected));
}

test('a program ends when it is told to, and when the time of one call is used up', () => {
  assert.throws(() => run('for (;;) {}'), /more than 100 ms/);
  assert.throws(() => run('try { for (;;) {} } finally { for (;;) {} }'), /more than 100 ms/);
  assert.throws(() => run('return /(a+)+$/.test("a".repeat(40) + "!")'), /more than 100 ms/);
  assert.throws(() => run('for (;;) {}', {isEnded: () => true}), /interrupted/);
});

test('memory and stack are bounded, and what was thrown is told', () => {
  const slow = {callMsMax: 10_000};
  assert.throws(() => run('const a = []; for (;;) a.push(new Uint8Array(1e6))', slow), /memory/);
  assert.throws(() => run('const a = []; for (;;) a.push([1, a.length])', slow), /memory/);
  assert.throws(() => run('const f = () => f() + 1; return f()'), /stack overflow/);
  assert.throws(() => run('throw new RangeError("too far")'), /JavaScript: RangeError: too far/);
  assert.throws(() => run('throw {a: 1}'), /\{"a":1\} was thrown/);
  assert.throws(() => run('return ('), /SyntaxError/);
});

test('what an answer throws comes out of the call, whatever the program makes of it', () => {
  const failing = {
    answer: () => {
      throw new TypeError('no answer');
    },
  };
  assert.throws(() => run('try { ask("x") } catch { return 1 }', failing), /no answer/);
});

test('programs of one sandbox share what they leave behind, those of two do not', () => {
  const sandbox = engine.open(world);
  const program = sandbox.program('() => String(globalThis.left = (globalThis.left ?? 0) + 1)');
  assert.deepEqual([program(''), program('')], ['1', '2']);
  sandbox.close();
  assert.equal(run('return globalThis.left ?? null'), 'null');
});

test('a loop inside of one step is ended as well, and JavaScript goes on', async () => {
  const open = engine.open(world);
  assert.throws(
    () => run('const a = []; a.length = 2 ** 32 - 1; return a.join()'),
    /more than 100/,
  );
  assert.throws(() => open.program('() => "1"'), /starts anew/);
  open.close();
  const isBack = (): boolean => {
    try {
      return run('return 1') === '1';
    } catch {
      return false;
    }
  };
  while (!isBack()) await new Promise(resolve => setImmediate(resolve));
});
