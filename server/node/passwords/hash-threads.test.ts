/** Keys are derived on threads that give way to the others, and end when they were idle. */
import assert from 'node:assert/strict';
import {pbkdf2Sync} from 'node:crypto';
import {readdirSync, readFileSync} from 'node:fs';
import {test} from 'node:test';
import {HashThreads} from './hash-threads.ts';

/** The niceness of every thread of this process. */
function nicenesses(): readonly number[] {
  return readdirSync('/proc/self/task').map(thread => {
    const text = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8');
    return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[16]);
  });
}

test('orders at the same time take a thread each, later ones the same, idle ones end', async () => {
  const idle: (() => void)[] = [];
  const threads = new HashThreads({
    after: (_, task) => {
      idle.push(task);
      return () => idle.splice(idle.indexOf(task), 1);
    },
    yield: () => Promise.resolve(),
  });
  const expected = pbkdf2Sync('secret', 'salt', 1_000, 32, 'sha256');
  const few = (): Promise<Buffer[]> =>
    Promise.all(Array.from({length: 4}, () => threads.derive('secret', 'salt', 1_000)));
  assert.deepEqual(await few(), Array(4).fill(expected));
  assert.equal(threads.size, 0, 'a few need no thread');
  const again = idle.splice(0);
  const both = [threads.derive('secret', 'salt', 1_000), threads.derive('other', 'salt', 1_000)];
  const [one, other] = await Promise.all(both);
  assert.deepEqual(one, expected);
  assert.notDeepEqual(other, expected);
  assert.deepEqual(await threads.derive('secret', 'salt', 1_000), expected);
  assert.equal(threads.size, 2);
  if (process.platform === 'linux') {
    const [own = 0] = nicenesses();
    assert.equal(nicenesses().filter(niceness => niceness === own + 10).length, 2);
  }
  for (const end of idle.splice(0)) end();
  assert.equal(threads.size, 0);
  assert.deepEqual(await threads.derive('secret', 'salt', 1_000), expected, 'it begins anew');
  assert.equal(threads.size, 1);
  for (const end of again) end();
  await threads.derive('secret', 'salt', 1_000);
  assert.equal(threads.size, 1, 'while a thread is there it hashes');
  assert.equal(idle.length, 1, 'and nothing runs on the pool');
  for (const end of idle.splice(0)) end();
  await few();
  assert.equal(threads.size, 0, 'a few need none again');
  for (const end of idle.splice(0)) end();
});
