/** The packed order against the order of values by which rows are sorted (row-order.ts). */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Double, type Value} from '#server/model/value.ts';
import {createClock} from '#server/platform/real/clock.ts';
import type {SortKey} from '#server/plan/node.ts';
import {createSeededRandom, type SeededRandom} from '#server/simulation/seeded-random.ts';
import {Column} from '#server/caches/row-group.ts';
import {TextCodes} from '#server/caches/text-codes.ts';
import {Budget} from '../budget.ts';
import {tupleOrder} from '../operators/whole/row-order.ts';
import {pause} from '../batch.ts';
import type {PackedColumn} from './block.ts';
import {PackedOrder} from './packed-order.ts';
import {valueAt} from './column-values.ts';

const numbers = [0, -0, 1, 2, 3, 7, -1, -7, 65_536, 2 ** 40, 2 ** 53 - 1, 1 - 2 ** 53];
const fractions = [0.1, -0.1, 1e-300, -1e300, 5e-324, Number.POSITIVE_INFINITY, -Infinity];
const texts = ['', 'a', 'b', 'B', 'aa', 'é', 'z', '🙂', '\uffff', '10', '9'];

/** A column of random values of one kind, as row groups keep it. */
function randomColumn(dice: SeededRandom, kind: string, rowCount: number, codes: TextCodes) {
  const column = new Column(1, codes);
  column.kind = kind === 'integer' || kind === 'double' || kind === 'text' ? kind : 'empty';
  column.numbers = new Float64Array(rowCount).fill(Number.NaN);
  column.codes = new Uint16Array(rowCount);
  for (let row = 0; row < rowCount; row++) {
    if (dice.below(5) === 0 || kind === 'empty') continue;
    if (kind === 'text') {
      const bytes = Buffer.from(dice.pick(texts));
      column.codes[row] = codes.codeOf(bytes, 0, bytes.length);
    } else {
      const ofKind = kind === 'integer' ? numbers : [...numbers, ...fractions];
      column.numbers[row] = dice.pick(ofKind);
    }
  }
  return column;
}

function keyOf(dice: SeededRandom): SortKey {
  return {
    by: {kind: 'literal', value: null},
    descending: dice.below(2) === 0,
    nulls: dice.pick(['first', 'last']),
  };
}

/** Runs to the end; how often it paused. */
function ended<T>(steps: Generator<typeof pause, T, undefined>): {result: T; pauses: number} {
  for (let pauses = 0; ; pauses++) {
    const step = steps.next();
    if (step.done === true) return {result: step.value, pauses};
  }
}

for (let seed = 1; seed <= 60; seed++) {
  test(`random columns are in the order of their values, seed ${seed}`, () => {
    const dice = createSeededRandom(seed);
    const keys = Array.from({length: 1 + dice.below(3)}, () => keyOf(dice));
    const kinds = keys.map(() => dice.pick(['number', 'number', 'text']));
    const codes = keys.map(() => new TextCodes());
    const budget = new Budget(createClock(), {});
    const order = new PackedOrder(keys, budget);
    const tuples: (readonly Value[])[] = [];
    for (let part = 0; part < 3; part++) {
      const rowCount = dice.pick([0, 1, 50, 2_000]);
      const columns: PackedColumn[] = kinds.map((kind, at) => {
        const own = kind === 'number' ? dice.pick(['integer', 'double', 'empty']) : 'text';
        return randomColumn(dice, own, rowCount, codes[at] as TextCodes);
      });
      const rows = new Uint16Array(rowCount);
      let count = 0;
      for (let row = 0; row < rowCount; row++) if (dice.below(4) > 0) rows[count++] = row;
      const first = tuples.length;
      const names = new Map([...rows.subarray(0, count)].map((row, at) => [row, first + at]));
      assert.ok(order.add(columns, {rows, count}, row => names.get(row) as number));
      for (const row of rows.subarray(0, count)) {
        tuples.push(columns.map(column => valueAt(column, row)));
      }
    }
    const compare = tupleOrder(keys);
    const expected = tuples
      .map((_, at) => at)
      .sort((left, right) => compare(tuples[left] as Value[], tuples[right] as Value[]));
    assert.deepEqual([...ended(order.sorted()).result], expected);
    assert.ok(budget.memoryBytes > 0);
    order.release();
    assert.equal(budget.memoryBytes, 0);
  });
}

test('texts and numbers in one key, or values that columns do not hold, are left to others', () => {
  const dice = createSeededRandom(1);
  const key = keyOf(dice);
  const rows = {rows: Uint16Array.of(0, 1, 2, 3, 4, 5, 6, 7), count: 8};
  const codes = new TextCodes();
  const order = new PackedOrder([key], new Budget(createClock(), {}));
  assert.ok(order.add([randomColumn(dice, 'integer', 8, codes)], rows, row => row));
  assert.equal(
    order.add([randomColumn(dice, 'text', 8, codes)], rows, row => row),
    false,
  );
  const mixed = randomColumn(dice, 'integer', 8, codes);
  mixed.kind = 'mixed';
  assert.equal(
    order.add([mixed], rows, row => row),
    false,
  );
});

test('a long sort pauses, ends when it is told to, and counts what it keeps', () => {
  const rowCount = 60_000;
  const column = randomColumn(createSeededRandom(3), 'double', rowCount, new TextCodes());
  const selection = {rows: Uint16Array.from({length: rowCount}, (_, row) => row), count: rowCount};
  const signal = {aborted: false};
  const key = keyOf(createSeededRandom(3));
  const budget = new Budget(createClock(), {memoryBytesMax: 100 << 20}, signal);
  const order = new PackedOrder([key], budget);
  for (let part = 0; part < 10; part++) assert.ok(order.add([column], selection, row => row));
  const sorting = order.sorted();
  assert.equal(sorting.next().value, pause);
  signal.aborted = true;
  assert.throws(() => ended(sorting), {code: 'query.terminated'});
  const small = new PackedOrder([key], new Budget(createClock(), {memoryBytesMax: 1 << 20}));
  assert.throws(() => small.add([column], selection, row => row), {code: 'query.memory'});
});

test('minus zero and one that is a double are equal to their like', () => {
  const values = [0, -0, 1, 1];
  const numbersOf = Float64Array.from(values);
  const order = new PackedOrder(
    [{by: {kind: 'literal', value: new Double(0)}, descending: true, nulls: 'first'}],
    new Budget(createClock(), {}),
  );
  const selection = {rows: Uint16Array.of(0, 1, 2, 3), count: 4};
  const packed: PackedColumn = {
    kind: 'double',
    numbers: numbersOf,
    codes: new Uint16Array(4),
    texts: undefined,
    hasNulls: false,
    magnitude: 1,
  };
  assert.ok(order.add([packed], selection, row => row));
  assert.deepEqual([...ended(order.sorted()).result], [2, 3, 0, 1]);
});
