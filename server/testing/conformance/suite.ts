/** What a conformance suite is given and what it reports; shared by the suites and their gate. */

/** One case that differs, with a line for each field. */
export interface Difference {
  readonly name: string;
  readonly lines: readonly string[];
  /** Its shape; undefined: a failure, unless the baseline gives a reason. */
  readonly tolerated?: Tolerance | undefined;
}

/**
 * Differences that are no failures. Those of the first group are told by their shape, as the
 * fields of an answer prove it; those of the second a baseline names, each with its reason. They
 * are no passes either: each kind has its own count, which the baseline pins.
 */
export const tolerances = {
  accepted: 'accepted where the reference refuses the text',
  reordered: 'equal but for the order within lists',
  worded: 'equal but for words of sentences and names',
  further: 'equal, with further members',
  stricter: 'equal, but 4xx where the mistake of a user is 500 there',
  specified: 'different because the specification says so',
  faulty: 'different because the recorded answer is a fault',
  chosen: 'different by choice',
  absent: 'about data that are not here: of a missing model, or of earlier runs there',
  documented: 'different as the manual says',
} as const;

/** Kinds that no shape proves: a baseline gives the reason. */
export const reasons: ReadonlySet<Tolerance> = new Set<Tolerance>([
  'specified',
  'faulty',
  'chosen',
  'absent',
  'documented',
]);

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
  /** Whether nothing may be spared to be quick, as `make conformance` asks for. */
  readonly isWhole: boolean;
}

/** Whether `name` is meant by `pattern`: the same, or begun by it where it ends in `*`. */
export function matches(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}
