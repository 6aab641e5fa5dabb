/**
 * What a database holds, in some numbers that are equal on every member that holds the same: a
 * checksum, bytes and rows of each part (the records of a bucket, its edges, an index, ...).
 *
 * It is taken over keys and values in key order as of one snapshot, so neither the layout of files
 * counts nor anything that a node derives for itself; what tells where a node stands in its log is
 * left out. Two databases whose digests are equal hold the same but for a chance of one in four
 * billions for each part that differs.
 *
 * Cost: one read of the whole database, at about a gigabyte a second where it is in memory; in
 * slices of a quarter of a megabyte, between which others have their turn.
 */
import {createHash} from 'node:crypto';
import {crc32} from 'node:zlib';
import {Catalog} from '#server/catalog/catalog.ts';
import {decodeCatalogData} from '#server/catalog/encode.ts';
import {keyAfterPrefix, namespace, uint32At} from '#server/layout/namespace.ts';
import {createPackedRows, eachRow} from '#server/storage/packed-rows.ts';
import {type PackedRows, type Reader, RowTooLarge, type Scanner} from '#server/storage/store.ts';
import {
  catalogKey,
  counterKey,
  requestKey,
  systemPrefix,
} from '#server/transactions/system-keys.ts';

export type ComponentKind =
  | 'schema'
  | 'counters'
  | 'requests'
  | 'names'
  | 'bucket'
  | 'values'
  | 'edges'
  | 'index'
  | 'members'
  | 'unknown';

export interface ComponentDigest {
  /** The name of the bucket or index, where there is one, ending with its kind. */
  readonly name: string;
  readonly kind: ComponentKind;
  readonly checksum: number;
  readonly bytes: number;
  readonly rows: number;
}

const sliceBytes = 256 << 10;

/**
 * The digest of what `reader` shows, a component each in order of keys.
 *
 * @param pause - Called after every slice.
 * @throws {Corruption} when the store is damaged.
 */
export async function digestDatabase(
  reader: Reader,
  pause: () => Promise<void>,
): Promise<ComponentDigest[]> {
  return await eachComponent(reader, pause, () => undefined);
}

/**
 * One SHA-256 over all that `digestDatabase` looks at: equal for equal content, and for no other.
 * For a decision that nothing takes back, where a checksum would not do. Cost: as there, at half
 * the speed.
 */
export async function fingerprintDatabase(
  reader: Reader,
  pause: () => Promise<void>,
): Promise<string> {
  const sum = createHash('sha256');
  const parts = await eachComponent(reader, pause, slice => sum.update(slice));
  // Where one part ends and the next begins belongs to it.
  return sum.update(JSON.stringify(parts.map(({name, bytes}) => [name, bytes]))).digest('hex');
}

/** `look` gets every slice of rows, and keeps none. */
async function eachComponent(
  reader: Reader,
  pause: () => Promise<void>,
  look: (slice: Uint8Array) => void,
): Promise<ComponentDigest[]> {
  const stored = reader.get(catalogKey);
  // Components are named by the catalog of the same snapshot.
  const catalog = new Catalog(decodeCatalogData(stored));
  const digests: ComponentDigest[] = [];
  let rows = createPackedRows(sliceBytes);
  let from: Uint8Array | undefined = new Uint8Array(0);
  while (from !== undefined) {
    const key = firstKey(reader, from);
    if (key === undefined) break;
    const {prefix, ...about} = componentOf(key, catalog);
    from = keyAfterPrefix(prefix);
    if (about.kind === 'position') continue;
    const scanner = reader.scan([{start: prefix, end: from}]);
    try {
      const sums = {checksum: 0, bytes: 0, rows: 0};
      do {
        rows = nextSlice(scanner, rows);
        const slice = rows.buffer.subarray(0, rows.byteLength);
        sums.checksum = crc32(slice, sums.checksum);
        look(slice);
        sums.bytes += rows.byteLength;
        sums.rows += rows.rowCount;
        await pause();
      } while (!rows.done);
      digests.push({name: about.name, kind: about.kind, ...sums});
    } finally {
      scanner.close();
    }
  }
  return digests;
}

/** The first key at or behind `from`. */
function firstKey(reader: Reader, from: Uint8Array): Uint8Array | undefined {
  const scanner = reader.scan([{start: from}], {keysOnly: true, rowsMax: 1});
  try {
    const rows = nextSlice(scanner, createPackedRows(4 << 10));
    for (const {key} of eachRow(rows)) return key;
    return undefined;
  } finally {
    scanner.close();
  }
}

/** The next rows; in a larger buffer where a single one needs it. */
function nextSlice(scanner: Scanner, rows: PackedRows): PackedRows {
  try {
    return scanner.next(rows);
  } catch (error) {
    if (!(error instanceof RowTooLarge)) throw error;
    return scanner.next(createPackedRows(error.bytesNeeded));
  }
}

interface Component {
  /** The prefix that all its keys have and no others. */
  readonly prefix: Uint8Array;
  readonly name: string;
  /** `position`: where the node stands in its log, and what follows from that. */
  readonly kind: ComponentKind | 'position';
}

function componentOf(key: Uint8Array, catalog: Catalog): Component {
  const [first = 0] = key;
  if (first === systemPrefix) return systemComponent(key);
  const whole = key.subarray(0, 1);
  if (first === namespace.names) return {prefix: whole, name: 'names', kind: 'names'};
  if (first === namespace.strayMembers) return {prefix: whole, name: 'members', kind: 'members'};
  const prefix = key.subarray(0, 5);
  const id = prefix.length === 5 ? uint32At(prefix, 1) : undefined;
  if (id !== undefined && first === namespace.indexes) {
    const name = catalog.indexes.find(index => index.id === id)?.name ?? String(id);
    return {prefix, name: `${name}.index`, kind: 'index'};
  }
  const kind = kindsOfBucket.get(first);
  if (id !== undefined && kind !== undefined) {
    const name = catalog.buckets.find(bucket => bucket.id === id)?.name ?? String(id);
    return {prefix, name: `${name}.${kind}`, kind};
  }
  return {prefix, name: `${Buffer.from(prefix).toString('hex')}.unknown`, kind: 'unknown'};
}

/** What keys begin with that go on with the id of a bucket. */
const kindsOfBucket: ReadonlyMap<number, ComponentKind> = new Map([
  [namespace.records, 'bucket'],
  [namespace.externals, 'values'],
  [namespace.adjacency, 'edges'],
]);

/** Two bytes say what a key of the commit path is. */
function systemComponent(key: Uint8Array): Component {
  const prefix = key.subarray(0, 2);
  const kind = systemKinds.get(prefix[1] ?? 0) ?? 'position';
  const name = kind === 'requests' || kind === 'counters' ? `${kind}-${prefix[1]}` : kind;
  return {prefix, name, kind};
}

const systemKinds: ReadonlyMap<number, ComponentKind> = new Map([
  [catalogKey[1] ?? 0, 'schema'],
  [counterKey('position', 0)[1] ?? 0, 'counters'],
  [counterKey('count', 0)[1] ?? 0, 'counters'],
  [requestKey('')[1] ?? 0, 'requests'],
  [(requestKey('')[1] ?? 0) + 1, 'requests'],
]);
