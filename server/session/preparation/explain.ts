/**
 * A plan for people (text) and for tools (JSON): what it is likely to do; of a run, what it did.
 *
 * Both are printed from the same figures. The text is a table of the plan's tree: estimated rows of
 * each node; of a run also rows, milliseconds and memory of the node itself. The JSON nests steps
 * as the tree does, with the members that tools know: `cost` and `totalCost` in nanoseconds (-1:
 * not run), of the step itself and with those below it.
 */
import type {NodeProfile, PlanProfile} from '#server/execution/profile.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {nodeText, planLines} from '#server/plan/printer.ts';
import {inputsOf} from '#server/plan/tree.ts';
import type {StepCost} from '#server/monitoring/query-groups.ts';

export interface PlanFigures {
  readonly estimatedRows: (node: PlanNode) => number;
  /** Nodes whose rows come from columns where they are kept. */
  readonly columnNodes: ReadonlySet<PlanNode>;
  /** Set for a statement that was run. */
  readonly run: {readonly profile: PlanProfile; readonly elapsedMs: number} | undefined;
}

export interface Explanation {
  readonly text: string;
  readonly json: string;
}

export function explain(plan: PlanNode, figures: PlanFigures): Explanation {
  const text = tableText(plan, figures);
  const cost = figures.run === undefined ? -1 : nanoseconds(figures.run.elapsedMs);
  const steps = [stepJson(plan, figures)];
  return {text, json: JSON.stringify({type: 'QueryExecutionPlan', cost, prettyPrint: text, steps})};
}

/**
 * Explains a command of the schema: one step, which is no plan of rows.
 *
 * @param command - What it does, words joined by `-`.
 */
export function explainCommand(command: string): Explanation {
  const text = command.replaceAll('-', ' ');
  const name = titled(command);
  const step = {name, type: name, targetNode: name, description: text, cost: -1, totalCost: -1};
  const steps = [{...step, estimatedRows: 1, subSteps: []}];
  return {
    text,
    json: JSON.stringify({type: 'DDLExecutionPlan', cost: -1, prettyPrint: text, steps}),
  };
}

/** A line longer than this moves its own figures, not those of all lines. */
const treeWidthMax = 80;

function tableText(plan: PlanNode, figures: PlanFigures): string {
  const {run} = figures;
  const lines = planLines(plan).map(({text, node}) => ({
    text: text + columnsText(node, figures),
    cells: cellsOf(figures.estimatedRows(node), run && (run.profile.of(node) ?? notRun)),
  }));
  const head = ['estimated', ...(run === undefined ? [] : ['rows', 'ms', 'memory'])];
  const width = Math.min(treeWidthMax, Math.max(...lines.map(({text}) => text.length)));
  const columns = head.map((title, at) =>
    Math.max(title.length, ...lines.map(({cells}) => (cells[at] ?? '').length)),
  );
  const row = (text: string, cells: readonly string[]): string =>
    [text.padEnd(width), ...cells.map((cell, at) => cell.padStart(columns[at] ?? 0))].join('  ');
  const table = [row('', head), ...lines.map(({text, cells}) => row(text, cells))];
  return [...table, ...(run === undefined ? [] : [`${run.elapsedMs.toFixed(3)} ms in all`])].join(
    '\n',
  );
}

/** What is kept beside the records may answer; of a run, what it did answer. */
function columnsText(node: PlanNode, {columnNodes, run}: PlanFigures): string {
  if (!columnNodes.has(node)) return '';
  return run === undefined
    ? ' or its columns'
    : ` (${run.profile.of(node)?.columnRows ?? 0} rows from columns)`;
}

/** Its input was not asked for a row. */
const notRun: NodeProfile = {rows: 0, columnRows: 0, ownMs: 0, totalMs: 0, memoryBytes: 0};

function cellsOf(estimated: number, run: NodeProfile | undefined): readonly string[] {
  const estimate = rounded(estimated);
  if (run === undefined) return [estimate];
  const {rows, ownMs, memoryBytes} = run;
  return [estimate, String(rows), ownMs.toFixed(3), bytesText(memoryBytes)];
}

/** An estimate claims no more digits than it has. */
function rounded(rows: number): string {
  if (rows < 10) return String(Math.round(rows * 10) / 10);
  return String(Math.round(Number(rows.toPrecision(3))));
}

function bytesText(bytes: number): string {
  if (bytes <= 0) return '-';
  if (bytes < 1 << 10) return `${bytes} B`;
  if (bytes < 1 << 20) return `${(bytes / (1 << 10)).toFixed(1)} KiB`;
  return `${(bytes / (1 << 20)).toFixed(1)} MiB`;
}

/** What each node of a plan took by itself, the last one first. */
export function stepCosts(plan: PlanNode, profile: PlanProfile): readonly StepCost[] {
  const own = {name: titled(plan.kind), costMs: profile.of(plan)?.ownMs ?? 0};
  return [own, ...inputsOf(plan).flatMap(input => stepCosts(input, profile))];
}

function stepJson(node: PlanNode, figures: PlanFigures): object {
  const name = titled(node.kind);
  const run = figures.run?.profile.of(node);
  return {
    name,
    type: name,
    targetNode: name,
    description: nodeText(node),
    cost: run === undefined ? -1 : nanoseconds(run.ownMs),
    totalCost: run === undefined ? -1 : nanoseconds(run.totalMs),
    estimatedRows: Number(rounded(figures.estimatedRows(node))),
    ...(figures.columnNodes.has(node) && {columns: true}),
    ...(run && {rows: run.rows, memoryBytes: run.memoryBytes}),
    ...(run && run.columnRows > 0 && {columnRows: run.columnRows}),
    subSteps: inputsOf(node).map(input => stepJson(input, figures)),
  };
}

function titled(words: string): string {
  return words
    .split('-')
    .map(word => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}

function nanoseconds(milliseconds: number): number {
  return Math.round(milliseconds * 1e6);
}
