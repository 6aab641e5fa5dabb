/**
 * Histograms of durations by labels, as many as there are combinations, up to a bound.
 *
 * Whoever times the same thing again keeps the histogram, and looks it up no more.
 */
import {DurationHistogram} from './duration-histogram.ts';
import type {Sample} from './figures.ts';

const seriesMax = 1_000;
const separator = '\u0000';

export class Timings {
  readonly #series = new Map<string, Sample<DurationHistogram>>();

  /** Whether there are so many series that no name of a client makes a further one. */
  get isFull(): boolean {
    return this.#series.size >= seriesMax;
  }

  /** Where durations with these labels are added; the same one every time. */
  of(labels: readonly string[]): DurationHistogram {
    const key = labels.join(separator);
    const known = this.#series.get(key);
    if (known !== undefined) return known.value;
    const value = new DurationHistogram();
    this.#series.set(key, {labels, value});
    return value;
  }

  /** Whether durations with these labels were added before. */
  has(labels: readonly string[]): boolean {
    return this.#series.has(labels.join(separator));
  }

  /** Every series, ordered by its labels. */
  samples(): Sample<DurationHistogram>[] {
    const entries = [...this.#series].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return entries.map(([, sample]) => sample);
  }

  /** The longest duration of every series, in seconds. */
  maxima(): Sample<number>[] {
    return this.samples().map(({labels, value}) => ({labels, value: value.maxSeconds}));
  }
}
