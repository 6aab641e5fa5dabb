/**
 * The crashable twin of the disk (platform/disk.ts).
 *
 * A write is pending until its file is synced, a name until its directory is; a power loss keeps
 * any part of what is pending: whole writes, single 512-byte sectors of them, in any order, and
 * for names a prefix of each directory's changes. A failed sync drops what it should have
 * written, as kernels do, while reads go on seeing it. A killed process loses nothing. A write may
 * be confirmed and lie elsewhere (misdirected-write.ts).
 */
import {assert} from '#server/base/assert.ts';
import type {Disk, File, OpenMode} from '#server/platform/disk.ts';
import {FileContent} from './file-content.ts';
import {type Machine, SimulatedDiskError} from './machine.ts';
import {type FileOnDisk, MisdirectedWrite} from './misdirected-write.ts';
import type {SeededRandom} from './seeded-random.ts';

type NameChange =
  | {readonly kind: 'set'; readonly name: string; readonly node: FileContent | 'directory'}
  | {readonly kind: 'remove'; readonly name: string}
  | {
      readonly kind: 'rename';
      readonly from: string;
      readonly to: string;
      readonly node: FileContent;
    };

interface Directory {
  current: Map<string, FileContent | 'directory'>;
  durable: Map<string, FileContent | 'directory'>;
  pending: NameChange[];
}

function applyChange(names: Map<string, FileContent | 'directory'>, change: NameChange): void {
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
  readonly #misdirected = new MisdirectedWrite();
  #epoch = 0;
  /** Bytes that may still be written; a fault profile lowers it. */
  freeBytesLeft = Number.MAX_SAFE_INTEGER;
  /** What is written takes room anew, within files too: old blocks are never overwritten. */
  copiesOnWrite = false;

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
    const node = new FileContent();
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
    assert(node instanceof FileContent, `only files are renamed: ${from}`);
    this.#change(directory, {kind: 'rename', from: name, to: nameOf(to), node}, 'rename');
  }

  link(from: string, to: string): void {
    const node = this.#locate(from).directory.current.get(nameOf(from));
    assert(node instanceof FileContent, `only files are linked: ${from}`);
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

  /** One of the next writes is confirmed and lies elsewhere, by this chance. */
  misdirect(random: SeededRandom): void {
    this.#misdirected.plan(random);
  }

  /** Whether a write went astray, so that acknowledged bytes may be gone. */
  get isDamaged(): boolean {
    return this.#misdirected.count > 0;
  }

  /** A power loss: what survives is there afterwards, old handles are dead. */
  crash(random: SeededRandom): void {
    this.#epoch++;
    this.#misdirected.crash();
    const nodes = new Set<FileContent>();
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

  #files(): FileOnDisk[] {
    const files: FileOnDisk[] = [];
    for (const [directory, {current}] of sortedByPath(this.#directories)) {
      for (const [name, content] of current) {
        if (content !== 'directory') files.push({path: `${directory}/${name}`, content});
      }
    }
    return files;
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

  #file(path: string, node: FileContent): File {
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
      const isCopy = this.copiesOnWrite && kind === 'write';
      if (!this.takeRoom(isCopy ? source.length : growth))
        throw new SimulatedDiskError('ENOSPC', path);
      if (!machine.dead && epoch === this.#epoch) node.write(offset, source);
      machine.operate(kind, `${path} ${offset} ${source.length}`);
    };
    const store = (): void => {
      const hit = this.#misdirected.sync(node, () => this.#files());
      if (hit !== undefined) machine.trace(`misdirected ${hit}`);
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
          node.giveUp();
          throw new SimulatedDiskError('EIO', path);
        }
        store();
      },
      truncate(size) {
        check();
        machine.operate('truncate', `${path} ${size}`);
        node.truncate(size);
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
