/** A file that spins is ended, and nothing else is. */
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {test} from 'node:test';
import {OverdueFiles} from './overdue-files.ts';

/** Deaf to polite signals, as a test file is that never lets go of its thread. */
const spins = "process.on('SIGTERM', () => {}); console.log('spins'); for (;;);";

test('a file that hears no signal is ended, one that was done in time is not', async t => {
  const skip = process.platform !== 'linux' && 'only where /proc tells of children';
  if (skip) return t.skip(skip);
  const children = ['/late.test.ts', '/done.test.ts'].map(file =>
    spawn(process.execPath, ['-e', spins, file], {stdio: ['ignore', 'pipe', 'inherit']}),
  );
  const [late, done] = children;
  assert.ok(late !== undefined && done !== undefined);
  try {
    await Promise.all(children.map(({stdout}) => once(stdout, 'data')));
    const files = new OverdueFiles(50, 50);
    files.began('/late.test.ts');
    files.began('/done.test.ts');
    files.ended('/done.test.ts');
    const [, signal] = await once(late, 'exit');
    assert.equal(signal, 'SIGKILL');
    assert.equal(done.signalCode, null);
  } finally {
    for (const child of children) child.kill('SIGKILL');
  }
});
