/**
 * What every store must do, as tests that each implementation's test file runs on itself.
 *
 * The expectations are written out by hand; that the stores agree on random histories is the
 * business of store.metamorphic.test.ts.
 */
import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import {createPackedRows, eachRow, packKeys} from './packed-rows.ts';
import {type Reader, RowTooLarge, type ScanOptions, type ScanRange, type Store} from './store.ts';

export interface StoreHarness {
  readonly name: string;
  /** Opens or creates a store; the same directory name means the same store again. */
  open(directory: string, options?: {readonly mustExist?: boolean}): Promise<Store>;
  /** A path that stores of this harness accept for files and checkpoints. */
  path(name: string): string;
  /** Removes everything. */
  end(): void;
}

/** Registers the contract's tests for one implementation. */
export function testStoreContract(harness: StoreHarness): void {
  after(() => harness.end());
  testReads(harness);
  testScans(harness);
  testWrites(harness);
  testSnapshots(harness);
  testFiles(harness);
  testLifetimes(harness);
}

function testReads({name, open}: StoreHarness): void {
  test(`${name}: get tells absent, empty and present apart`, async () => {
    const store = await filled(open, 'get', {a: 'one', b: '', '\xff\xff': 'last'});
    assert.equal(store.get(bytes('a'))?.toString(), 'one');
    assert.equal(store.get(bytes('b'))?.length, 0);
    assert.equal(store.get(bytes('c')), undefined);
    assert.equal(store.get(bytes('\xff\xff'))?.toString(), 'last');
    const first = store.get(bytes('a'));
    store.get(bytes('\xff\xff'));
    assert.equal(first?.toString(), 'one', 'an answer is not touched by the next');
    store.close();
  });

  test(`${name}: a value of 16 MiB comes back whole`, async () => {
    const store = await open('large');
    const value = Buffer.alloc(16 << 20);
    for (let at = 0; at < value.length; at += 4096) value.writeUInt32LE(at, at);
    put(store, bytes('large'), value);
    assert.ok(store.get(bytes('large'))?.equals(value));
    const small = createPackedRows(1000);
    const scanner = store.scan([{start: bytes('')}]);
    assert.throws(() => scanner.next(small), isTooLarge(8 + 5 + value.length));
    assert.equal(small.rowCount, 0);
    const large = createPackedRows(8 + 5 + value.length);
    assert.equal(scanner.next(large).rowCount, 1);
    assert.equal(large.done, true);
    assert.throws(
      () => store.getMany(packKeys([bytes('large')]), 1, small),
      isTooLarge(8 + value.length),
    );
    store.close();
  });

  test(`${name}: getMany of a snapshot answers keys that are neighbours`, async () => {
    const keyed = (n: number): Buffer => {
      const key = Buffer.from('record....');
      key.writeUInt32BE(0xfffffe00 + n, 6);
      return key;
    };
    const store = await open('neighbours');
    const batch = store.batch();
    for (const n of numbers(200)) batch.put(keyed(n), bytes(`value ${n}`));
    batch.put(Buffer.concat([keyed(0), bytes('longer')]), bytes('between'));
    store.write(batch);
    store.makeDurable();
    const removal = store.batch();
    for (const n of numbers(200)) if (n % 7 === 3 || n > 150) removal.delete(keyed(n));
    store.write(removal);
    const snapshot = store.snapshot();
    put(store, keyed(3), bytes('later'));
    const expectedOf = (n: number): string | undefined =>
      n % 7 === 3 || n > 150 || n >= 200 ? undefined : `value ${n}`;
    const lists = {
      'one behind another': numbers(200),
      'with gaps': numbers(70).map(n => 2 * n),
      'with few others between': [...numbers(40), 45, 60, 61, ...numbers(30).map(n => 62 + n)],
      'none of which is there': numbers(40).map(n => 155 + n),
      'in no order': numbers(64).map(n => (n * 37) % 64),
      'twice each': numbers(64).map(n => n >> 1),
    };
    for (const [what, asked] of Object.entries(lists)) {
      const into = createPackedRows(1 << 16);
      assert.equal(snapshot.getMany(packKeys(asked.map(keyed)), asked.length, into), asked.length);
      const answers = [...eachRow(into)].map(row => row.value?.toString());
      assert.deepEqual(answers, asked.map(expectedOf), what);
      const tight = createPackedRows(200);
      const answered = snapshot.getMany(packKeys(asked.map(keyed)), asked.length, tight);
      assert.ok(answered > 0 && answered < asked.length, `${what}: ${answered}`);
      assert.deepEqual(
        [...eachRow(tight)].map(row => row.value?.toString()),
        asked.slice(0, answered).map(expectedOf),
        what,
      );
    }
    snapshot.release();
    store.close();
  });

  test(`${name}: getMany answers in the order of the keys and stops when full`, async () => {
    const entries = Object.fromEntries(numbers(100).map(n => [keyOf(n), `value ${n}`]));
    const store = await filled(open, 'many', entries);
    const asked = [keyOf(7), 'absent', keyOf(99), keyOf(7), ...numbers(60).map(keyOf)];
    const into = createPackedRows(1 << 16);
    assert.equal(store.getMany(packKeys(asked.map(bytes)), asked.length, into), asked.length);
    assert.equal(into.done, true);
    const expected = asked.map(key => entries[key]);
    assert.deepEqual(
      [...eachRow(into)].map(row => row.value?.toString()),
      expected,
    );
    assert.ok([...eachRow(into)].every(row => row.key.length === 0));

    const tight = createPackedRows(30);
    const answered = store.getMany(packKeys(asked.map(bytes)), asked.length, tight);
    assert.equal(answered, 2, 'one value of 7 bytes and one absent fit before the third row');
    assert.equal(tight.rowCount, 2);
    assert.equal(tight.done, false);
    assert.equal(store.getMany(Buffer.alloc(0), 0, tight), 0);
    store.close();
  });
}

function testScans({name, open}: StoreHarness): void {
  test(`${name}: scans keep to their ranges, order and options`, async () => {
    const store = await filled(open, 'scan', {
      a: '1',
      ab: '2',
      b: '3',
      'b\x00': '4',
      c: '5',
      '\xff': '6',
      '\xff\xff': '7',
    });
    const table: [ScanRange[], ScanOptions, string][] = [
      [[range('')], {}, 'a=1 ab=2 b=3 b\x00=4 c=5 \xff=6 \xff\xff=7'],
      [[range('')], {reverse: true}, '\xff\xff=7 \xff=6 c=5 b\x00=4 b=3 ab=2 a=1'],
      [[range('a', 'b')], {}, 'a=1 ab=2'],
      [[range('a', 'b')], {reverse: true}, 'ab=2 a=1'],
      [[range('a\x00', 'b')], {}, 'ab=2'],
      [[range('b', 'b\x00')], {reverse: true}, 'b=3'],
      [[range('b', 'b')], {}, ''],
      [[range('c', 'a')], {}, ''],
      [[range('c', 'a')], {reverse: true}, ''],
      [[range('d', 'e')], {}, ''],
      [[], {}, ''],
      [
        [range('c', 'd'), range('a', 'b'), range('x', 'y'), range('\xff')],
        {},
        'c=5 a=1 ab=2 \xff=6 \xff\xff=7',
      ],
      [[range('c', 'd'), range('x', 'y'), range('a', 'b')], {reverse: true}, 'c=5 ab=2 a=1'],
      [
        [range('b'), range('a', 'b')],
        {reverse: true},
        '\xff\xff=7 \xff=6 c=5 b\x00=4 b=3 ab=2 a=1',
      ],
      [[range('a', 'c'), range('b', 'd')], {}, 'a=1 ab=2 b=3 b\x00=4 b=3 b\x00=4 c=5'],
      [[range('a', 'c')], {keysOnly: true}, 'a= ab= b= b\x00='],
      [[range('x', 'y'), range('y', 'z')], {}, ''],
    ];
    const snapshot = store.snapshot();
    for (const [ranges, options, expected] of table) {
      for (const more of [{}, {rowsMax: 1}, {rowsMax: 2}, {once: true}]) {
        const limited = {...options, ...more};
        const label = JSON.stringify([ranges.map(r => [text(r.start), text(r.end)]), limited]);
        assert.equal(dump(store, ranges, limited), expected, label);
        assert.equal(dump(snapshot, ranges, limited), expected, `snapshot ${label}`);
      }
    }
    snapshot.release();
    store.close();
  });

  test(`${name}: next fills the buffer, says when it is done and where it is`, async () => {
    const entries = Object.fromEntries(numbers(3000).map(n => [keyOf(n), `value ${n}`]));
    const store = await filled(open, 'fill', entries);
    const into = createPackedRows(4096);
    const ranges = [range(keyOf(2990)), range('none', 'nonf'), range(keyOf(0), keyOf(1500))];
    const scanner = store.scan(ranges);
    const keys: string[] = [];
    let calls = 0;
    do {
      scanner.next(into);
      assert.ok(into.rowCount > 0);
      calls++;
      for (const row of eachRow(into)) {
        keys.push(row.key.toString());
        assert.equal(row.value?.toString(), entries[row.key.toString()]);
      }
      assert.equal(scanner.rangeIndex, into.done ? 3 : 2);
    } while (!into.done);
    assert.deepEqual(keys, [...numbers(10).map(n => keyOf(n + 2990)), ...numbers(1500).map(keyOf)]);
    assert.ok(calls < 20, 'rows cross packed');
    assert.equal(scanner.next(into).rowCount, 0);
    assert.equal(into.done, true);
    scanner.close();
    scanner.close();
    store.close();
  });

  test(`${name}: a scan sees the moment at which it began`, async () => {
    const store = await filled(open, 'moment', {a: '1', b: '2', c: '3'});
    const forward = store.scan([range('')], {rowsMax: 1});
    const into = createPackedRows(100);
    forward.next(into);
    fill(store, {b: 'new', d: 'new'});
    const batch = store.batch();
    batch.delete(bytes('c'));
    store.write(batch);
    let rest = '';
    while (!into.done)
      for (const row of eachRow(forward.next(into))) rest += `${row.key} ${row.value};`;
    assert.equal(rest, 'b 2;c 3;');
    forward.close();
    store.close();
  });
}

function testWrites({name, open}: StoreHarness): void {
  test(`${name}: a write at once is done, or nothing of it is`, async () => {
    const store = await open('at-once');
    const batch = store.batch();
    batch.put(bytes('a'), bytes('one'));
    batch.delete(bytes('b'));
    const isTaken = store.takesAtOnce(batch);
    assert.equal(store.get(bytes('a')), undefined, 'asking writes nothing');
    const isDone = store.writeAtOnce(batch);
    assert.equal(isDone, isTaken);
    assert.equal(store.get(bytes('a'))?.toString(), isDone ? 'one' : undefined);
    assert.equal(isDone, store.properties().engine !== 'fallback');
    store.write(batch);
    assert.equal(store.get(bytes('a'))?.toString(), 'one');
    store.close();
    assert.throws(() => store.writeAtOnce(batch));
    assert.throws(() => store.takesAtOnce(batch));
  });

  test(`${name}: later operations of a batch win over earlier ones`, async () => {
    const store = await filled(open, 'batch', {a: '1', b: '1', c: '1', d: '1'});
    const batch = store.batch();
    batch.put(bytes('bb'), bytes('2'));
    batch.deleteRange(bytes('b'), bytes('d'));
    batch.put(bytes('c'), bytes('2'));
    batch.put(bytes('a'), bytes('2'));
    batch.delete(bytes('a'));
    batch.deleteRange(bytes('z'), bytes('d'));
    assert.equal(batch.operationCount, 5, 'a range that holds nothing is left out');
    store.write(batch, {sync: true});
    assert.equal(dump(store), 'c=2 d=1');
    batch.clear();
    assert.equal(batch.operationCount, 0);
    store.write(batch);
    store.write(batch, {sync: true});
    assert.equal(dump(store), 'c=2 d=1');
    store.close();
  });

  test(`${name}: of writes to one key in a batch the last stands, in any order`, async () => {
    const store = await filled(open, 'order', {m: '1', x: '1'});
    const batch = store.batch();
    for (const key of ['x', 'c', 'm', 'a', 'c', 'b', 'x', 'm', 'a', 'y']) {
      batch.put(bytes(key), bytes(`${batch.operationCount}`));
    }
    batch.delete(bytes('b'));
    batch.delete(bytes('y'));
    batch.put(bytes('y'), bytes('again'));
    store.write(batch);
    assert.equal(dump(store), 'a=8 c=4 m=7 x=6 y=again');
    store.close();
  });

  test(`${name}: a batch copies what it is given`, async () => {
    const store = await open('copy');
    const key = Buffer.from('key1');
    const value = Buffer.from('value1');
    const batch = store.batch();
    batch.put(key, value);
    key.write('key2');
    value.write('value2');
    batch.put(key, value);
    store.write(batch);
    batch.clear();
    batch.put(bytes('key0'), Buffer.alloc(5000, 'x'));
    assert.equal(dump(store), 'key1=value1 key2=value2');
    assert.throws(() => batch.put(Buffer.alloc(0), value), /at least one byte/);
    store.close();
  });

  test(`${name}: what was written is there after closing and opening`, async () => {
    const store = await filled(open, 'reopen', {a: '1', b: '2'});
    store.makeDurable();
    fill(store, {c: '3'});
    const batch = store.batch();
    batch.deleteRange(bytes('a'), bytes('b'));
    store.write(batch);
    store.close();
    const again = await open('reopen', {mustExist: true});
    assert.equal(dump(again), 'b=2 c=3');
    again.makeDurable();
    again.makeDurable();
    again.rest();
    assert.ok(again.compact());
    assert.ok(again.compact({range: {start: bytes('b'), end: bytes('c')}}));
    assert.equal(dump(again), 'b=2 c=3');
    const stop = new Uint8Array(new SharedArrayBuffer(1));
    assert.ok(again.compact({stop}));
    // Who has nothing to do for it is done, told to stop or not.
    stop[0] = 1;
    const isNative = again.properties().engine === 'native';
    assert.equal(again.compact({stop}), !isNative);
    assert.equal(dump(again), 'b=2 c=3');
    again.close();
    await assert.rejects(open('never made', {mustExist: true}), {kind: 'absent'});
  });
}

function testSnapshots({name, open}: StoreHarness): void {
  test(`${name}: a snapshot stays at its point in time in every call`, async () => {
    const before = Object.fromEntries(numbers(2500).map(n => [keyOf(n), 'old']));
    const store = await filled(open, 'snapshot', before);
    const snapshot = store.snapshot();
    const batch = store.batch();
    batch.deleteRange(bytes(keyOf(100)), bytes(keyOf(2400)));
    for (const n of numbers(100)) batch.put(bytes(keyOf(n)), bytes('new'));
    store.write(batch);
    store.makeDurable();
    store.compact();
    assert.equal(snapshot.get(bytes(keyOf(50)))?.toString(), 'old');
    assert.equal(snapshot.get(bytes(keyOf(500)))?.toString(), 'old');
    assert.equal(snapshot.get(bytes('absent')), undefined);
    const into = createPackedRows(1 << 16);
    snapshot.getMany(packKeys([bytes(keyOf(3)), bytes(keyOf(1000))]), 2, into);
    assert.deepEqual(
      [...eachRow(into)].map(row => `${row.value}`),
      ['old', 'old'],
    );
    const expected = numbers(2500).map(n => `${keyOf(n)}=old`);
    assert.equal(dump(snapshot), expected.join(' '));
    assert.equal(dump(snapshot, [range('')], {reverse: true}), expected.reverse().join(' '));
    assert.equal(dump(store).split(' ').length, 200);
    snapshot.release();
    store.close();
  });

  test(`${name}: scanners and lookups of one snapshot do not disturb each other`, async () => {
    const entries = Object.fromEntries(numbers(2000).map(n => [keyOf(n), `${n}`]));
    const store = await filled(open, 'shared snapshot', entries);
    const snapshot = store.snapshot();
    const scanners = [false, true, false].map(reverse =>
      snapshot.scan([range(keyOf(5), keyOf(1995))], {reverse, rowsMax: 7}),
    );
    const into = createPackedRows(1000);
    const seen: number[][] = [[], [], []];
    for (let turn = 0; turn < 400; turn++) {
      const which = turn % 3;
      for (const row of eachRow(scanners[which]?.next(into) ?? into)) {
        seen[which]?.push(Number(row.value));
      }
      assert.equal(snapshot.get(bytes(keyOf(turn)))?.toString(), `${turn}`);
    }
    const ascending = numbers(1990).map(n => n + 5);
    assert.deepEqual(seen[0], ascending.slice(0, seen[0]?.length));
    assert.deepEqual(seen[1], ascending.toReversed().slice(0, seen[1]?.length));
    assert.deepEqual(seen[2], ascending.slice(0, seen[2]?.length));
    assert.ok((seen[1]?.length ?? 0) > 800);
    for (const scanner of scanners) scanner.close();
    snapshot.release();
    snapshot.release();
    store.close();
  });
}

function testFiles({name, open, path}: StoreHarness): void {
  test(`${name}: a checkpoint is a store of its own, as of its moment`, async () => {
    const store = await filled(open, 'source', {a: '1', b: '2'});
    store.makeDurable();
    fill(store, {c: '3'});
    const target = path('checkpoint');
    store.checkpoint(target);
    assert.throws(() => store.checkpoint(target), /exists/);
    fill(store, {a: 'later', d: '4'});
    store.compact();
    const copy = await open('checkpoint', {mustExist: true});
    assert.equal(dump(copy), 'a=1 b=2 c=3');
    fill(copy, {e: '5'});
    copy.compact();
    assert.equal(dump(store), 'a=later b=2 c=3 d=4');
    store.close();
    assert.equal(dump(copy), 'a=1 b=2 c=3 e=5');
    copy.close();
  });

  test(`${name}: properties say how much is there`, async () => {
    const entries = Object.fromEntries(numbers(500).map(n => [keyOf(n), 'x'.repeat(100)]));
    const store = await filled(open, 'properties', entries);
    const properties = store.properties();
    assert.equal(properties.engine, name);
    assert.ok(Math.abs(properties.estimatedKeys - 500) <= 1, 'an estimate');
    store.close();
  });
}

function testLifetimes({name, open}: StoreHarness): void {
  test(`${name}: a late use is an error, never a crash`, async () => {
    const store = await filled(open, 'late', {a: '1', b: '2'});
    const into = createPackedRows(100);
    const released = store.snapshot();
    const orphan = released.scan([range('')], {rowsMax: 1});
    orphan.next(into);
    released.release();
    const gone = /is released/;
    assert.throws(() => released.get(bytes('a')), gone);
    assert.throws(() => released.scan([range('')]), gone);
    assert.throws(() => released.getMany(packKeys([bytes('a')]), 1, into), gone);
    assert.throws(() => orphan.next(into), gone);
    orphan.close();

    const snapshot = store.snapshot();
    const scanner = snapshot.scan([range('')], {rowsMax: 1});
    scanner.next(into);
    const own = store.scan([range('')], {rowsMax: 1});
    own.next(into);
    const shut = store.scan([range('')]);
    shut.close();
    assert.throws(() => shut.next(into), /scanner is closed/);
    store.close();
    store.close();
    const closed = /store is closed/;
    assert.throws(() => store.get(bytes('a')), closed);
    assert.throws(() => store.write(store.batch()), closed);
    assert.throws(() => store.snapshot(), closed);
    assert.throws(() => store.makeDurable(), closed);
    assert.throws(() => store.rest(), closed);
    assert.throws(() => snapshot.get(bytes('a')), closed);
    assert.throws(() => scanner.next(into), closed);
    assert.throws(() => own.next(into), closed);
    scanner.close();
    own.close();
    snapshot.release();
  });

  test(`${name}: one directory has one store at a time`, async () => {
    const store = await open('locked');
    await assert.rejects(open('locked'), {kind: 'locked'});
    store.close();
    (await open('locked')).close();
  });
}

async function filled(
  open: StoreHarness['open'],
  directory: string,
  entries: Readonly<Record<string, string>>,
): Promise<Store> {
  const store = await open(directory);
  fill(store, entries);
  return store;
}

function fill(store: Store, entries: Readonly<Record<string, string>>): void {
  const batch = store.batch();
  for (const [key, value] of Object.entries(entries)) batch.put(bytes(key), bytes(value));
  store.write(batch);
}

function put(store: Store, key: Buffer, value: Buffer): void {
  const batch = store.batch();
  batch.put(key, value);
  store.write(batch);
}

/** Rows as `key=value key=value`, one character a byte. */
function dump(
  reader: Reader,
  ranges: readonly ScanRange[] = [range('')],
  options: ScanOptions = {},
): string {
  const scanner = reader.scan(ranges, options);
  const into = createPackedRows(1 << 12);
  const rows: string[] = [];
  do {
    scanner.next(into);
    for (const row of eachRow(into)) rows.push(`${text(row.key)}=${text(row.value)}`);
  } while (!into.done);
  scanner.close();
  return rows.join(' ');
}

function isTooLarge(bytesNeeded: number): (error: unknown) => boolean {
  return error => error instanceof RowTooLarge && error.bytesNeeded === bytesNeeded;
}

function range(start: string, end?: string): ScanRange {
  return end === undefined ? {start: bytes(start)} : {start: bytes(start), end: bytes(end)};
}

function bytes(characters: string): Buffer {
  return Buffer.from(characters, 'latin1');
}

function text(of: Uint8Array | undefined): string {
  return Buffer.from(of ?? []).toString('latin1');
}

function keyOf(n: number): string {
  return `key${String(n).padStart(5, '0')}`;
}

function numbers(count: number): number[] {
  return Array.from({length: count}, (_, index) => index);
}
