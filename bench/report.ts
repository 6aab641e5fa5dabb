/**
 * What a benchmark prints: one JSON line for each figure, then a table, then the worst gate.
 *
 * A ratio is ours over theirs, always from the same round; the figure is the median of the
 * rounds, the worst round stands beside it. A gate holds when the median is within its bound.
 * Invariant: the last line of a run is the gate with the least margin and whether it holds.
 */

/** The rounds of one figure. Both lists have one value a round, in the same order. */
export interface Figure {
  readonly class: string;
  readonly point: string;
  readonly unit: string;
  readonly ours: readonly number[];
  readonly peer: string;
  readonly theirs: readonly number[];
  readonly durability: string;
  readonly cpuMicrosPerOpOurs?: readonly number[];
  readonly cpuMicrosPerOpTheirs?: readonly number[];
  readonly gate?: Gate;
  /** Anything else worth keeping beside the figure. */
  readonly notes?: Readonly<Record<string, unknown>>;
}

/** A bound on the ratio (or, for a figure without a peer, on the value itself). */
export interface Gate {
  readonly at: 'least' | 'most';
  readonly bound: number;
}

interface Judged {
  readonly name: string;
  readonly value: number;
  readonly gate: Gate;
  /** 1 and above: the gate holds. */
  readonly margin: number;
}

/** The middle value; of an even number, the mean of the two. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? Number.NaN) + upper) / 2;
}

/** The value below which the share of the others lies, from 0 (the least) to 1 (the greatest). */
export function quantileOf(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN;
}

/** Collects figures, prints each as it comes, and the table and the gates at the end. */
export class Report {
  readonly #figures: Figure[] = [];
  readonly #write: (text: string) => void;

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  /** A remark between the figures: what runs now, what was left out. */
  say(text: string): void {
    this.#write(`# ${text}\n`);
  }

  add(figure: Figure): void {
    this.#figures.push(figure);
    this.#write(`${JSON.stringify(lineOf(figure))}\n`);
  }

  /** Prints the table and the worst gate; answers whether all gates hold. */
  finish(): boolean {
    this.#write(`\n${tableOf(this.#figures)}\n`);
    const judged = this.#figures.flatMap(judge).sort((one, other) => one.margin - other.margin);
    const [worst] = judged;
    if (worst === undefined) {
      this.#write('no gate in this run\n');
      return true;
    }
    const holds = worst.margin >= 1;
    const sign = worst.gate.at === 'least' ? '>=' : '<=';
    const failed = judged.filter(({margin}) => margin < 1).length;
    const verdict = holds ? 'holds' : `FAILS (${failed} of ${judged.length} gates)`;
    const value = `${rounded(worst.value)} (bound ${sign} ${worst.gate.bound})`;
    this.#write(`worst gate: ${worst.name} ${value}: ${verdict}
`);
    return holds;
  }
}

function ratios(figure: Figure): number[] {
  if (figure.theirs.length === 0) return [];
  return figure.ours.map((value, round) => value / (figure.theirs[round] ?? Number.NaN));
}

function worstOf(figure: Figure, values: readonly number[]): number {
  return figure.gate?.at === 'most' ? Math.max(...values) : Math.min(...values);
}

function lineOf(figure: Figure) {
  const perRound = ratios(figure);
  const cpu = (values: readonly number[] | undefined): number | undefined =>
    values === undefined || values.length === 0 ? undefined : rounded(median(values));
  return {
    class: figure.class,
    point: figure.point,
    unit: figure.unit,
    ours: rounded(median(figure.ours)),
    peer: figure.peer,
    theirs: figure.theirs.length === 0 ? null : rounded(median(figure.theirs)),
    ratio: perRound.length === 0 ? null : rounded(median(perRound)),
    worstRound: rounded(worstOf(figure, perRound.length === 0 ? figure.ours : perRound)),
    durability: figure.durability,
    cpuMicrosPerOpOurs: cpu(figure.cpuMicrosPerOpOurs),
    cpuMicrosPerOpTheirs: cpu(figure.cpuMicrosPerOpTheirs),
    rounds: figure.ours.length,
    ...(figure.gate === undefined ? {} : {gate: figure.gate}),
    ...figure.notes,
  };
}

/** How often the larger holds the lesser; 0 by 0 holds, and so does any bound above what shrank. */
function marginOf(more: number, less: number): number {
  if (more === less) return 1;
  return less < 0 && more > less ? Number.POSITIVE_INFINITY : more / less;
}

function judge(figure: Figure): Judged[] {
  const {gate} = figure;
  if (gate === undefined) return [];
  const perRound = ratios(figure);
  const value = median(perRound.length === 0 ? figure.ours : perRound);
  const [more, less] = gate.at === 'least' ? [value, gate.bound] : [gate.bound, value];
  const margin = marginOf(more, less);
  const against = figure.theirs.length === 0 ? '' : ` against ${figure.peer}`;
  return [{name: `${figure.class} ${figure.point}${against}`, value, gate, margin}];
}

function tableOf(figures: readonly Figure[]): string {
  const head = ['class', 'point', 'unit', 'ours', 'peer', 'theirs', 'ratio', 'worst', 'gate'];
  const rows = figures.map(figure => {
    const line = lineOf(figure);
    const [judged] = judge(figure);
    const sign = figure.gate?.at === 'most' ? '<=' : '>=';
    const gate =
      judged === undefined
        ? ''
        : `${sign} ${judged.gate.bound} ${judged.margin >= 1 ? 'holds' : 'FAILS'}`;
    return [
      figure.class,
      figure.point,
      figure.unit,
      String(line.ours),
      figure.peer,
      String(line.theirs ?? ''),
      String(line.ratio ?? ''),
      String(line.worstRound),
      gate,
    ];
  });
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map(row => row[column]?.length ?? 0)),
  );
  const print = (row: readonly string[]): string =>
    row
      .map((text, column) => text.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return [head, ...rows].map(print).join('\n');
}

function rounded(value: number): number {
  if (!Number.isFinite(value)) return value;
  return Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3));
}
