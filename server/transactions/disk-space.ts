/**
 * Refuses commits before the disk is full, since a log that cannot write is finished for good.
 *
 * Looked at once a second at most. The reserve is what the log may still need for the commits
 * under way (one segment) and the stores for what was logged already.
 */
import type {Clock} from '#server/platform/clock.ts';
import type {Disk} from '#server/platform/disk.ts';
import type {Refused} from './commit.ts';

const lookEveryMs = 1000;

export interface SpaceLimits {
  readonly path: string;
  readonly reserveBytes: number;
}

export class DiskSpace {
  readonly #disk: Disk;
  readonly #clock: Clock;
  readonly #limits: SpaceLimits;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #obstacle: Refused | undefined;

  constructor(disk: Disk, clock: Clock, limits: SpaceLimits) {
    this.#disk = disk;
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Why nothing may be written now; undefined when there is room. */
  obstacle(): Refused | undefined {
    const now = this.#clock.monotonic();
    if (now - this.#lookedAt < lookEveryMs) return this.#obstacle;
    this.#lookedAt = now;
    const {path, reserveBytes} = this.#limits;
    const free = this.#disk.freeBytes(path);
    const detail = `only ${free} bytes are free in ${path}, ${reserveBytes} are kept in reserve`;
    this.#obstacle =
      free >= reserveBytes ? undefined : {kind: 'refused', code: 'disk-full', detail};
    return this.#obstacle;
  }
}
