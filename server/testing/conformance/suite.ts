/** What a conformance suite is given and what it reports; shared by the suites and their gate. */

/** One case that differs, with a line for each field. */
export interface Difference {
  readonly name: string;
  readonly lines: readonly string[];
  /** Undefined: a failure. */
  readonly tolerated?: Tolerance;
}

/**
 * Differences that are no failures, told by their shape; but for the last, which the baseline
 * names with a sentence of the manual each. They are no passes either: each kind has its own
 * count, which the baseline pins.
 */
export const tolerances = {
  accepted: 'accepted where the reference refuses the text',
  reordered: 'equal but for the order within lists',
  worded: "equal but for the product's own name and texts",
  documented: 'different as the manual says',
} as const;

export type Tolerance = keyof typeof tolerances;

/** A field as the tools compare it. */
export interface FieldDifference {
  readonly path: string;
  readonly expected?: unknown;
  readonly actual?: unknown;
}

/** What a suite reports: every case by name, and of those that differ how. */
export interface SuiteOutcome {
  readonly cases: readonly string[];
  readonly differences: readonly Difference[];
}

/** Where a suite finds the server and its files. */
export interface SuiteSource {
  readonly url: string;
  readonly password: string;
  readonly shared: string;
  /** A folder with files of the suite's format, instead of its own. */
  readonly directory: string | undefined;
  /** Names, or beginnings of names ending in `*`, that are not judged. */
  readonly skipped: readonly string[];
}

/** Whether `name` is meant by `pattern`: the same, or begun by it where it ends in `*`. */
export function matches(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}
