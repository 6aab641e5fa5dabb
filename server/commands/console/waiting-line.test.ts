/** What a person reads while a statement takes long. */
import assert from 'node:assert/strict';
import {PassThrough} from 'node:stream';
import {test} from 'node:test';
import {setImmediate as nextTurn} from 'node:timers/promises';
import {WaitingLine} from './waiting-line.ts';

test('after two seconds it is said how long, how far, and which key ends it', async t => {
  t.mock.timers.enable({apis: ['setInterval']});
  let now = 0;
  const output = Object.assign(new PassThrough({encoding: 'utf8'}), {isTTY: true, columns: 100});
  let isStopping = false;
  const line = new WaitingLine(
    output,
    () => isStopping,
    () => now,
  );
  /** What is shown behind so much more time. */
  const behind = async (millis: number): Promise<string> => {
    now += millis;
    t.mock.timers.tick(millis);
    await nextTurn();
    return String(output.read() ?? '');
  };
  line.begin(() =>
    Promise.resolve([
      {operation: 'build index', stepName: 'Artist[name]', percentage: 40, elapsedMs: 900},
      {operation: 'check', stepName: 'of yesterday', percentage: 7, elapsedMs: 86_400_000},
    ]),
  );
  assert.equal(await behind(500), '');
  assert.equal(await behind(1_499), '', 'it is patient for two seconds');
  assert.equal(await behind(501), '\rrunning for 3 s; Ctrl-C stops it');
  assert.match(
    await behind(1_000),
    /^\rrunning for 4 s, build index: Artist\[name\] 40 %; Ctrl-C stops it *$/,
  );
  isStopping = true;
  const shown = await behind(1_000);
  assert.match(shown, /^\rrunning for 5 s, build index: .*; stopping; Ctrl-C again stops waiting$/);
  assert.ok(!shown.includes('yesterday'));
  line.end();
  assert.match(String(output.read()), /^\r +\r$/);
  assert.equal(await behind(5_000), '', 'nothing is said behind the end');
});
