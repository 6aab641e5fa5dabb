/**
 * The crashable twin of the disk (platform/disk.ts).
 *
 * A write is pending until its file is synced, a name until its directory is; a power loss keeps
 * any part of what is pending: whole writes, single 512-byte sectors of them, in any order, and
 * for names a prefix of each directory's changes. A failed sync drops what it should have
 * written, as kernels do, while reads go on seeing it. A killed process loses nothing.
 */
import {assert} from '#server/base/assert.ts';
import type {Disk, File, OpenMode} from '#server/platform/disk.ts';
import {type Machine, SimulatedDiskError} from './machine.ts';
import type {SeededRandom} from './seeded-random.ts';

const sectorBytes = 512;

interface PendingWrite {
  readonly offset: number;
  readonly bytes: Buffer;
}

/** What lies on the disk under one or more names. */
class Node {
  /** As the running system reads it. */
  current: Buffer = Buffer.alloc(0);
  /** As a power loss finds it, before pending parts are added. */
  durable: Buffer = Buffer.alloc(0);
  pending: PendingWrite[] = [];

  write(offset: number, source: Uint8Array): void {
    const bytes = Buffer.from(source);
    this.current = overwrite(this.current, offset, bytes);
    this.pending.push({offset, bytes});
  }

  /** What a failed sync gave up is read from memory for a while, and is never written. */
  sync(): void {
    for (const {offset, bytes} of this.pending) {
      this.durable = overwrite(this.durable, offset, bytes);
    }
    this.pending = [];
  }

  crash(random: SeededRandom): void {
    let survivor = this.durable;
    const mood = random.below(4);
    for (const write of this.pending) {
      if (mood === 0) continue;
      if (mood === 1) survivor = overwrite(survivor, write.offset, write.bytes);
      else survivor = keepSectors(survivor, write, random);
    }
    this.current = survivor;
    this.durable = Buffer.from(survivor);
    this.pending = [];
  }
}

function overwrite(target: Buffer, offset: number, bytes: Buffer): Buffer {
  const size = Math.max(target.length, offset + bytes.length);
  const result = size > target.length ? Buffer.alloc(size) : target;
  if (result !== target) target.copy(result);
  // The durable buffer is shared with nobody: a copy is made where it was taken over.
  bytes.copy(result, offset);
  return result;
}

/** A sector is written whole or not at all; which ones is up to chance. */
function keepSectors(target: Buffer, write: PendingWrite, random: SeededRandom): Buffer {
  let result: Buffer = Buffer.from(target);
  const end = write.offset + write.bytes.length;
  for (let at = write.offset; at < end; ) {
    const sectorEnd = Math.min(end, (Math.floor(at / sectorBytes) + 1) * sectorBytes);
    if (random.chance(50)) {
      const part = write.bytes.subarray(at - write.offset, sectorEnd - write.offset);
      result = overwrite(result, at, part);
    }
    at = sectorEnd;
  }
  return result;
}

type NameChange =
  | {readonly kind: 'set'; readonly name: string; readonly node: Node | 'directory'}
  | {readonly kind: 'remove'; readonly name: string}
  | {readonly kind: 'rename'; readonly from: string; readonly to: string; readonly node: Node};

interface Directory {
  current: Map<string, Node | 'directory'>;
  durable: Map<string, Node | 'directory'>;
  pending: NameChange[];
}

function applyChange(names: Map<string, Node | 'directory'>, change: NameChange): void {
  if (change.kind === 'set') names.set(change.name, change.node);
  else if (change.kind === 'remove') names.delete(change.name);
  else {
    names.delete(change.from);
    names.set(change.to, change.node);
  }
}

export class SimulatedDisk implements Disk {
  readonly #machine: Machine;
  readonly #directories = new Map<string, Directory>();
  #epoch = 0;
  /** Bytes that may still be written; a fault profile lowers it. */
  freeBytesLeft = Number.MAX_SAFE_INTEGER;

  constructor(machine: Machine) {
    this.#machine = machine;
    this.#directories.set('/', {current: new Map(), durable: new Map(), pending: []});
  }

  open(path: string, mode: OpenMode): File {
    const {directory, name} = this.#locate(path);
    const found = directory.current.get(name);
    assert(found !== 'directory', `${path} is a directory`);
    if (mode === 'create-new' && found !== undefined) throw new Error(`EEXIST: ${path}`);
    if (found === undefined && (mode === 'read' || mode === 'write')) {
      throw new Error(`ENOENT: ${path}`);
    }
    if (found !== undefined) return this.#file(path, found);
    const node = new Node();
    this.#change(directory, {kind: 'set', name, node}, 'create');
    return this.#file(path, node);
  }

  exists(path: string): boolean {
    if (path === '/' || this.#directories.has(path)) return true;
    const parent = this.#directories.get(parentOf(path));
    return parent?.current.has(nameOf(path)) ?? false;
  }

  list(path: string): string[] {
    const directory = this.#directories.get(path);
    return directory === undefined ? [] : [...directory.current.keys()].sort();
  }

  rename(from: string, to: string): void {
    const {directory, name} = this.#locate(from);
    assert(parentOf(from) === parentOf(to), 'renames stay in one directory');
    const node = directory.current.get(name);
    assert(node instanceof Node, `only files are renamed: ${from}`);
    this.#change(directory, {kind: 'rename', from: name, to: nameOf(to), node}, 'rename');
  }

  link(from: string, to: string): void {
    const node = this.#locate(from).directory.current.get(nameOf(from));
    assert(node instanceof Node, `only files are linked: ${from}`);
    this.#change(this.#locate(to).directory, {kind: 'set', name: nameOf(to), node}, 'link');
  }

  unlink(path: string): void {
    const {directory, name} = this.#locate(path);
    if (!directory.current.has(name)) throw new Error(`ENOENT: ${path}`);
    this.#change(directory, {kind: 'remove', name}, 'unlink');
  }

  makeDirectory(path: string): void {
    if (this.#directories.has(path)) return;
    const parent = parentOf(path);
    if (!this.#directories.has(parent)) this.makeDirectory(parent);
    const directory = this.#locate(path).directory;
    this.#directories.set(path, {current: new Map(), durable: new Map(), pending: []});
    const change: NameChange = {kind: 'set', name: nameOf(path), node: 'directory'};
    this.#change(directory, change, 'make-directory');
  }

  removeTree(path: string): void {
    this.#machine.operate('remove-tree', path);
    for (const name of this.#directories.keys()) {
      if (name === path || name.startsWith(`${path}/`)) this.#directories.delete(name);
    }
    const parent = this.#directories.get(parentOf(path));
    parent?.current.delete(nameOf(path));
    parent?.durable.delete(nameOf(path));
  }

  syncDirectory(path: string): void {
    this.#machine.operate('sync-directory', path);
    const directory = this.#directories.get(path);
    assert(directory !== undefined, `no directory ${path}`);
    directory.durable = new Map(directory.current);
    directory.pending = [];
  }

  freeBytes(): number {
    return this.freeBytesLeft;
  }

  /** Uses bytes up; false when there are not so many. */
  takeRoom(bytes: number): boolean {
    if (bytes > this.freeBytesLeft) return false;
    this.freeBytesLeft -= bytes;
    return true;
  }

  /** A power loss: what survives is there afterwards, old handles are dead. */
  crash(random: SeededRandom): void {
    this.#epoch++;
    const nodes = new Set<Node>();
    for (const [path, directory] of sortedByPath(this.#directories)) {
      if (!this.#directories.has(path)) continue;
      const kept = random.below(directory.pending.length + 1);
      for (const change of directory.pending.slice(0, kept)) applyChange(directory.durable, change);
      directory.pending = [];
      directory.current = new Map(directory.durable);
      for (const node of directory.current.values()) if (node !== 'directory') nodes.add(node);
    }
    this.#forgetLostDirectories();
    for (const node of nodes) node.crash(random);
  }

  /** A killed process: the system keeps every write, old handles are dead. */
  kill(): void {
    this.#epoch++;
  }

  #forgetLostDirectories(): void {
    for (const path of [...this.#directories.keys()].sort()) {
      if (path === '/') continue;
      const parent = this.#directories.get(parentOf(path));
      if (parent?.current.get(nameOf(path)) !== 'directory') this.#directories.delete(path);
    }
  }

  #change(
    directory: Directory,
    change: NameChange,
    kind: 'create' | 'rename' | 'link' | 'unlink' | 'make-directory',
  ): void {
    if (!this.#machine.dead) {
      applyChange(directory.current, change);
      directory.pending.push(change);
    }
    this.#machine.operate(
      kind,
      change.kind === 'rename' ? `${change.from} ${change.to}` : change.name,
    );
  }

  #locate(path: string): {readonly directory: Directory; readonly name: string} {
    const directory = this.#directories.get(parentOf(path));
    assert(directory !== undefined, `ENOENT: no directory for ${path}`);
    return {directory, name: nameOf(path)};
  }

  #file(path: string, node: Node): File {
    const epoch = this.#epoch;
    const machine = this.#machine;
    let open = true;
    let syncFailed = false;
    const check = () => {
      assert(open, `${path} is closed`);
      assert(epoch === this.#epoch || machine.dead, `${path} belongs to an ended process`);
    };
    const write = (source: Uint8Array, offset: number, kind: 'write' | 'preallocate') => {
      check();
      const growth = Math.max(0, offset + source.length - node.current.length);
      if (!this.takeRoom(growth)) throw new SimulatedDiskError('ENOSPC', path);
      if (!machine.dead && epoch === this.#epoch) node.write(offset, source);
      machine.operate(kind, `${path} ${offset} ${source.length}`);
    };
    return {
      path,
      readAt(target, offset) {
        check();
        const part = node.current.subarray(offset, offset + target.length);
        target.set(part);
        return part.length;
      },
      writeAt: (source, offset) => write(source, offset, 'write'),
      preallocate(size) {
        check();
        const from = node.current.length;
        if (size > from) write(Buffer.alloc(size - from), from, 'preallocate');
      },
      sync() {
        check();
        assert(!syncFailed, 'a file whose sync failed is not synced again');
        machine.operate('sync', path);
        if ((machine.counts.get('sync') ?? 0) >= machine.failSyncAt) {
          syncFailed = true;
          machine.failSyncAt = Number.POSITIVE_INFINITY;
          machine.trace('sync-failed');
          node.pending = [];
          throw new SimulatedDiskError('EIO', path);
        }
        node.sync();
      },
      truncate(size) {
        check();
        machine.operate('truncate', `${path} ${size}`);
        node.current = Buffer.from(node.current.subarray(0, size));
        if (node.durable.length > size) node.durable = Buffer.from(node.durable.subarray(0, size));
        node.pending = node.pending.filter(
          pending => pending.offset + pending.bytes.length <= size,
        );
      },
      size() {
        check();
        return node.current.length;
      },
      close() {
        open = false;
      },
    };
  }
}

/** A fixed order, so that one seed is one history. */
function sortedByPath(directories: ReadonlyMap<string, Directory>): [string, Directory][] {
  return [...directories].sort(([left], [right]) => (left < right ? -1 : 1));
}

function parentOf(path: string): string {
  const end = path.lastIndexOf('/');
  return end <= 0 ? '/' : path.slice(0, end);
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
