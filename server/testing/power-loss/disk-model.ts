/**
 * What a disk may hold after a power loss, given the calls that came before it.
 *
 * Follows the calls with two truths for each file and directory: what the process saw, and what a
 * completed sync has promised. A crash keeps the promised part and chooses over the rest. Of a
 * file's unsynced writes any may be lost, torn at 512-byte sectors or kept while earlier ones are
 * lost; a hole reads as zeros. Of the unsynced changes of one directory's names a prefix survives
 * (the journals of ext4, xfs and btrfs keep that order, and RocksDB relies on it); different
 * directories and files are independent.
 */
import {mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {assert} from '#server/base/assert.ts';
import type {Random} from '#server/platform/clock.ts';
import type {DiskEvent} from './recording.ts';

const flagCreate = 0o100;
const flagTruncate = 0o1000;
const sectorBytes = 512;

type FileChange =
  | {readonly at: number; readonly offset: number; readonly data: Buffer}
  | {readonly at: number; readonly size: number};

class FileNode {
  readonly changes: FileChange[] = [];
  /** Changes up to this event survive. */
  syncedAt = -1;
}

/** One change of names: atomic, and promised by a sync of the directory `of`. */
interface NameChange {
  readonly at: number;
  readonly of: DirectoryNode;
  readonly entries: readonly {
    readonly directory: DirectoryNode;
    readonly name: string;
    readonly node: Node | undefined;
  }[];
}

class DirectoryNode {
  readonly entries = new Map<string, Node>();
  readonly promised = new Map<string, Node>();
}

type Node = FileNode | DirectoryNode;

/** The disk below `root` of a recorded process. */
export class DiskModel {
  readonly #root: string;
  readonly #top = new DirectoryNode();
  readonly #descriptors = new Map<number, Node>();
  readonly #syncs = new Map<number, {readonly node: Node | undefined; readonly at: number}>();
  #names: NameChange[] = [];
  #at = 0;

  constructor(root: string) {
    this.#root = root;
  }

  apply(event: DiskEvent): void {
    this.#at++;
    switch (event.kind) {
      case 'open':
        return this.#open(event.descriptor, event.flags, event.path);
      case 'close':
        this.#descriptors.delete(event.descriptor);
        return;
      case 'write':
        return this.#change(event.descriptor, {
          at: this.#at,
          offset: event.offset,
          data: event.data,
        });
      case 'truncate':
        return this.#change(event.descriptor, {at: this.#at, size: event.size});
      case 'sync-begin': {
        const node = this.#descriptors.get(event.descriptor);
        this.#syncs.set(event.token, {node, at: this.#at});
        return;
      }
      case 'sync-end':
        return this.#synced(event.token);
      case 'rename':
        return this.#rename(event.from, event.to);
      case 'link':
        return this.#setNames(event.to, this.#find(event.from));
      case 'make-directory':
        return this.#setNames(event.path, new DirectoryNode());
      case 'unlink':
      case 'remove-directory':
        return this.#setNames(event.path, undefined);
      case 'mark':
        return;
    }
  }

  /** Writes one of the states that may be left now into the new directory `target`. */
  crash(random: Random, target: string): void {
    const survivors = new Map<DirectoryNode, Map<string, Node>>();
    const entriesOf = (directory: DirectoryNode): Map<string, Node> => {
      let entries = survivors.get(directory);
      if (entries === undefined) survivors.set(directory, (entries = new Map(directory.promised)));
      return entries;
    };
    const ended = new Set<DirectoryNode>();
    for (const change of this.#names) {
      if (!ended.has(change.of) && random.u32() % 4 === 0) ended.add(change.of);
      if (ended.has(change.of)) continue;
      for (const {directory, name, node} of change.entries) {
        if (node === undefined) entriesOf(directory).delete(name);
        else entriesOf(directory).set(name, node);
      }
    }
    const place = (directory: DirectoryNode, path: string): void => {
      mkdirSync(path, {recursive: true});
      for (const [name, node] of entriesOf(directory)) {
        const below = join(path, name);
        if (node instanceof DirectoryNode) place(node, below);
        else writeFileSync(below, survivingBytes(node, random));
      }
    };
    place(this.#top, target);
  }

  #open(descriptor: number, flags: number, path: string): void {
    let node = this.#find(path);
    if (node === undefined && (flags & flagCreate) !== 0) {
      node = new FileNode();
      this.#setNames(path, node);
    }
    if (node === undefined) return;
    this.#descriptors.set(descriptor, node);
    if ((flags & flagTruncate) !== 0) this.#change(descriptor, {at: this.#at, size: 0});
  }

  #change(descriptor: number, change: FileChange): void {
    const node = this.#descriptors.get(descriptor);
    assert(node instanceof FileNode, 'a written descriptor was opened as a file');
    node.changes.push(change);
  }

  #synced(token: number): void {
    const sync = this.#syncs.get(token);
    assert(sync !== undefined, 'a sync ends that began');
    this.#syncs.delete(token);
    if (sync.node instanceof FileNode) {
      sync.node.syncedAt = Math.max(sync.node.syncedAt, sync.at);
      return;
    }
    const promised = (change: NameChange) => change.of === sync.node && change.at < sync.at;
    for (const change of this.#names.filter(promised)) {
      for (const {directory, name, node} of change.entries) {
        if (node === undefined) directory.promised.delete(name);
        else directory.promised.set(name, node);
      }
    }
    this.#names = this.#names.filter(change => !promised(change));
  }

  #rename(from: string, to: string): void {
    const node = this.#find(from);
    const source = this.#parent(from);
    const target = this.#parent(to);
    if (node === undefined || source === undefined || target === undefined) return;
    const entries = [
      {directory: source.directory, name: source.name, node: undefined},
      {directory: target.directory, name: target.name, node},
    ];
    source.directory.entries.delete(source.name);
    target.directory.entries.set(target.name, node);
    this.#names.push({at: this.#at, of: target.directory, entries});
  }

  #setNames(path: string, node: Node | undefined): void {
    const parent = this.#parent(path);
    if (parent === undefined) return;
    const {directory, name} = parent;
    if (node === undefined) directory.entries.delete(name);
    else directory.entries.set(name, node);
    this.#names.push({at: this.#at, of: directory, entries: [{directory, name, node}]});
  }

  #find(path: string): Node | undefined {
    let node: Node | undefined = this.#top;
    for (const name of this.#namesOf(path)) {
      node = node instanceof DirectoryNode ? node.entries.get(name) : undefined;
    }
    return node;
  }

  #parent(path: string): {readonly directory: DirectoryNode; readonly name: string} | undefined {
    const names = this.#namesOf(path);
    const name = names.pop();
    const directory = this.#find([this.#root, ...names].join('/'));
    return name !== undefined && directory instanceof DirectoryNode ? {directory, name} : undefined;
  }

  #namesOf(path: string): string[] {
    return path
      .slice(this.#root.length)
      .split('/')
      .filter(name => name !== '' && name !== '.');
  }
}

/** The promised bytes of a file and some of what came after. */
function survivingBytes(file: FileNode, random: Random): Buffer {
  const bytes = new Bytes();
  const fate = random.u32() % 4;
  const unsyncedCount = file.changes.filter(change => change.at > file.syncedAt).length;
  let prefixLeft = random.u32() % (unsyncedCount + 1);
  const coin = () => random.u32() % 2 === 0;
  for (const change of file.changes) {
    if (change.at <= file.syncedAt || fate === 1) bytes.apply(change, () => true);
    else if (fate === 2 && prefixLeft > 0) {
      // All up to some point, the last of them perhaps torn.
      prefixLeft--;
      const whole = prefixLeft > 0 || coin();
      bytes.apply(change, () => whole || coin());
    } else if (fate === 3 && random.u32() % 3 !== 0) {
      const whole = random.u32() % 4 !== 0;
      bytes.apply(change, () => whole || coin());
    }
  }
  return bytes.whole();
}

/** A file's bytes while its changes are applied; grows by doubling. */
class Bytes {
  #buffer = Buffer.alloc(4096);
  #size = 0;

  /** Applies the sectors of a write that `keepsSector` lets through. */
  apply(change: FileChange, keepsSector: () => boolean): void {
    if ('size' in change) return this.#resize(change.size);
    const end = change.offset + change.data.length;
    for (let from = change.offset; from < end; ) {
      const to = Math.min(end, (Math.floor(from / sectorBytes) + 1) * sectorBytes);
      if (keepsSector()) {
        if (to > this.#size) this.#resize(to);
        change.data.copy(this.#buffer, from, from - change.offset, to - change.offset);
      }
      from = to;
    }
  }

  whole(): Buffer {
    return this.#buffer.subarray(0, this.#size);
  }

  #resize(size: number): void {
    if (size > this.#buffer.length) {
      const larger = Buffer.alloc(Math.max(size, this.#buffer.length * 2));
      this.#buffer.copy(larger, 0, 0, this.#size);
      this.#buffer = larger;
    }
    // What a cut took away must read as zeros when the file grows again.
    if (size < this.#size) this.#buffer.fill(0, size, this.#size);
    this.#size = size;
  }
}
