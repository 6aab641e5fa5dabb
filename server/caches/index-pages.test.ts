/** Where pages begin and end, who ends them, and the account that bounds what they cost. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import fc from 'fast-check';
import {indexEntry, type ViewedEntry} from '#server/layout/index-key.ts';
import {Rid} from '#server/model/value.ts';
import {entriesPerPage, IndexPages, PageBuilder} from './index-pages.ts';

const bytesOf = (number: number): Uint8Array =>
  indexEntry({id: 7, unique: false}, [part(number)], new Rid(1, 0)).key;

function part(number: number): {sorted: number; original: number; declared: 'LONG'} {
  return {sorted: number, original: number, declared: 'LONG'};
}

/** An entry whose key is the first `keyEnd` of the bytes. */
function entryOf(bytes: Uint8Array, keyEnd: number): ViewedEntry {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return {bytes, view, keyStart: 0, keyEnd, end: bytes.length};
}

/** The entries of the numbers [from, to) as a page of everything in between. */
function page(pages: IndexPages, from: number, to: number) {
  const builder = new PageBuilder();
  builder.begin(1);
  for (let number = from; number < to; number++) {
    const key = bytesOf(number);
    assert.ok(builder.add(false, entryOf(key, key.length)));
  }
  return pages.keep(builder.finish(bytesOf(from), bytesOf(to)));
}

test('a key lies in the page whose first key is not above it, and ends no other', () => {
  const pages = new IndexPages(1, 0);
  const [low, high] = [page(pages, 10, 20), page(pages, 30, 40)];
  assert.equal(pages.at(bytesOf(9)), undefined);
  assert.equal(pages.at(bytesOf(10)), low);
  assert.equal(pages.at(bytesOf(19)), low);
  assert.equal(pages.at(bytesOf(20)), undefined);
  assert.deepEqual(pages.startBehind(bytesOf(20)), bytesOf(30));
  assert.equal(pages.startBehind(bytesOf(30)), undefined);
  assert.equal(pages.changed(bytesOf(25), 1), undefined);
  assert.equal(pages.changed(bytesOf(30), 2), high);
  high.drop();
  assert.deepEqual(pages.pages, [low]);
});

test('rows are found by their keys', () => {
  const kept = page(new IndexPages(1, 0), 0, 100);
  assert.deepEqual(
    [-5, 0, 1, 50, 99, 100, 200].map(number => kept.rowOf(bytesOf(number))),
    [0, 0, 1, 50, 99, 100, 100],
  );
  assert.deepEqual(kept.key(50), Buffer.from(bytesOf(50)));
  assert.equal(kept.columns?.[0]?.[50], 50);
});

test('entries of one sort make a page, whichever they are', () => {
  const builder = new PageBuilder();
  builder.begin(1);
  const add = (value: number | bigint): boolean => {
    const entry = indexEntry(
      {id: 7, unique: false},
      [{sorted: value, original: value, declared: 'LONG'}],
      new Rid(1, 0),
    );
    const bytes = Buffer.concat([entry.key, entry.value]);
    return builder.add(false, entryOf(bytes, entry.key.length));
  };
  assert.ok(add(1));
  assert.ok(!add(2n ** 60n + 1n));
  builder.begin(1);
  assert.ok(add(2n ** 60n + 1n));
  assert.ok(!add(3));
  assert.equal(builder.finish(bytesOf(1), bytesOf(2)).columns, undefined);
});

test('what is read for pages never exceeds what was asked for by more than a page', () => {
  const steps = fc.array(fc.integer({min: 0, max: 3_000}), {maxLength: 60});
  fc.assert(
    fc.property(steps, asks => {
      const pages = new IndexPages(1, 0);
      let [asked, built] = [0, 0];
      for (const entries of asks) {
        if (pages.mayBuild(0, 1)) {
          const kept = page(pages, 0, 1 + (entries % 50));
          built += kept.count;
          kept.drop();
        }
        pages.took(entries);
        asked += entries;
        assert.ok(built <= asked + entriesPerPage, `${built} built, ${asked} asked for`);
      }
    }),
    {seed: 26},
  );
});

test('nothing is read from a snapshot that is older than a change that is known', () => {
  const pages = new IndexPages(1, 5);
  pages.took(1);
  assert.ok(!pages.mayBuild(4, 1));
  assert.ok(pages.mayBuild(5, 1));
  assert.ok(!pages.mayBuild(5, 2));
  pages.changed(bytesOf(1), 8);
  assert.ok(!pages.mayBuild(7, 1));
  assert.ok(pages.mayBuild(8, 1));
});
