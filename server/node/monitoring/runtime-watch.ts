/**
 * Watches the process itself: how late the network thread comes to its timers, how busy it is, and
 * its pauses for garbage collection.
 *
 * The runtime counts the delays natively; they are read and begun anew once a window, so that what
 * is told is of the last whole window and not of the whole life of the process.
 */
import {readdirSync} from 'node:fs';
import {
  constants,
  monitorEventLoopDelay,
  type NodeGCPerformanceDetail,
  type PerformanceEntry,
  PerformanceObserver,
  performance,
} from 'node:perf_hooks';
import type {Figures, Sample} from '#server/monitoring/figures.ts';
import {Timings} from '#server/monitoring/timings.ts';
import type {Timers} from '#server/platform/clock.ts';
import type {Machine} from '#server/platform/machine.ts';

/** The last whole window, of pauses in milliseconds. */
export interface LoopWindow {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly meanMs: number;
  /** Share of the window in which the network thread was busy, 0 to 1. */
  readonly busyShare: number;
}

const windowMs = 10_000;
const resolutionMs = 20;
const nanosPerMs = 1e6;

const collections: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weak',
};

export class RuntimeWatch {
  readonly #timers: Pick<Timers, 'after'>;
  readonly #machine: Machine;
  readonly #delays = monitorEventLoopDelay({resolution: resolutionMs});
  readonly #pauses = new Timings();
  readonly #observer = new PerformanceObserver(list => this.#collected(list.getEntries()));
  readonly #listeners = new Set<(window: LoopWindow) => void>();
  #busy = performance.eventLoopUtilization();
  #window: LoopWindow = {p50Ms: 0, p99Ms: 0, maxMs: 0, meanMs: 0, busyShare: 0};
  #cancel: () => void = () => {};

  constructor(timers: Pick<Timers, 'after'>, machine: Machine) {
    this.#timers = timers;
    this.#machine = machine;
  }

  start(): void {
    this.#delays.enable();
    this.#observer.observe({entryTypes: ['gc']});
    this.#later();
  }

  /** Calls `listener` with every window that has ended. */
  onWindow(listener: (window: LoopWindow) => void): void {
    this.#listeners.add(listener);
  }

  /** What the figures are made of ends; they stay as they are. */
  end(): void {
    this.#cancel();
    this.#delays.disable();
    this.#observer.disconnect();
  }

  get cores(): number {
    return this.#machine.processors;
  }

  get heap(): {readonly heapBytes: number; readonly heapBytesMax: number} {
    return {heapBytes: this.#machine.heapBytes, heapBytesMax: this.#machine.heapBytesMax};
  }

  figures(): Figures {
    const {p50Ms, p99Ms, maxMs, busyShare} = this.#window;
    const {user, system} = process.cpuUsage();
    return {
      svc_runtime_event_loop_delay_seconds: [
        quantile('0.5', p50Ms),
        quantile('0.99', p99Ms),
        quantile('1', maxMs),
      ],
      svc_runtime_event_loop_busy_ratio: busyShare,
      svc_runtime_gc_seconds: this.#pauses.samples(),
      svc_runtime_heap_used_bytes: this.#machine.heapBytes,
      svc_runtime_heap_max_bytes: this.#machine.heapBytesMax,
      svc_runtime_resident_bytes: process.memoryUsage.rss(),
      svc_runtime_cpu_seconds_total: (user + system) / 1e6,
      svc_runtime_cpu_cores: this.#machine.processors,
      svc_runtime_uptime_seconds: Math.round(process.uptime()),
      svc_runtime_open_files: openFiles(),
    };
  }

  #later(): void {
    this.#cancel = this.#timers.after(windowMs, () => {
      this.#turn();
      this.#later();
    });
  }

  #turn(): void {
    const busy = performance.eventLoopUtilization();
    const {utilization} = performance.eventLoopUtilization(busy, this.#busy);
    this.#busy = busy;
    const delayMs = (nanos: number): number =>
      Math.max(0, Math.round(nanos / nanosPerMs - resolutionMs));
    const {count} = this.#delays;
    this.#window = {
      p50Ms: count === 0 ? 0 : delayMs(this.#delays.percentile(50)),
      p99Ms: count === 0 ? 0 : delayMs(this.#delays.percentile(99)),
      maxMs: count === 0 ? 0 : delayMs(this.#delays.max),
      meanMs: count === 0 ? 0 : Math.max(0, this.#delays.mean / nanosPerMs - resolutionMs),
      busyShare: Math.round(utilization * 10_000) / 10_000,
    };
    this.#delays.reset();
    for (const listener of this.#listeners) listener(this.#window);
  }

  #collected(entries: readonly PerformanceEntry[]): void {
    for (const entry of entries) {
      const {duration, detail} = entry as PerformanceEntry & {detail: NodeGCPerformanceDetail};
      const {kind} = detail;
      this.#pauses.of([collections[kind] ?? 'other']).add(duration);
    }
  }
}

function quantile(word: string, ms: number): Sample<number> {
  return {labels: [word], value: ms / 1_000};
}

function openFiles(): number {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return -1;
  }
}
