/**
 * What an import refuses, each thing by its place, with nothing changed and nothing left behind:
 * archives that lie, markup that grows, tables without end, names that lead elsewhere, addresses
 * that are not to be asked.
 */
import assert from 'node:assert/strict';
import {createServer, type Server} from 'node:http';
import type {AddressInfo} from 'node:net';
import {symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import {crc32, deflateRawSync, gzipSync} from 'node:zlib';
import type {Row} from '#server/client/client.ts';
import {assertRefused, type ExchangeWorld, startExchangeWorld} from './testing-exchange.ts';

let world: ExchangeWorld;
let inside: Server;
let asked = 0;

before(async () => {
  world = await startExchangeWorld('exchange-bad-input');
  inside = createServer((_, answer) => {
    asked += 1;
    answer.end('a\n1\n');
  });
  await new Promise<void>(resolve => inside.listen(0, '127.0.0.1', () => resolve()));
  await world.client.createDatabase('asking');
});
after(async () => {
  inside.close();
  await world.close();
});

/** A ZIP of one entry, whose head may say what is not so. */
function zipOf(bytes: Buffer, lies: {readonly size?: number; readonly crc?: number} = {}): Buffer {
  const packed = deflateRawSync(bytes);
  const fields = Buffer.alloc(26);
  fields.writeUInt16LE(20, 0);
  fields.writeUInt16LE(8, 4);
  fields.writeUInt32LE(lies.crc ?? crc32(bytes), 10);
  fields.writeUInt32LE(packed.length, 14);
  fields.writeUInt32LE(lies.size ?? bytes.length, 18);
  const name = Buffer.from('a.csv');
  fields.writeUInt16LE(name.length, 22);
  const local = Buffer.concat([Buffer.from('PK\x03\x04'), fields, name, packed]);
  const head = Buffer.alloc(46);
  head.write('PK\x01\x02', 0, 'latin1');
  fields.copy(head, 6);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 0, 'latin1');
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(head.length + name.length, 12);
  end.writeUInt32LE(local.length, 16);
  return Buffer.concat([local, head, name, end]);
}

const rows = Buffer.from(`a,b\n${'1,2\n'.repeat(1_000)}`);
const laughs =
  '<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>' +
  '<l><e>&c;</e></l>';

const bad: readonly (readonly [
  string,
  string | Buffer,
  Readonly<Record<string, string>>,
  RegExp,
])[] = [
  ['a ZIP that is cut off', zipOf(rows).subarray(0, 60), {}, /cannot be unpacked/],
  ['a ZIP whose entry says it is smaller', zipOf(rows, {size: 10}), {}, /cannot be unpacked/],
  ['a ZIP whose entry says it is larger', zipOf(rows, {size: 9e6}), {}, /cannot be unpacked/],
  ['a bomb in a ZIP', zipOf(Buffer.alloc(80 << 20, 0x61)), {format: 'csv'}, /500|maxPropertySize/],
  ['gzip that is cut off', gzipSync(rows).subarray(0, 30), {}, /cannot be unpacked/],
  ['entities of XML that grow', laughs, {}, /DOCTYPE/],
  ['an entity that names a file', '<!DOCTYPE l SYSTEM "file:///etc/passwd"><l/>', {}, /DOCTYPE/],
  ['XML that is nested without end', '<a>'.repeat(5_000), {}, /nested/],
  ['JSON that is nested without end', `[${'['.repeat(100_000)}`, {}, /record 1/],
  ['a header without end', 'a,'.repeat(20_000_000), {}, /record 1 .*maxProperties/],
  ['a row without end', `a,b\n${',1'.repeat(1_000_000)}`, {}, /record 2 .*maxProperties/],
  ['a cell without end', `a,b\n"${'x'.repeat(5 << 20)}`, {}, /record 2 .*maxPropertySize/],
  ['a column twice', 'a,a\n1,2\n', {}, /record 1 .*'a' is there twice/],
  ['a type with a quote', 'a\n1\n', {documentType: 'a`b'}, /a`b|cannot be a type/],
  ['an unknown option', 'a\n1\n', {columns: '3'}, /'columns' is no option/],
  ['an unknown format', 'a\n1\n', {format: 'xlsx'}, /no format 'xlsx'/],
  ['bytes that are none of a format', Buffer.from([0, 255, 1, 254, 10]), {}, /cannot be told/],
];

for (const [what, content, options, expected] of bad) {
  test(`refused, with nothing left: ${what}`, async () => {
    await assertRefused(world.send('bad', content, options), expected);
    await world.assertNothingLeft('bad');
  });
}

for (const name of ['..', '../up', 'a/b', 'a\\b', '.hidden', 'a\0b']) {
  test(`refused, with nothing left: the name ${JSON.stringify(name)}`, async () => {
    await assertRefused(world.send(name, 'a\n1\n'), /name|route|Not Found/i);
    await world.assertNothingLeft(name);
  });
}

/** All that reads an address goes through one guard. */
const readers: Readonly<Record<string, (address: string) => Promise<unknown>>> = {
  'import database': address => world.client.serverCommand(`import database bad ${address}`),
  'IMPORT DATABASE': address => world.client.command('asking', `IMPORT DATABASE '${address}'`),
  'restore database': address => world.client.serverCommand(`restore database bad ${address}`),
  'restore database, to verify': address =>
    world.client.serverCommand(`restore database bad ${address}`, {verify: true}),
};

for (const [what, read] of Object.entries(readers)) {
  test(`${what}: addresses inside, in every form, are not connected to`, async () => {
    for (const host of [
      '127.0.0.1',
      'localhost',
      '2130706433',
      '0x7f000001',
      '0177.0.0.1',
      '127.1',
      '0.0.0.0',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '169.254.169.254',
      '10.0.0.1',
      '[fd00::1]',
      '[fe80::1]',
    ]) {
      await assertRefused(read(`http://${host}:${insidePort()}/a.csv`), /blocked range/);
    }
    for (const scheme of ['ftp://127.0.0.1/a', 'gopher://127.0.0.1/a', 'jar:file:///a']) {
      await assertRefused(read(scheme), /no file and/);
    }
    const onClassPath = read('classpath://data/people.csv');
    await assertRefused(onClassPath, /names a class path, .* name a file by file:/);
    assert.equal(asked, 0);
    await world.assertNothingLeft('bad');
  });

  test(`${what}: an address that redirects inside is not followed there`, async () => {
    const target = `http://127.0.0.1:${insidePort()}/a.csv`;
    const moved = createServer((_, answer) => answer.writeHead(302, {location: target}).end());
    await new Promise<void>(resolve => moved.listen(0, '127.0.0.2', () => resolve()));
    const setting = 'set server setting svc.opencypher.loadCsv.blockedIpRanges';
    const usual = await blockedRanges();
    try {
      await world.client.serverCommand(`${setting} 127.0.0.1/32`);
      const {port} = moved.address() as AddressInfo;
      await assertRefused(read(`http://127.0.0.2:${port}/a.csv`), /'127.0.0.1'.*blocked range/);
    } finally {
      await world.client.serverCommand(`${setting} ${usual}`);
      moved.close();
    }
    assert.equal(asked, 0);
    await world.assertNothingLeft('bad');
  });
}

function insidePort(): number {
  return (inside.address() as AddressInfo).port;
}

async function blockedRanges(): Promise<string> {
  const {settings} = await world.client.serverInfo('default');
  const found = (settings as readonly Row[]).find(
    ({key}) => key === 'svc.opencypher.loadCsv.blockedIpRanges',
  );
  return String(found?.['value']);
}

test('an export has no path', async () => {
  await world.client.createDatabase('kept');
  for (const name of ['../a.tgz', '/tmp/a.tgz', 'a/b.tgz', '.a.tgz', 'file:///a.tgz']) {
    const work = world.client.command('kept', `EXPORT DATABASE '${name}'`);
    await assertRefused(work, /is a path/);
  }
  const odd = world.client.command('kept', "EXPORT DATABASE WITH format = 'csv'");
  await assertRefused(odd, /'format' must be/);
  const unknown = world.client.command('kept', 'EXPORT DATABASE WITH speed = 9');
  await assertRefused(unknown, /no option 'speed'/);
});

test('what is there stays as it was when a later import is refused', async () => {
  await world.send('stays', 'id\n1\n', {documentType: 'D'});
  const path = join(world.root, 'link.csv');
  symlinkSync(world.root, path);
  await assertRefused(world.send('stays', 'id\n2\n'), /already exists/);
  const options = {new: 'false', documentType: 'D'};
  await assertRefused(world.send('stays', 'id\n2\n"3', options), /record 3/);
  await assertRefused(
    world.client.command('stays', `IMPORT DATABASE 'file://${path}'`),
    /no regular file|cannot be read/,
  );
  writeFileSync(join(world.root, 'a.csv'), 'id\n7\n');
  const found = await world.rows('stays', 'SELECT id FROM D');
  assert.deepEqual(found, [{id: 1}]);
});
