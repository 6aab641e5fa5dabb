/**
 * The parts of a ZIP archive around files that are stored as they are: a header before each, and
 * the directory at the end.
 *
 * Sizes and checksums stand in front of the bytes, so a reader needs not look ahead. What is
 * larger than the old format's 32 bits say has them in the fields of ZIP64.
 * Source: PKWARE APPNOTE 6.3, sections 4.3 and 4.5.3.
 */
interface ArchiveEntry {
  readonly name: Buffer;
  readonly bytes: number;
  readonly checksum: number;
  /** Of its header in the archive. */
  readonly at: number;
}

const version = 45;
const utf8Names = 0x0800;
/** 1980-01-01: an archive of the same files has the same bytes. */
const date = 0x0021;
const max32 = 0xffff_ffff;
const zip64Id = 1;

export class ZipArchive {
  readonly #entries: ArchiveEntry[] = [];
  #at = 0;

  /** What stands in front of a file; its bytes follow. */
  header(file: string, bytes: number, checksum: number): Buffer {
    const name = Buffer.from(file, 'utf8');
    this.#entries.push({name, bytes, checksum, at: this.#at});
    const isLarge = bytes >= max32;
    const extra = isLarge ? zip64Extra([bytes, bytes]) : Buffer.alloc(0);
    const head = Buffer.alloc(30);
    head.writeUInt32LE(0x04034b50, 0);
    putCommon(head, 4, checksum, isLarge ? max32 : bytes);
    head.writeUInt16LE(name.length, 26);
    head.writeUInt16LE(extra.length, 28);
    const header = Buffer.concat([head, name, extra]);
    this.#at += header.length + bytes;
    return header;
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

function directoryEntry({name, bytes, checksum, at}: ArchiveEntry): Buffer {
  const large = [...(bytes >= max32 ? [bytes, bytes] : []), ...(at >= max32 ? [at] : [])];
  const extra = large.length === 0 ? Buffer.alloc(0) : zip64Extra(large);
  const head = Buffer.alloc(46);
  head.writeUInt32LE(0x02014b50, 0);
  head.writeUInt16LE(version, 4);
  putCommon(head, 6, checksum, Math.min(bytes, max32));
  head.writeUInt16LE(name.length, 28);
  head.writeUInt16LE(extra.length, 30);
  head.writeUInt32LE(Math.min(at, max32), 42);
  return Buffer.concat([head, name, extra]);
}

/** Version needed, flags, method (stored), time, date, checksum and both sizes. */
function putCommon(head: Buffer, at: number, checksum: number, bytes: number): void {
  head.writeUInt16LE(version, at);
  head.writeUInt16LE(utf8Names, at + 2);
  head.writeUInt16LE(date, at + 8);
  head.writeUInt32LE(checksum, at + 10);
  head.writeUInt32LE(bytes, at + 14);
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
