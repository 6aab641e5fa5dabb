/** What a benchmark prints, and when it fails. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {type Figure, median, quantileOf, Report} from './report.ts';

const figure: Figure = {
  class: 'W2',
  point: '64 clients',
  unit: 'ops/s',
  ours: [2_000, 3_000, 1_800],
  peer: 'postgresql 15',
  theirs: [1_000, 1_000, 1_000],
  durability: 'fsync both',
  gate: {at: 'least', bound: 2},
};

/** Prints the figures and answers the lines and the verdict. */
function reported(...figures: Figure[]): {lines: string[]; holds: boolean} {
  let text = '';
  const report = new Report(piece => (text += piece));
  for (const one of figures) report.add(one);
  const holds = report.finish();
  return {lines: text.trimEnd().split('\n'), holds};
}

test('a figure is the median of its rounds, with the worst beside it', () => {
  const line = JSON.parse(reported(figure).lines[0] ?? '') as Record<string, unknown>;
  assert.equal(line['ours'], 2_000);
  assert.equal(line['theirs'], 1_000);
  assert.equal(line['ratio'], 2);
  assert.equal(line['worstRound'], 1.8);
  assert.equal(line['durability'], 'fsync both');
});

test('the last line is the gate with the least margin and whether it holds', () => {
  const far = {...figure, point: '1 client', gate: {at: 'least', bound: 0.8}} as const;
  const {lines, holds} = reported(far, figure);
  assert.equal(holds, true);
  assert.equal(
    lines.at(-1),
    'worst gate: W2 64 clients against postgresql 15 2 (bound >= 2): holds',
  );
});

test('a gate that does not hold fails the run, upper bounds too', () => {
  const memory = {
    ...figure,
    point: 'idle',
    ours: [140],
    theirs: [],
    gate: {at: 'most', bound: 130},
  } as const;
  const {lines, holds} = reported(figure, memory);
  assert.equal(holds, false);
  assert.match(lines.at(-1) ?? '', /^worst gate: W2 idle 140 \(bound <= 130\): FAILS \(1 of 2/);
});

test('a growth below nothing is within every upper bound', () => {
  const shrank = {...figure, ours: [-2], theirs: [], gate: {at: 'most', bound: 16}} as const;
  assert.equal(reported(shrank).holds, true);
});

test('none where none may be holds', () => {
  const left = {...figure, ours: [0], theirs: [], gate: {at: 'most', bound: 0}} as const;
  assert.equal(reported(left).holds, true);
  assert.equal(reported({...left, ours: [1]}).holds, false);
});

test('a quantile is one of the values', () => {
  const values = [3, 1, 2, 5, 4];
  assert.deepEqual(
    [quantileOf(values, 0), quantileOf(values, 0.5), quantileOf(values, 0.9)],
    [1, 3, 4],
  );
  assert.equal(quantileOf(values, 1), 5);
  assert.ok(Number.isNaN(quantileOf([], 0.5)));
});

test('the median of an even number of rounds is between the middle two', () => {
  assert.equal(median([4, 1, 3, 2]), 2.5);
});
