/**
 * The values of metric families at one moment, and who tells them.
 *
 * Whoever counts adds to a plain number of its own; a source reads those numbers when somebody
 * asks, so that a metric costs nothing while nobody does.
 */
import type {DurationHistogram} from './duration-histogram.ts';
import type {families, FamilyName} from './families.ts';

/** One series: the values of its labels, in the order of the family, and its value. */
export interface Sample<Value = number | DurationHistogram> {
  readonly labels: readonly string[];
  readonly value: Value;
}

type ValueOf<Name extends FamilyName> = (typeof families)[Name]['kind'] extends 'histogram'
  ? DurationHistogram
  : number;

/** A single value, or a series for each combination of labels. */
export type Figures = {
  readonly [Name in FamilyName]?: ValueOf<Name> | readonly Sample<ValueOf<Name>>[];
};

/** Series of a family with one label, from values by that label. */
export function byLabel(values: Readonly<Record<string, number>>): Sample<number>[] {
  return Object.entries(values).map(([label, value]) => ({labels: [label], value}));
}
