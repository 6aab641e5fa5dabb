/** The log's view against an array that keeps everything: any appends, cuts, writes, forgetting. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {LogOutline} from './log-outline.ts';

type Operation =
  | {readonly kind: 'append'; readonly rise: number; readonly bytes: number}
  | {readonly kind: 'truncate'; readonly at: number}
  | {readonly kind: 'write'}
  | {readonly kind: 'sync'; readonly behind: number}
  | {readonly kind: 'compact'; readonly at: number};

const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({kind: fc.constant('append'), rise: fc.nat(2), bytes: fc.nat(9)}),
  },
  fc.record({kind: fc.constant('truncate'), at: fc.nat(12)}),
  {weight: 3, arbitrary: fc.record({kind: fc.constant('write')})},
  {weight: 2, arbitrary: fc.record({kind: fc.constant('sync'), behind: fc.nat(2)})},
  fc.record({kind: fc.constant('compact'), at: fc.nat(12)}),
);

/** Every entry since the first, and what each write and sync did. */
class NaiveLog {
  base = 0;
  entries: {term: number; bytes: number; write: number; synced: boolean}[] = [];

  get persisted(): number {
    const volatile = this.entries.findIndex(entry => !entry.synced);
    return volatile < 0 ? this.entries.length : volatile;
  }
}

function run(operations: readonly Operation[], log: LogOutline, naive: NaiveLog): void {
  let writes = 0;
  for (const each of operations) {
    const {lastIndex} = log;
    switch (each.kind) {
      case 'append': {
        const term = log.last.term + each.rise;
        log.append(term, each.bytes);
        naive.entries.push({term, bytes: each.bytes, write: 0, synced: false});
        break;
      }
      case 'truncate': {
        const at = Math.max(log.base.index, lastIndex - each.at);
        log.truncate(at);
        naive.entries.length = at;
        break;
      }
      case 'write':
        log.writing(++writes);
        for (const entry of naive.entries) if (entry.write === 0) entry.write = writes;
        break;
      case 'sync': {
        const number = writes - each.behind;
        log.persisted(number);
        for (const entry of naive.entries) {
          if (entry.write > 0 && entry.write <= number) entry.synced = true;
        }
        break;
      }
      default: {
        const at = Math.min(log.persistedIndex, log.base.index + each.at);
        log.compact(at);
        naive.base = at;
      }
    }
  }
}

test('terms, bytes and what is durable are those of a log that forgets nothing', () => {
  fc.assert(
    fc.property(fc.array(operation, {maxLength: 60}), operations => {
      const log = new LogOutline({index: 0, term: 0});
      const naive = new NaiveLog();
      run(operations, log, naive);
      const {entries, base} = naive;
      assert.equal(log.lastIndex, entries.length);
      assert.equal(log.persistedIndex, naive.persisted);
      assert.equal(log.termAt(entries.length + 1), undefined);
      if (base > 0) assert.equal(log.termAt(base - 1), undefined);
      for (let index = Math.max(base, 1); index <= entries.length; index++) {
        assert.equal(log.termAt(index), entries[index - 1]?.term);
        const behind = entries.slice(index).reduce((sum, entry) => sum + entry.bytes, 0);
        assert.equal(log.bytesBetween(index, entries.length), behind);
      }
      for (let term = 0; term <= 8; term++) {
        const found = entries.findLastIndex(entry => entry.term <= term) + 1;
        const expected = found >= base ? found : base - 1;
        assert.equal(log.lastAtMost(entries.length + 3, term), expected, `at most ${term}`);
      }
    }),
    {numRuns: 2000},
  );
});

test('a log that begins anew behind a checkpoint forgets what was under way', () => {
  const log = new LogOutline({index: 0, term: 0});
  for (let index = 1; index <= 12; index++) log.append(1, 10);
  log.writing(1);
  log.restart({index: 9, term: 3});
  log.persisted(1);
  assert.deepEqual([log.lastIndex, log.persistedIndex], [9, 9]);
  log.append(3, 5);
  log.writing(2);
  assert.equal(log.persistedIndex, 9);
  log.persisted(2);
  assert.equal(log.persistedIndex, 10);
  assert.equal(log.bytesBetween(9, 10), 5);
});
