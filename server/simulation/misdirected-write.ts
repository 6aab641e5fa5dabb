/**
 * A write that a disk confirms and puts elsewhere: where it belongs lies what was there before, and
 * what it fell on is gone. Memory shows the right bytes until it needs the room.
 *
 * It comes to light with the next sync of the same file, and does not fall on the last batch of a
 * log: an end that a disk has lost cannot be told from one that was never written, by this log or
 * any other that is written once (docs/design/0022-whole-servers-simulated.md).
 */
import type {FileContent} from './file-content.ts';
import type {SeededRandom} from './seeded-random.ts';

/** A file that something can fall on. */
export interface FileOnDisk {
  readonly path: string;
  readonly content: FileContent;
}

interface Astray {
  readonly content: FileContent;
  readonly offset: number;
  readonly bytes: Buffer;
  /** What lay there before. */
  readonly before: Buffer;
}

/** What goes astray as one at most; a disk is written in blocks of it. */
const blockBytes = 4096;
const sectorBytes = 512;

export class MisdirectedWrite {
  /** Writes that have gone astray and come to light. */
  count = 0;
  #random: SeededRandom | undefined;
  #astray: Astray | undefined;

  /** One of the next writes goes astray, by this chance. */
  plan(random: SeededRandom): void {
    this.#random = random;
  }

  /** Syncs a file; answers the path of the file that was hit when a write came to light. */
  sync(content: FileContent, files: () => readonly FileOnDisk[]): string | undefined {
    const random = this.#random;
    const astray = this.#astray;
    const isConcerned = content.pending.length > 0 && (astray?.content ?? content) === content;
    if (random === undefined || !isConcerned) {
      content.sync();
      return undefined;
    }
    if (astray === undefined) this.#goAstray(content, random);
    content.sync();
    return astray && this.#comeToLight(astray, files(), random);
  }

  /** What had not come to light never happened. */
  crash(): void {
    this.#astray = undefined;
  }

  #goAstray(content: FileContent, random: SeededRandom): void {
    const {offset, bytes} = random.pick(content.pending);
    const block = bytes.subarray(0, blockBytes);
    const before = Buffer.alloc(block.length);
    content.durable.copy(before, 0, offset, offset + block.length);
    this.#astray = {content, offset, bytes: block, before};
  }

  #comeToLight(
    {content, offset, bytes, before}: Astray,
    files: readonly FileOnDisk[],
    random: SeededRandom,
  ): string {
    this.#random = undefined;
    this.#astray = undefined;
    this.count++;
    const isInMemory = random.chance(50);
    if (!content.isNewest(offset, bytes.length)) content.damage(offset, before, isInMemory);
    const hit = random.pick(files.filter(file => file.content.durable.length > 0));
    const sectors = Math.ceil(hit.content.durable.length / sectorBytes);
    const at = random.below(sectors) * sectorBytes;
    const isEnd = isLog(hit.path) && hit.content.isNewest(at, bytes.length);
    if (!isEnd) hit.content.damage(at, bytes, isInMemory);
    return hit.path;
  }
}

function isLog(path: string): boolean {
  return path.includes('/segment-');
}
