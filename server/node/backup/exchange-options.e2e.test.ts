/**
 * The options of an import that bound it or say how a table is written, each by what it changes;
 * and that packing changes nothing.
 */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {crc32, deflateRawSync, gzipSync} from 'node:zlib';
import type {Row} from '#server/client/client.ts';
import {ZipHeaders} from '#server/platform/zip-headers.ts';
import {assertRefused, type ExchangeWorld, startExchangeWorld} from './testing-exchange.ts';

let world: ExchangeWorld;

before(async () => {
  world = await startExchangeWorld('exchange-options');
});
after(() => world.close());

/** Nine rows of four bytes behind a header of four. */
const table = `n,m\n${Array.from({length: 9}, (_, n) => `${n},${n}\n`).join('')}`;

async function numbers(database: string): Promise<readonly unknown[]> {
  return (await world.rows(database, 'SELECT n FROM Document ORDER BY n')).map(({n}) => n);
}

test('parsingLimitEntries and parsingLimitBytes: no more is imported', async () => {
  await world.send('entries', table, {parsingLimitEntries: '3'});
  assert.deepEqual(await numbers('entries'), [0, 1, 2]);
  // In the middle of a row, which is left out: half of it would be another row.
  await world.send('bytes', table, {parsingLimitBytes: '14'});
  assert.deepEqual(await numbers('bytes'), [0, 1]);
  await world.send('lines', '{"n":1}\n{"n":22}\n{"n":3}\n', {parsingLimitBytes: '14'});
  assert.deepEqual(await numbers('lines'), [1]);
});

test('analysisLimitEntries and analysisLimitBytes: no more is looked at', async () => {
  const probe = (options: Record<string, string>): Promise<Row> =>
    world.send('probed', table, {probeOnly: 'true', ...options});
  assert.equal((await probe({}))['entries'], 9);
  assert.equal((await probe({analysisLimitEntries: '4'}))['entries'], 4);
  assert.equal((await probe({analysisLimitBytes: '14'}))['entries'], 2);
  await world.assertNothingLeft('probed');
});

test('trimText: white space around cells without quotes goes, or stays', async () => {
  const text = 'name,more\n  Ada  ,"  b "\n';
  await world.send('trimmed', text);
  await world.send('untrimmed', text, {trimText: 'false'});
  const select = 'SELECT name, more FROM Document';
  assert.deepEqual(await world.rows('trimmed', select), [{name: 'Ada', more: '  b '}]);
  assert.deepEqual(await world.rows('untrimmed', select), [{name: '  Ada  ', more: '  b '}]);
});

test('delimiter, header and skipEntries: how a table is written', async () => {
  const options = {format: 'csv', delimiter: 'tab', header: 'n,text', skipEntries: '2'};
  await world.send('tabs', 'of 2026\nn\ttext\n1\ta,b\n2\tc\n', options);
  const rows = await world.rows('tabs', 'SELECT n, text FROM Document ORDER BY n');
  assert.deepEqual(rows, [
    {n: 1, text: 'a,b'},
    {n: 2, text: 'c'},
  ]);
});

test('maxProperties and maxPropertySize: up to them, and not beyond', async () => {
  const wide = `${Array.from({length: 600}, (_, n) => `c${n}`).join(',')}\n${'1,'.repeat(599)}1\n`;
  await assertRefused(world.send('wide', wide), /maxProperties/);
  assert.equal((await world.send('wide', wide, {maxProperties: '600'}))['documents'], 1);
  const long = `text\n${'x'.repeat(5_000)}\n`;
  await assertRefused(world.send('long', long), /maxPropertySize/);
  assert.equal((await world.send('long', long, {maxPropertySize: '5000'}))['documents'], 1);
});

test('commitEvery: what was committed before a row that is refused stays', async () => {
  const broken = `${table}"9\n`;
  for (const commitEvery of ['2', '5000']) {
    const name = `every${commitEvery}`;
    await world.client.createDatabase(name);
    await world.client.command(name, 'CREATE DOCUMENT TYPE Document');
    await assertRefused(world.send(name, broken, {new: 'false', commitEvery}), /record 11/);
    const found = await numbers(name);
    // Whole commits alone; the last ones may have been under way.
    assert.equal(found.length % 2, 0);
    assert.deepEqual(
      found,
      found.map((_, n) => n),
    );
    assert.equal(found.length > 0, commitEvery === '2');
  }
});

test('propertiesInclude: no other columns', async () => {
  await world.send('some', 'a,b,c\n1,2,3\n', {propertiesInclude: 'c,a'});
  assert.deepEqual(await world.rows('some', 'SELECT a, b, c FROM Document'), [
    {a: 1, b: null, c: 3},
  ]);
});

/** A ZIP as another program writes it; of its files the first counts. */
function zipOf(files: Readonly<Record<string, string>>): Buffer {
  const headers = new ZipHeaders();
  const parts = Object.entries(files).flatMap(([name, text]) => {
    const bytes = Buffer.from(text);
    const packed = deflateRawSync(bytes);
    const sizes = {bytes: bytes.length, compressed: packed.length, checksum: crc32(bytes)};
    return [headers.beginDeflated(name, bytes.length), packed, headers.endDeflated(sizes)];
  });
  return Buffer.concat([...parts, headers.end()]);
}

const plain: Readonly<Record<string, string>> = {
  csv: 'n,text\n1,a\n2,b\n',
  jsonl: '{"n":1,"text":"a"}\n{"n":2,"text":"b"}\n',
  json: '[{"n":1,"text":"a"},{"n":2,"text":"b"}]',
  xml: '<all><one><n>1</n><text>a</text></one><one><n>2</n><text>b</text></one></all>',
};

for (const [format, text] of Object.entries(plain)) {
  test(`${format}: plain, in gzip and as the first file of a ZIP it is the same`, async () => {
    const ways = {plain: text, gzip: gzipSync(text), zip: zipOf({[`a.${format}`]: text, b: 'x,y'})};
    for (const [way, content] of Object.entries(ways)) {
      const database = `${format}-${way}`;
      const answer = await world.send(database, content, {documentType: 'One'});
      assert.deepEqual([answer['format'], answer['documents']], [format, 2], way);
      const rows = await world.rows(database, 'SELECT n, text FROM One ORDER BY n');
      assert.deepEqual(
        rows.map(({n, text: found}) => [Number(n), found]),
        [
          [1, 'a'],
          [2, 'b'],
        ],
        way,
      );
    }
  });
}
