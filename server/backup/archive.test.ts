/**
 * Archives written and read back: every level, with and without a key, and what other programs make
 * of them; then archives that somebody damaged or made to do harm, each refused by its entry with
 * nothing written.
 */
import assert from 'node:assert/strict';
import {execFileSync, spawnSync} from 'node:child_process';
import {createHash, randomBytes} from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {crc32, deflateRawSync} from 'node:zlib';
import {Refusal} from '#server/base/errors.ts';
import {ZipHeaders} from '#server/platform/zip-headers.ts';
import {
  type ArchivedFile,
  decodeManifest,
  encodeManifest,
  manifestName,
} from './archive-manifest.ts';
import {deflatePiece} from './archive/deflated-pieces.ts';
import {readArchive} from './read-archive.ts';
import {type ArchiveMeans, type ArchiveOrder, isPart, writeArchive} from './write-archive.ts';

const root = mkdtempSync(join(tmpdir(), 'svc-archive-'));
after(() => rmSync(root, {recursive: true}));

const manifest = {database: 'music', release: '1.2.3', formatLevel: 1, createdAt: 7, index: 42};

/** Files of the sizes at which pieces begin and end. */
const content: Readonly<Record<string, Buffer>> = {
  CURRENT: Buffer.from('MANIFEST-000001\n'),
  'EMPTY.log': Buffer.alloc(0),
  '000010.sst': Buffer.from('so it goes, '.repeat(300_000)),
  '000011.sst': randomBytes(1 << 20),
  '000012.sst': randomBytes((1 << 20) + 1),
};

function directory(): string {
  return mkdtempSync(join(root, 'd-'));
}

function sources(): string {
  const path = directory();
  for (const [name, bytes] of Object.entries(content)) writeFileSync(join(path, name), bytes);
  return path;
}

const source = sources();
const quiet: ArchiveMeans = {
  onProgress: () => {},
  monotonic: () => 0,
  pause: async () => {},
  giveWay: async () => {},
  deflate: async piece => deflatePiece(piece),
};

async function write(changes: Partial<ArchiveOrder> = {}): Promise<string> {
  const path = join(directory(), 'a.zip');
  const order = {directory: source, path, manifest, level: 1, threads: 2};
  const rest = {bytesPerSecond: undefined, password: undefined};
  await writeArchive({...order, ...rest, ...changes}, quiet);
  return path;
}

const unlimited = {obstacle: () => undefined, onProgress: () => {}};

async function extract(path: string, password?: string): Promise<Record<string, Buffer>> {
  const target = directory();
  await readArchive(path, {...unlimited, directory: target, password});
  return filesIn(target);
}

function filesIn(path: string): Record<string, Buffer> {
  return Object.fromEntries(readdirSync(path).map(name => [name, readFileSync(join(path, name))]));
}

for (const [level, threads, password] of [
  [0, 1, undefined],
  [1, 1, undefined],
  [1, 4, undefined],
  [9, 2, undefined],
  [0, 1, 'secret'],
  [1, 2, 'geheim ✓'],
] as const) {
  test(`level ${level}, ${threads} threads, ${password ? 'with' : 'without'} a key`, async () => {
    const path = await write({level, threads, password});
    const found = await extract(path, password);
    assert.deepEqual(Object.keys(found).sort(), Object.keys(content).sort());
    for (const [name, bytes] of Object.entries(content))
      assert.ok(found[name]?.equals(bytes), name);
    const read = {...unlimited, directory: undefined, password};
    const {files, ...facts} = await readArchive(path, read);
    assert.deepEqual(facts, manifest);
    assert.equal(files.length, Object.keys(content).length);
  });
}

/** Each prints the SHA-256 of every entry, in the order of their names. */
const programs: readonly {readonly name: string; readonly digests: (path: string) => string[]}[] = [
  {
    name: 'unzip',
    digests: path => {
      execFileSync('unzip', ['-tqq', path]);
      return Object.keys(content)
        .sort()
        .map(name => digest(execFileSync('unzip', ['-p', path, name], {maxBuffer: 1 << 26})));
    },
  },
  {
    name: 'python3',
    digests: path => {
      const script =
        'import sys,zipfile,hashlib\nz=zipfile.ZipFile(sys.argv[1])\nassert z.testzip() is None\n' +
        'for n in sorted(z.namelist()):\n' +
        ' if n!="manifest.json": print(hashlib.sha256(z.read(n)).hexdigest())';
      return execFileSync('python3', ['-c', script, path], {encoding: 'utf8'}).trim().split('\n');
    },
  },
];

for (const {name, digests} of programs) {
  const isThere = spawnSync(name, ['--help']).error === undefined;
  test(`${name} reads what is written`, {
    skip: !isThere && `${name} is not installed`,
  }, async () => {
    const expected = Object.keys(content)
      .sort()
      .map(file => digest(content[file] ?? Buffer.alloc(0)));
    for (const level of [0, 1]) assert.deepEqual(digests(await write({level})), expected);
  });
}

test('the rate is held, and the clock is the one that is given', async () => {
  let now = 0;
  const pauses: number[] = [];
  const means = {
    ...quiet,
    monotonic: () => now,
    pause: async (ms: number) => {
      pauses.push(ms);
      now += ms;
    },
  };
  const path = join(directory(), 'a.zip');
  const order = {directory: source, path, manifest, level: 0, threads: 1, password: undefined};
  const {contentBytes} = await writeArchive({...order, bytesPerSecond: 1_000_000}, means);
  assert.ok(pauses.length > 3);
  assert.ok(Math.abs(now - contentBytes / 1_000) < 2, `${now} ms for ${contentBytes} bytes`);
});

test('a failure leaves no part behind', async () => {
  const path = join(directory(), 'a.zip');
  let progress = 0;
  const order = {directory: source, path, manifest, level: 1, threads: 2, password: undefined};
  const failing = {
    ...quiet,
    onProgress: () => {
      progress += 1;
      if (progress === 3) throw new Error('the disk is gone');
    },
  };
  await assert.rejects(
    writeArchive({...order, bytesPerSecond: undefined}, failing),
    /disk is gone/,
  );
  assert.deepEqual(readdirSync(join(path, '..')), []);
  assert.ok(isPart('.a.zip.part') && !isPart('a.zip'));
});

test('a manifest is read as it was written, and not without its signature', () => {
  const files = [{name: 'CURRENT', bytes: 1, sha256: digest(Buffer.from('x'))}];
  const sign = (text: string): string => digest(Buffer.from(text));
  const bytes = encodeManifest({...manifest, files}, sign);
  const read = decodeManifest(bytes, (text, signature) => sign(text) === signature);
  assert.deepEqual(read, {...manifest, files});
  const changed = Buffer.from(bytes.toString().replace('"index": 42', '"index": 43'));
  assert.throws(
    () => decodeManifest(changed, (text, signature) => sign(text) === signature),
    /signature/,
  );
});

interface HostileEntry {
  readonly name: string;
  readonly bytes: Buffer;
  readonly method?: number;
  readonly attributes?: number;
  readonly flags?: number;
  readonly crc?: number;
  readonly size?: number;
  /** The name in front of the bytes, where it differs. */
  readonly localName?: string;
  /** The offset of another entry, whose bytes it shares. */
  readonly at?: number;
}

/** A ZIP as somebody writes it who wants to do harm. */
function zipOf(entries: readonly HostileEntry[]): Buffer {
  const parts: Buffer[] = [];
  const directoryParts: Buffer[] = [];
  let at = 0;
  for (const entry of entries) {
    const packed = entry.method === 0 ? entry.bytes : deflateRawSync(entry.bytes);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(45, 0);
    common.writeUInt16LE(entry.flags ?? 0x0800, 2);
    common.writeUInt16LE(entry.method ?? 8, 4);
    common.writeUInt32LE(entry.crc ?? crc32(entry.bytes), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(entry.size ?? entry.bytes.length, 18);
    const name = Buffer.from(entry.localName ?? entry.name);
    common.writeUInt16LE(name.length, 22);
    const place = entry.at ?? at;
    if (entry.at === undefined) {
      const head = Buffer.concat([Buffer.from('PK\x03\x04'), common]);
      parts.push(head, name, packed);
      at += head.length + name.length + packed.length;
    }
    const head = Buffer.alloc(46);
    head.write('PK\x01\x02', 0, 'latin1');
    const shown = Buffer.from(entry.name);
    common.writeUInt16LE(shown.length, 22);
    common.copy(head, 6);
    head.writeUInt32LE(entry.attributes ?? 0, 38);
    head.writeUInt32LE(place, 42);
    directoryParts.push(head, shown);
  }
  const all = Buffer.concat(directoryParts);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 0, 'latin1');
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(all.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, all, end]);
}

const good: HostileEntry = {name: '000010.sst', bytes: Buffer.from('ten '.repeat(1_000))};

/** Writes a manifest that lists what is there, so that nothing else is wrong. */
function listed(entries: readonly HostileEntry[], changes: Partial<ArchivedFile> = {}): Buffer {
  const files = entries.map(({name, bytes}) => ({
    name,
    bytes: bytes.length,
    sha256: digest(bytes),
    ...changes,
  }));
  return zipOf([...entries, {name: manifestName, bytes: encodeManifest({...manifest, files})}]);
}

const bomb = Buffer.alloc(64 << 20);
const sound = listed([good]);

const hostile: readonly (readonly [string, Buffer, RegExp])[] = [
  ['a name with ..', listed([{...good, name: '../../etc/passwd'}]), /\.\.\/\.\.\/etc\/passwd/],
  ['an absolute name', listed([{...good, name: '/etc/passwd'}]), /\/etc\/passwd/],
  ['a name of Windows', listed([{...good, name: 'C:\\boot.ini'}]), /boot\.ini/],
  ['a directory', listed([{...good, name: 'sub/000010.sst'}]), /sub\/000010\.sst.*in a directory/],
  ['a link', listed([{...good, attributes: (0o120777 << 16) >>> 0}]), /000010\.sst.*is a link/],
  ['a name twice', listed([good, good]), /000010\.sst.*twice|000010\.sst', which/],
  ['an encrypted entry', listed([{...good, flags: 0x0801}]), /000010\.sst.*encrypted by itself/],
  ['an unknown method', listed([{...good, method: 12}]), /000010\.sst.*method 12/],
  [
    'an entry that says it is smaller than it is',
    listed([{...good, size: 100}], {bytes: 100}),
    /000010\.sst.*larger than it says/,
  ],
  [
    'an entry that says it is larger than it is',
    listed([{...good, size: 5_000}], {bytes: 5_000}),
    /000010\.sst.*smaller than it says/,
  ],
  ['a size that the manifest denies', listed([good], {bytes: 1}), /000010\.sst.*in the manifest/],
  ['a bomb', listed([{name: 'b.sst', bytes: bomb, size: 10}], {bytes: 10}), /b\.sst.*larger/],
  [
    'entries that share bytes',
    listed([good, {...good, name: '000011.sst', at: 0}]),
    /0000\d\d\.sst.*shares its bytes/,
  ],
  ['a wrong CRC', listed([{...good, crc: 1}]), /000010\.sst.*CRC-32/],
  ['a wrong checksum', listed([good], {sha256: '0'.repeat(64)}), /000010\.sst.*checksum/],
  [
    'another name in front of the bytes',
    listed([{...good, localName: '../../../a'}]),
    /000010\.sst.*another name/,
  ],
  [
    'an entry that the manifest does not list',
    zipOf([good, {name: 'more.sst', bytes: good.bytes}, ...manifestFor([good])]),
    /more\.sst.*not list/,
  ],
  ['an entry that is missing', zipOf(manifestFor([good])), /000010\.sst.*missing/],
  ['an archive of another program', zipOf([good]), /another program/],
  [
    'a manifest of another program',
    zipOf([good, {name: manifestName, bytes: Buffer.from('{"version":1}')}]),
    /manifest\.json.*another program/,
  ],
  [
    'a newer version',
    zipOf([good, {name: manifestName, bytes: Buffer.from('{"kind":"svc-backup","version":2}')}]),
    /version 2/,
  ],
  ['a cut archive', sound.subarray(0, sound.length - 30), /cut off/],
  ['a cut entry', Buffer.concat([sound.subarray(0, 40), sound.subarray(60)]), /cut off|cannot be/],
  ['an empty file', Buffer.alloc(0), /no ZIP archive/],
  ['bytes of chance', randomBytes(10_000), /no ZIP archive/],
];

function manifestFor(entries: readonly HostileEntry[]): HostileEntry[] {
  const files = entries.map(({name, bytes}) => ({
    name,
    bytes: bytes.length,
    sha256: digest(bytes),
  }));
  return [{name: manifestName, bytes: encodeManifest({...manifest, files})}];
}

for (const [what, bytes, expected] of hostile) {
  test(`refused: ${what}`, async () => {
    const path = join(directory(), 'a.zip');
    writeFileSync(path, bytes);
    await refused(path, expected);
  });
}

test('refused: another key, a key for nothing, and no key for one', async () => {
  const path = await write({password: 'secret'});
  await refused(path, /encryptionKey/, 'another');
  await refused(path, /encryptionKey is missing/);
  await refused(await write(), /not encrypted/, 'secret');
});

test('refused: a bit that changes under the encryption', async () => {
  const path = await write({password: 'secret', level: 0});
  const bytes = readFileSync(path);
  const at = bytes.length - 5_000_000;
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(path, bytes);
  await refused(path, /CRC-32|checksum|cannot be/, 'secret');
});

test('refused: more than there is room for', async () => {
  const path = await write();
  const target = directory();
  const read = readArchive(path, {
    ...unlimited,
    directory: target,
    password: undefined,
    obstacle: bytes => `${bytes} bytes are too many`,
  });
  await assert.rejects(read, {code: 'storage.full'});
  assert.deepEqual(readdirSync(target), []);
});

/** Expects a refusal; whatever was begun lies in the one directory alone. */
async function refused(path: string, expected: RegExp, password?: string): Promise<void> {
  const parent = directory();
  const target = join(parent, 'target');
  mkdirSync(target);
  await assert.rejects(readArchive(path, {...unlimited, directory: target, password}), error => {
    assert.ok(error instanceof Refusal, String(error));
    assert.equal(error.code, 'backup.archive');
    assert.match(error.message, expected);
    return true;
  });
  assert.deepEqual(readdirSync(parent), ['target']);
  for (const name of readdirSync(target)) assert.ok(statSync(join(target, name)).size < 1 << 22);
}

function digest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

test('an archive of more than 4 GiB has the fields of ZIP64', () => {
  const headers = new ZipHeaders();
  const bytes = 5 * 2 ** 30;
  headers.stored({name: 'a', bytes, checksum: 1});
  headers.beginDeflated('b', bytes);
  headers.endDeflated({bytes, compressed: bytes - 1, checksum: 2});
  const end = headers.end();
  assert.equal(end.readUInt32LE(0), 0x02014b50);
  // The second entry's extra field: both sizes and the place, since none fits into 32 bits.
  const second = 46 + 1 + 20;
  assert.equal(end.readBigUInt64LE(second + 46 + 1 + 4), BigInt(bytes));
  assert.equal(end.readBigUInt64LE(second + 46 + 1 + 12), BigInt(bytes - 1));
  assert.ok(end.readBigUInt64LE(second + 46 + 1 + 20) > BigInt(bytes));
});
