/** What the system counts of a thread that waits for a processor, in its own format. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {processorWaitMs} from './processor-wait.ts';

test('the wait is the second figure, in nanoseconds', () => {
  assert.equal(
    processorWaitMs(() => '981000000 4500000 71\n'),
    4.5,
  );
});

test('a system that does not count it has none', () => {
  const missing = (): never => {
    throw new Error('ENOENT');
  };
  assert.equal(processorWaitMs(missing), 0);
});

test('it never becomes less', () => {
  const before = processorWaitMs();
  assert.ok(before >= 0 && processorWaitMs() >= before);
});
