/** Memory that is read here and there lies in large pages, where the system has some. */
import assert from 'node:assert/strict';
import {existsSync, readFileSync} from 'node:fs';
import {test} from 'node:test';
import {largePages} from './open.ts';

/** Parts of the process's memory for which large pages were asked. */
function asked(): number {
  return readFileSync('/proc/self/smaps', 'utf8').match(/^VmFlags:.* hg\b/gmu)?.length ?? 0;
}

test('the system is asked for large pages, under whole pages of the memory', {
  skip: existsSync('/sys/kernel/mm/transparent_hugepage/enabled') ? false : 'the system has none',
}, () => {
  const ask = largePages('native');
  const memory = new WebAssembly.Memory({initial: 64, maximum: 1_024, shared: true});
  const before = asked();
  ask(new Uint8Array(memory.buffer));
  assert.equal(asked(), before + 1);
  memory.grow(64);
  ask(new Uint8Array(memory.buffer));
  assert.equal(asked(), before + 1, 'what has grown is one part with what was there');
  new Uint8Array(memory.buffer).fill(1);
  ask(new Uint8Array(memory.buffer, 5, 10));
  ask(new Uint8Array(0));
  assert.equal(asked(), before + 1);
});

test('without the native store there is nothing to ask with', () => {
  largePages('fallback')(new Uint8Array(8));
});
