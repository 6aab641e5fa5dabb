/**
 * What is known of the data when a plan is made: how many records, how their values lie.
 *
 * The narrow side of the data towards the optimizer. Counts are those of committed records;
 * everything else is an estimate from a sample. Answers do not change while a plan is made, and
 * the same answers give the same plan. Undefined: nothing is known, and the optimizer assumes.
 */
import type {Value} from '#server/model/value.ts';

export interface Statistics {
  /** Records of a type, with those of its subtypes. */
  recordCount(type: string): number | undefined;
  /** One property over the records of a type and its subtypes. */
  property(type: string, name: string): PropertyStatistics | undefined;
  /** Edges of a type and its subtypes, by the types of the vertices at their ends. */
  edges(type: string): EdgeStatistics | undefined;
}

export interface PropertyStatistics {
  /** Share of the records that have a value other than null. */
  readonly present: number;
  /** Different values among all records. */
  readonly distinct: number;
  /** Values that many records have, with their share of all records. */
  readonly frequent: readonly {readonly value: Value; readonly share: number}[];
  /** Values at equal distances in their order, the least first; empty when nothing was seen. */
  readonly quantiles: readonly Value[];
}

/** Shares by the name of the very type of the vertex. */
export interface EdgeStatistics {
  readonly count: number;
  readonly from: ReadonlyMap<string, number>;
  readonly to: ReadonlyMap<string, number>;
}

export const noStatistics: Statistics = {
  recordCount: () => undefined,
  property: () => undefined,
  edges: () => undefined,
};
