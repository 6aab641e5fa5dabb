/**
 * What stands around the files of a ZIP archive that is written from front to back: a header before
 * each file, a descriptor behind it when its size was not known before, the directory at the end.
 *
 * Sizes that the 32 bits of the old format cannot hold stand in the fields of ZIP64. Entries have
 * no time of their own: archives of the same bytes are the same.
 * Source: PKWARE APPNOTE 6.3, sections 4.3 and 4.5.3.
 */

/** A file whose bytes are written as they are. */
export interface StoredFile {
  readonly name: string;
  readonly bytes: number;
  readonly checksum: number;
}

interface Entry {
  readonly name: Buffer;
  readonly method: number;
  readonly flags: number;
  readonly checksum: number;
  readonly compressed: number;
  readonly bytes: number;
  /** Where its header stands in the archive. */
  readonly at: number;
}

const version = 45;
const utf8Names = 0x0800;
const sizesFollow = 0x0008;
const stored = 0;
const deflated = 8;
/** 1980-01-01. */
const date = 0x0021;
const max32 = 0xffff_ffff;
/** What deflate makes longer by its framing still fits into 32 bits below this. */
const largeBytes = 0xf000_0000;
const zip64Id = 1;

export class ZipHeaders {
  readonly #entries: Entry[] = [];
  #at = 0;
  #begun: {readonly name: Buffer; readonly at: number; readonly isLarge: boolean} | undefined;

  /** What stands in front of a file whose bytes follow as they are. */
  stored({name: file, bytes, checksum}: StoredFile): Buffer {
    const name = Buffer.from(file, 'utf8');
    const entry = {name, method: stored, flags: utf8Names, checksum, bytes, compressed: bytes};
    this.#entries.push({...entry, at: this.#at});
    const isLarge = bytes >= max32;
    const header = localHeader(entry, isLarge ? zip64Extra([bytes, bytes]) : undefined);
    this.#at += header.length + bytes;
    return header;
  }

  /** What stands in front of a file of about `bytes` whose bytes follow deflated. */
  beginDeflated(file: string, bytes: number): Buffer {
    const name = Buffer.from(file, 'utf8');
    const isLarge = bytes >= largeBytes;
    this.#begun = {name, at: this.#at, isLarge};
    const flags = utf8Names | sizesFollow;
    const entry = {name, method: deflated, flags, checksum: 0, bytes: 0, compressed: 0};
    const header = localHeader(entry, isLarge ? zip64Extra([0, 0]) : undefined);
    this.#at += header.length;
    return header;
  }

  /** What stands behind the deflated bytes of the file that was begun. */
  endDeflated(sizes: {
    readonly bytes: number;
    readonly compressed: number;
    readonly checksum: number;
  }): Buffer {
    const begun = this.#begun;
    if (begun === undefined) throw new Error('no file was begun');
    this.#begun = undefined;
    const {name, at, isLarge} = begun;
    this.#entries.push({name, method: deflated, flags: utf8Names | sizesFollow, at, ...sizes});
    const descriptor = Buffer.alloc(isLarge ? 24 : 16);
    descriptor.writeUInt32LE(0x08074b50, 0);
    descriptor.writeUInt32LE(sizes.checksum, 4);
    if (isLarge) {
      descriptor.writeBigUInt64LE(BigInt(sizes.compressed), 8);
      descriptor.writeBigUInt64LE(BigInt(sizes.bytes), 16);
    } else {
      descriptor.writeUInt32LE(sizes.compressed, 8);
      descriptor.writeUInt32LE(sizes.bytes, 12);
    }
    this.#at += sizes.compressed + descriptor.length;
    return descriptor;
  }

  /** What stands behind the last file. */
  end(): Buffer {
    const directory = Buffer.concat(this.#entries.map(directoryEntry));
    const count = this.#entries.length;
    const largeEnd = Buffer.alloc(76);
    largeEnd.writeUInt32LE(0x06064b50, 0);
    largeEnd.writeBigUInt64LE(44n, 4);
    largeEnd.writeUInt16LE(version, 12);
    largeEnd.writeUInt16LE(version, 14);
    largeEnd.writeBigUInt64LE(BigInt(count), 24);
    largeEnd.writeBigUInt64LE(BigInt(count), 32);
    largeEnd.writeBigUInt64LE(BigInt(directory.length), 40);
    largeEnd.writeBigUInt64LE(BigInt(this.#at), 48);
    // Where the record above begins.
    largeEnd.writeUInt32LE(0x07064b50, 56);
    largeEnd.writeBigUInt64LE(BigInt(this.#at + directory.length), 64);
    largeEnd.writeUInt32LE(1, 72);
    const end = Buffer.alloc(22);
    end.writeUInt32LE(0x06054b50, 0);
    end.writeUInt16LE(Math.min(count, 0xffff), 8);
    end.writeUInt16LE(Math.min(count, 0xffff), 10);
    end.writeUInt32LE(Math.min(directory.length, max32), 12);
    end.writeUInt32LE(Math.min(this.#at, max32), 16);
    return Buffer.concat([directory, largeEnd, end]);
  }
}

function localHeader(entry: Omit<Entry, 'at'>, extra: Buffer | undefined): Buffer {
  const head = Buffer.alloc(30);
  head.writeUInt32LE(0x04034b50, 0);
  putCommon(head, 4, entry, extra === undefined ? entry : {bytes: max32, compressed: max32});
  head.writeUInt16LE(entry.name.length, 26);
  head.writeUInt16LE(extra?.length ?? 0, 28);
  return Buffer.concat([head, entry.name, ...(extra === undefined ? [] : [extra])]);
}

function directoryEntry(entry: Entry): Buffer {
  const {name, bytes, compressed, at} = entry;
  const large = [bytes, compressed, at].filter(value => value >= max32);
  const extra = large.length === 0 ? Buffer.alloc(0) : zip64Extra(large);
  const head = Buffer.alloc(46);
  head.writeUInt32LE(0x02014b50, 0);
  head.writeUInt16LE(version, 4);
  putCommon(head, 6, entry, {
    bytes: Math.min(bytes, max32),
    compressed: Math.min(compressed, max32),
  });
  head.writeUInt16LE(name.length, 28);
  head.writeUInt16LE(extra.length, 30);
  head.writeUInt32LE(Math.min(at, max32), 42);
  return Buffer.concat([head, name, extra]);
}

/** Version needed, flags, method, time, date, checksum and both sizes. */
function putCommon(
  head: Buffer,
  at: number,
  {flags, method, checksum}: Pick<Entry, 'flags' | 'method' | 'checksum'>,
  {bytes, compressed}: Pick<Entry, 'bytes' | 'compressed'>,
): void {
  head.writeUInt16LE(version, at);
  head.writeUInt16LE(flags, at + 2);
  head.writeUInt16LE(method, at + 4);
  head.writeUInt16LE(date, at + 8);
  head.writeUInt32LE(checksum, at + 10);
  head.writeUInt32LE(compressed, at + 14);
  head.writeUInt32LE(bytes, at + 18);
}

function zip64Extra(values: readonly number[]): Buffer {
  const extra = Buffer.alloc(4 + values.length * 8);
  extra.writeUInt16LE(zip64Id, 0);
  extra.writeUInt16LE(values.length * 8, 2);
  for (const [place, value] of values.entries()) {
    extra.writeBigUInt64LE(BigInt(value), 4 + place * 8);
  }
  return extra;
}
