/** The window judges like a twin that remembers every commit for ever. Holds invariant T3. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import type {Operation, Precondition} from './commit.ts';
import {ConflictWindow} from './conflict-window.ts';

const bytes = (number: number) => Buffer.from([number]);
const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.nat(5).map(key => ({kind: 'put' as const, key: bytes(key), value: bytes(0)})),
  fc.nat(5).map(key => ({kind: 'delete' as const, key: bytes(key)})),
  fc.tuple(fc.nat(5), fc.nat(5)).map(([start, end]) => ({
    kind: 'delete-range' as const,
    start: bytes(start),
    end: bytes(end),
  })),
);
const filler: Operation = {kind: 'put', key: bytes(99), value: bytes(0)};
const commit = fc.record({
  // A large commit is kept in another way than a small one.
  operations: fc
    .tuple(fc.array(operation, {maxLength: 3}), fc.boolean())
    .map(([some, large]) => (large ? [...some, ...new Array<Operation>(200).fill(filler)] : some)),
  pins: fc.array(fc.nat(5), {maxLength: 1}),
  pruneBehind: fc.nat(4),
});

/** Whether one operation breaks one condition. */
function breaks(operation: Operation, condition: Precondition): boolean {
  if (condition.kind === 'unpinned') return false;
  if (condition.kind === 'range-untouched') {
    const [start, end] = [condition.start[0] ?? 0, condition.end[0] ?? 0];
    if (operation.kind !== 'delete-range') {
      return start <= (operation.key[0] ?? 0) && (operation.key[0] ?? 0) < end;
    }
    return (operation.start[0] ?? 0) < end && start < (operation.end[0] ?? 0);
  }
  const key = condition.key[0] ?? 0;
  if (operation.kind === 'delete-range') {
    return (operation.start[0] ?? 0) <= key && key < (operation.end[0] ?? 0);
  }
  if (operation.key[0] !== key) return false;
  return condition.kind === 'unchanged' || operation.kind === 'delete';
}

test('conditions hold exactly when no later commit broke them', () => {
  fc.assert(
    fc.property(fc.array(commit, {maxLength: 12}), fc.nat(5), fc.nat(5), (commits, key, end) => {
      const window = new ConflictWindow(0, 1 << 20);
      commits.forEach(({operations, pins, pruneBehind}, number) => {
        const present = pins.map(pin => ({kind: 'present', key: bytes(pin), since: 0}) as const);
        window.record(number + 1, {operations, preconditions: present});
        window.prune(number + 1 - pruneBehind);
      });
      for (let since = window.floor; since <= commits.length; since++) {
        const conditions: Precondition[] = [
          {kind: 'unchanged', key: bytes(key), since},
          {kind: 'present', key: bytes(key), since},
          {kind: 'unpinned', key: bytes(key), since},
          {kind: 'range-untouched', start: bytes(key), end: bytes(end), since},
        ];
        const later = commits.slice(since);
        for (const condition of conditions) {
          const broken = later.some(
            ({operations, pins}) =>
              operations.some(operation => breaks(operation, condition)) ||
              (condition.kind === 'unpinned' && pins.includes(key)),
          );
          // An empty range conflicts with nothing that lies in it.
          if (condition.kind === 'range-untouched' && key >= end) continue;
          const verdict = window.check([condition]).kind;
          if (broken) assert.equal(verdict, 'conflict', condition.kind);
          else if (!later.some(({operations}) => operations.some(isOddRange))) {
            assert.equal(verdict, 'holds', condition.kind);
          }
        }
      }
    }),
    {numRuns: 500},
  );
});

/** A range that holds nothing may count as touching its neighbours. */
function isOddRange(operation: Operation): boolean {
  return operation.kind === 'delete-range' && Buffer.compare(operation.start, operation.end) >= 0;
}

test('beyond its bytes the oldest commits are forgotten and their readers are told', () => {
  const window = new ConflictWindow(0, 1000);
  for (let index = 1; index <= 50; index++) {
    const operations = [{kind: 'put', key: bytes(index), value: bytes(0)} as const];
    window.record(index, {operations, preconditions: []});
    window.prune(0);
  }
  assert.ok(window.floor > 0);
  const old: Precondition = {kind: 'unchanged', key: bytes(1), since: 0};
  assert.equal(window.check([old]).kind, 'expired');
  assert.equal(window.check([{...old, since: 50}]).kind, 'holds');
});
