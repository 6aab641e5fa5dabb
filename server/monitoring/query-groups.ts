/**
 * Executions of statements, the last ten thousand, grouped by database, language and text.
 *
 * White space in a text does not count, and a text is kept once for all its executions.
 */

/** One execution, in milliseconds. */
export interface ProfiledExecution {
  readonly database: string;
  readonly language: string;
  readonly text: string;
  /** The time from when the request had come to when its result ended. */
  readonly totalMs: number;
  /** Reading the request, before the statement was handed over. */
  readonly deserializationMs: number;
  readonly steps: readonly StepCost[] | undefined;
  /** What its client calls itself. */
  readonly clientName?: string | undefined;
}

/** What a node of the plan took by itself. */
export interface StepCost {
  readonly name: string;
  readonly costMs: number;
}

/** Executions that are kept; older ones are forgotten. */
const executionsMax = 10_000;
/** Characters of a text that are kept. */
const textCharactersMax = 4_096;

/** Costs of all executions of one statement, in milliseconds with two decimals. */
export interface ProfiledQueryGroup {
  readonly queryText: string;
  readonly language: string;
  readonly database: string;
  readonly executionCount: number;
  readonly totalTimeMs: number;
  readonly minTimeMs: number;
  readonly maxTimeMs: number;
  readonly avgTimeMs: number;
  readonly p99TimeMs: number;
  readonly steps: readonly ProfiledStep[];
  /** What their clients call themselves, where they do, sorted. */
  readonly clientNames: readonly string[];
  /** The same figures with `engine`, `deserialization` and `serialization` before them. */
  readonly [prefixed: string]: unknown;
}

interface ProfiledStep {
  readonly name: string;
  readonly executionCount: number;
  readonly measuredCount: number;
  readonly totalCostMs: number;
  readonly minCostMs: number;
  readonly maxCostMs: number;
  readonly avgCostMs: number;
  readonly p99CostMs: number;
}

/** A statement with everything that is kept of it. */
interface Group {
  readonly database: string;
  readonly language: string;
  readonly text: string;
  readonly key: string;
  /** How many of the ring are of it. */
  kept: number;
}

interface Kept {
  readonly group: Group;
  readonly totalMs: number;
  readonly deserializationMs: number;
  readonly steps: readonly StepCost[] | undefined;
  readonly clientName: string | undefined;
}

export class QueryGroups {
  readonly #ring: Kept[] = [];
  readonly #groups = new Map<string, Group>();
  #next = 0;

  /** Executions that are kept. */
  get executions(): number {
    return this.#ring.length;
  }

  /** Whether the steps of every execution are known. */
  get isMeasured(): boolean {
    return this.#ring.every(({steps}) => steps !== undefined);
  }

  add({database, language, text, ...execution}: ProfiledExecution): void {
    const {totalMs, deserializationMs, steps, clientName} = execution;
    const group = this.#groupOf(database, language, text);
    group.kept += 1;
    const kept = {group, totalMs, deserializationMs, steps, clientName};
    const former = this.#ring[this.#next];
    this.#ring[this.#next] = kept;
    this.#next = (this.#next + 1) % executionsMax;
    if (former === undefined) return;
    former.group.kept -= 1;
    if (former.group.kept === 0) this.#groups.delete(former.group.key);
  }

  clear(): void {
    this.#ring.length = 0;
    this.#groups.clear();
    this.#next = 0;
  }

  /** The databases of what is kept, sorted. */
  databases(): string[] {
    return [...new Set(this.#ring.map(({group}) => group.database))].toSorted();
  }

  /** The statement that took most in all first. */
  toJSON(): ProfiledQueryGroup[] {
    const byGroup = Map.groupBy(this.#ring, ({group}) => group);
    return [...byGroup]
      .map(([group, executions]) => told(group, executions))
      .toSorted((one, other) => other.totalTimeMs - one.totalTimeMs);
  }

  #groupOf(database: string, language: string, text: string): Group {
    const whole = text
      .slice(0, textCharactersMax + 1)
      .replaceAll(/\s+/g, ' ')
      .trim();
    const cut =
      whole.length > textCharactersMax ? `${whole.slice(0, textCharactersMax)}...` : whole;
    const key = JSON.stringify([database, language, cut]);
    const known = this.#groups.get(key);
    if (known !== undefined) return known;
    const group = {database, language, text: cut, key, kept: 0};
    this.#groups.set(key, group);
    return group;
  }
}

function told(group: Group, executions: readonly Kept[]): ProfiledQueryGroup {
  const total = figuresOf(executions.map(({totalMs}) => totalMs));
  const read = figuresOf(executions.map(({deserializationMs}) => deserializationMs));
  const engine = figuresOf(
    executions.map(({totalMs, deserializationMs}) => totalMs - deserializationMs),
  );
  const none = figuresOf(executions.map(() => 0));
  return {
    queryText: group.text,
    language: group.language,
    database: group.database,
    executionCount: executions.length,
    totalTimeMs: total.total,
    minTimeMs: total.min,
    maxTimeMs: total.max,
    avgTimeMs: total.avg,
    p99TimeMs: total.p99,
    ...prefixed('engine', engine),
    ...prefixed('deserialization', read),
    // Rows become JSON while the engine makes them.
    ...prefixed('serialization', none),
    steps: stepsOf(executions),
    clientNames: namesOf(executions),
  };
}

function namesOf(executions: readonly Kept[]): readonly string[] {
  const names = new Set(executions.flatMap(({clientName}) => clientName ?? []));
  return [...names].toSorted();
}

function stepsOf(executions: readonly Kept[]): ProfiledStep[] {
  const costs = new Map<string, number[]>();
  for (const {steps} of executions) {
    for (const [name, costMs] of namedOf(steps ?? [])) {
      const known = costs.get(name);
      if (known === undefined) costs.set(name, [costMs]);
      else known.push(costMs);
    }
  }
  return [...costs].map(([name, values]) => {
    const {total, min, max, avg, p99} = figuresOf(values);
    return {
      name,
      executionCount: values.length,
      measuredCount: values.length,
      totalCostMs: total,
      minCostMs: min,
      maxCostMs: max,
      avgCostMs: avg,
      p99CostMs: p99,
    };
  });
}

/** The cost of one execution by the name of the step; two nodes of a name are one step. */
function namedOf(steps: readonly StepCost[]): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const {name, costMs} of steps) sums.set(name, (sums.get(name) ?? 0) + costMs);
  return sums;
}

interface CostFigures {
  readonly total: number;
  readonly min: number;
  readonly max: number;
  readonly avg: number;
  readonly p99: number;
}

function figuresOf(values: readonly number[]): CostFigures {
  const sorted = Float64Array.from(values).sort();
  const total = sorted.reduce((sum, value) => sum + value, 0);
  const at = Math.min(sorted.length - 1, Math.ceil(sorted.length * 0.99) - 1);
  return {
    total: rounded(total),
    min: rounded(sorted[0] ?? 0),
    max: rounded(sorted.at(-1) ?? 0),
    avg: rounded(total / Math.max(1, sorted.length)),
    p99: rounded(sorted[at] ?? 0),
  };
}

function prefixed(word: string, figures: CostFigures): Readonly<Record<string, number>> {
  return {
    [`${word}TotalTimeMs`]: figures.total,
    [`${word}MinTimeMs`]: figures.min,
    [`${word}MaxTimeMs`]: figures.max,
    [`${word}AvgTimeMs`]: figures.avg,
    [`${word}P99TimeMs`]: figures.p99,
  };
}

function rounded(ms: number): number {
  return Math.round(ms * 100) / 100;
}
