/** What a person reads while a statement takes long. */
import assert from 'node:assert/strict';
import {PassThrough} from 'node:stream';
import {test} from 'node:test';
import {WaitingLine} from './waiting-line.ts';

test('after two seconds it is said how long, how far, and which key ends it', async () => {
  const output = Object.assign(new PassThrough(), {isTTY: true, columns: 100});
  let isStopping = false;
  let shown = '';
  const begunAt = performance.now();
  const line = new WaitingLine(output, () => isStopping);
  line.begin(() =>
    Promise.resolve([
      {operation: 'build index', stepName: 'Artist[name]', percentage: 40, elapsedMs: 900},
      {operation: 'check', stepName: 'of yesterday', percentage: 7, elapsedMs: 86_400_000},
    ]),
  );
  for await (const chunk of output.iterator({destroyOnReturn: false})) {
    shown += String(chunk);
    assert.ok(performance.now() - begunAt >= 2_000);
    if (shown.includes('stopping')) break;
    isStopping = shown.includes('Artist[name]');
  }
  line.end();
  assert.match(shown, /^\rrunning for \d+ s; Ctrl-C stops it/);
  assert.match(shown, /running for \d+ s, build index: Artist\[name\] 40 %; Ctrl-C stops it/);
  assert.match(shown, /running for \d+ s, build .*; stopping; Ctrl-C again stops waiting/);
  assert.ok(!shown.includes('yesterday'));
  assert.match(String(output.read()), /^\r +\r$/);
});
