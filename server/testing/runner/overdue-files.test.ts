/** A file that spins is ended with what it started, and nothing else is. */
import assert from 'node:assert/strict';
import {type ChildProcess, spawn} from 'node:child_process';
import {once} from 'node:events';
import {existsSync} from 'node:fs';
import {test} from 'node:test';
import {eventually} from '../time/eventually.ts';
import {OverdueFiles} from './overdue-files.ts';
import {childWith} from './processes.ts';

/** Deaf to polite signals, as a test file is that never lets go of its thread. */
const spins = `
  const {spawn} = require('node:child_process');
  process.on('SIGTERM', () => {});
  if (process.argv[2] === undefined) console.log('0');
  else console.log(spawn(process.execPath, ['-e', process.argv[2]], {stdio: 'ignore'}).pid);
  for (;;);`;

const skip = process.platform !== 'linux' && 'only where /proc tells of children';

async function started(file: string, below?: string): Promise<{child: ChildProcess; pid: number}> {
  const words = ['-e', spins, file, ...(below === undefined ? [] : [below])];
  const child = spawn(process.execPath, words, {stdio: ['ignore', 'pipe', 'inherit']});
  const [text] = (await once(child.stdout, 'data')) as [Buffer];
  return {child, pid: Number(text.toString())};
}

test('a file that hears no signal is ended with its children, others are not', {skip}, async () => {
  const late = await started('/late.test.ts', 'for (;;);');
  const done = await started('/done.test.ts');
  try {
    assert.equal(childWith('/late.test.ts'), late.child.pid);
    const said: string[] = [];
    const files = new OverdueFiles({say: line => said.push(line), graceMs: 50});
    files.began('/late.test.ts', 50);
    files.began('/done.test.ts', 50);
    files.ended('/done.test.ts');
    const [, signal] = (await once(late.child, 'exit')) as [unknown, string];
    assert.equal(signal, 'SIGKILL');
    await eventually('its child is gone', () => !isAlive(late.pid));
    assert.equal(done.child.signalCode, null);
    assert.deepEqual(said, ['late /late.test.ts is not done within 0.05 s and is ended']);
  } finally {
    for (const {child} of [late, done]) child.kill('SIGKILL');
  }
});

/** A zombie counts as gone: whoever takes over orphans has yet to look at it. */
function isAlive(pid: number): boolean {
  return existsSync(`/proc/${pid}/exe`);
}
