/**
 * The health monitor: warns of a disk that is almost full, of a heap that is, and of pauses of the
 * network thread that grow.
 *
 * It looks at the server every ten seconds. A warning that was given rests: a day for the disk,
 * half an hour for the others, so that a lasting trouble does not fill the events.
 */
import {DAY, MINUTE} from '#server/base/setting-row.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {Clock} from '#server/platform/clock.ts';

/** What is looked at. */
export interface HealthSample {
  /** Undefined where the directory of the databases is gone. */
  readonly disk:
    | {readonly directory: string; readonly freePercent: number; readonly freeBytes: number}
    | undefined;
  readonly heapBytes: number;
  readonly heapBytesMax: number;
  /** Average delay of the network thread since the last sample. */
  readonly pauseMs: number;
}

export interface HealthMonitorOptions {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly settings: () => Settings;
  /** Takes a warning. */
  readonly warn: (message: string) => void;
}

const freePercentMin = 20;
const growthMax = 1.2;
/** Shorter pauses are what timers do anyway. */
const pauseMsMin = 20;

const restsMs = {disk: DAY, heap: 30 * MINUTE, pause: 30 * MINUTE} as const;

export class HealthMonitor {
  readonly #options: HealthMonitorOptions;
  readonly #warnedAt = new Map<keyof typeof restsMs, number>();
  #lastPauseMs: number | undefined;

  constructor(options: HealthMonitorOptions) {
    this.#options = options;
  }

  /** Looks at one sample. */
  look({disk, heapBytes, heapBytesMax, pauseMs}: HealthSample): void {
    const before = this.#lastPauseMs;
    this.#lastPauseMs = pauseMs;
    if (!this.#options.settings().get('svc.server.healthCheck.enabled')) return;
    if (disk !== undefined && disk.freePercent < freePercentMin) {
      const free = `${disk.freePercent} % (${megabytes(disk.freeBytes)})`;
      this.#warn('disk', `Free space on the disk of ${disk.directory} is low: ${free} is left`);
    }
    const available = Math.round((1 - heapBytes / Math.max(1, heapBytesMax)) * 10_000) / 100;
    if (available < freePercentMin) {
      const used = `${megabytes(heapBytes)} of ${megabytes(heapBytesMax)}`;
      this.#warn('heap', `Available heap is low: ${available} %, ${used} are in use`);
    }
    if (before !== undefined && pauseMs >= pauseMsMin && pauseMs > before * growthMax) {
      const [from, to] = [before.toFixed(1), pauseMs.toFixed(1)];
      this.#warn('pause', `Pauses of the network thread grew from ${from} to ${to} ms on average`);
    }
  }

  #warn(about: keyof typeof restsMs, message: string): void {
    const now = this.#options.clock.monotonic();
    const last = this.#warnedAt.get(about);
    if (last !== undefined && now - last < restsMs[about]) return;
    this.#warnedAt.set(about, now);
    this.#options.warn(message);
  }
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / (1 << 20))} MB`;
}
