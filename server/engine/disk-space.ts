/**
 * Refuses commits before the disk is full, since a commit that was begun has to be finished.
 *
 * Looked at once a second at most, and again when so much was let pass that it could have used up
 * a part of the reserve. The reserve is what the log may still need for the commits under way (one
 * segment) and the stores for what was logged already, and what the operator wants left. Refusals
 * end by themselves when there is room again.
 */
import type {Clock} from '#server/platform/clock.ts';
import type {Disk} from '#server/platform/disk.ts';
import type {Refused} from '#server/transactions/commit.ts';

const lookEveryMs = 1000;
/** Part of the reserve that may be let pass between two looks. */
const uncheckedPart = 1 / 8;

export interface SpaceLimits {
  /** Where the log and the stores lie. */
  readonly paths: readonly string[];
  readonly reserveBytes: number;
}

export class DiskSpace {
  readonly #disk: Disk;
  readonly #clock: Clock;
  readonly #limits: SpaceLimits;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #uncheckedBytes = 0;
  #obstacle: Refused | undefined;

  constructor(disk: Disk, clock: Clock, limits: SpaceLimits) {
    this.#disk = disk;
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Why `bytes` may not be written now; undefined when there is room. */
  obstacle(bytes: number): Refused | undefined {
    const now = this.#clock.monotonic();
    this.#uncheckedBytes += bytes;
    const mayWait =
      now - this.#lookedAt < lookEveryMs &&
      this.#uncheckedBytes < this.#limits.reserveBytes * uncheckedPart;
    if (mayWait) return this.#obstacle;
    this.#lookedAt = now;
    this.#uncheckedBytes = 0;
    this.#obstacle = this.#look();
    return this.#obstacle;
  }

  /**
   * Why a store may not take `bytes` more on its disk for a while, as it is now; undefined when
   * there is room.
   */
  shortage(path: string, bytes: number): string | undefined {
    const {reserveBytes} = this.#limits;
    const free = this.#disk.freeBytes(path);
    if (free - bytes >= reserveBytes) return undefined;
    return `${bytes} bytes are needed for a while: ${described(path, free, reserveBytes)}`;
  }

  #look(): Refused | undefined {
    const {paths, reserveBytes} = this.#limits;
    for (const path of paths) {
      const free = this.#disk.freeBytes(path);
      if (free >= reserveBytes) continue;
      const shortage = described(path, free, reserveBytes);
      const detail = `${shortage}: make room, and writes go on by themselves`;
      return {kind: 'refused', code: 'disk-full', detail};
    }
    return undefined;
  }
}

function described(path: string, free: number, reserveBytes: number): string {
  return (
    `only ${free} bytes are free in ${path}, ${reserveBytes} are kept in reserve ` +
    '(svc.storage.freeSpaceMin)'
  );
}
