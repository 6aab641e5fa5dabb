/**
 * Writes the metrics into the log from time to time, for servers that nobody scrapes: every
 * `svc.dumpMetricsEvery` seconds, else every minute where `svc.serverMetrics.logging` is on.
 *
 * A line has the number of each family without labels, and of the others the sum of their series;
 * a histogram tells how many and how long in all. Nothing runs while no dump is wanted.
 */
import {MINUTE} from '#server/base/setting-row.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {Timers} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import {DurationHistogram} from './duration-histogram.ts';
import type {Figures, Sample} from './figures.ts';

export interface MetricsDumpOptions {
  readonly timers: Pick<Timers, 'after'>;
  readonly logger: Logger;
  readonly figures: () => Figures;
}

export class MetricsDump {
  readonly #options: MetricsDumpOptions;
  #periodMs = 0;
  #cancel: () => void = () => {};

  constructor(options: MetricsDumpOptions) {
    this.#options = options;
  }

  /** Goes by these settings from now on; a period that has begun begins anew when it changes. */
  follow(settings: Settings): void {
    const periodMs = periodOf(settings);
    if (periodMs === this.#periodMs) return;
    this.#periodMs = periodMs;
    this.#cancel();
    if (periodMs > 0) this.#later();
  }

  /** Writes a last dump where dumps are wanted, and no further one. */
  end(): void {
    this.#cancel();
    if (this.#periodMs > 0) this.#dump();
    this.#periodMs = 0;
  }

  #later(): void {
    this.#cancel = this.#options.timers.after(this.#periodMs, () => {
      this.#dump();
      this.#later();
    });
  }

  #dump(): void {
    const {logger, figures} = this.#options;
    logger.log('info', 'metrics.dump', {metrics: totalsOf(figures())});
  }
}

function periodOf(settings: Settings): number {
  if (!settings.get('svc.serverMetrics')) return 0;
  const every = settings.get('svc.dumpMetricsEvery');
  if (every > 0) return every;
  return settings.get('svc.serverMetrics.logging') ? MINUTE : 0;
}

/** One number for each family, two for a histogram. */
function totalsOf(figures: Figures): Readonly<Record<string, number>> {
  const totals: Record<string, number> = {};
  for (const [name, figure] of Object.entries(figures)) {
    const samples = (Array.isArray(figure) ? figure : [{labels: [], value: figure}]) as Sample[];
    for (const {value} of samples) {
      if (value instanceof DurationHistogram) {
        totals[`${name}_count`] = (totals[`${name}_count`] ?? 0) + value.count;
        totals[`${name}_sum`] = (totals[`${name}_sum`] ?? 0) + value.sumSeconds;
      } else if (!name.endsWith('_max')) totals[name] = (totals[name] ?? 0) + value;
    }
  }
  return totals;
}
