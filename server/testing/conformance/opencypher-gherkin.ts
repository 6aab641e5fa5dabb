/**
 * Feature files of the openCypher suite as cases: every scenario once, every outline once an
 * example row, with the background's steps in front.
 *
 * The part of Gherkin that the suite is written in: steps with a doc string or a table behind
 * them, tags, comments, outlines with several tables of examples.
 */

export interface Step {
  /** The text behind its first word. */
  readonly text: string;
  readonly docString: string | undefined;
  readonly table: readonly (readonly string[])[];
}

export interface Case {
  /** Path of the feature below the suite, the scenario, the number of the example. */
  readonly name: string;
  readonly steps: readonly Step[];
}

interface Draft {
  readonly title: string;
  readonly steps: Step[];
  readonly examples: string[][][];
}

/** @param file - The file's name in the names of its cases. */
export function readFeature(text: string, file: string): readonly Case[] {
  const lines = text.split(/\r?\n/);
  const background: Draft = {title: '', steps: [], examples: []};
  const drafts: Draft[] = [];
  let draft = background;
  let inExamples = false;
  for (let at = 0; at < lines.length; at++) {
    const line = (lines[at] ?? '').trim();
    const title = /^(?:Scenario Outline|Scenario):\s*(.*)$/.exec(line);
    if (title !== null) {
      draft = {title: title[1] ?? '', steps: [], examples: []};
      drafts.push(draft);
      inExamples = false;
    } else if (line.startsWith('Examples:')) {
      draft.examples.push([]);
      inExamples = true;
    } else if (/^(?:Given|When|Then|And|But)\b/.test(line)) {
      const {step, next} = readStep(lines, at);
      draft.steps.push(step);
      at = next - 1;
    } else if (line.startsWith('|') && inExamples) {
      draft.examples.at(-1)?.push(cells(line));
    }
  }
  return drafts.flatMap(one => casesOf(one, background.steps, file));
}

/** The step at `at` with what belongs to it, and the line behind. */
function readStep(
  lines: readonly string[],
  at: number,
): {readonly step: Step; readonly next: number} {
  const text = (lines[at] ?? '').trim().replace(/^\w+\s+/, '');
  let next = at + 1;
  while (next < lines.length && (lines[next] ?? '').trim() === '') next++;
  const table: string[][] = [];
  const opening = /^(\s*)"""/.exec(lines[next] ?? '');
  if (opening !== null) {
    const indent = opening[1]?.length ?? 0;
    const content: string[] = [];
    for (next++; next < lines.length && (lines[next] ?? '').trim() !== '"""'; next++) {
      const line = lines[next] ?? '';
      content.push(line.slice(Math.min(indent, line.length - line.trimStart().length)));
    }
    return {step: {text, docString: content.join('\n'), table}, next: next + 1};
  }
  let end = at + 1;
  while (next < lines.length) {
    const line = (lines[next] ?? '').trim();
    if (line.startsWith('|')) {
      table.push(cells(line));
      end = next + 1;
    } else if (line !== '' && !line.startsWith('#')) break;
    next++;
  }
  return {step: {text, docString: undefined, table}, next: end};
}

/** `| a | b \| c |`: cells between unescaped bars. */
function cells(line: string): string[] {
  const inner = line.replace(/^\|/, '').replace(/\|\s*$/, '');
  return inner.split(/(?<!\\)\|/).map(cell => cell.trim().replace(/\\([\\|])/g, '$1'));
}

function casesOf(draft: Draft, background: readonly Step[], file: string): readonly Case[] {
  const steps = [...background, ...draft.steps];
  if (draft.examples.length === 0) return [{name: `${file}: ${draft.title}`, steps}];
  const rows = draft.examples.flatMap(([names = [], ...values]) =>
    values.map(value => new Map(names.map((name, at) => [name, value[at] ?? '']))),
  );
  return rows.map((row, at) => ({
    name: `${file}: ${draft.title} #${at + 1}`,
    steps: steps.map(step => filled(step, row)),
  }));
}

function filled(step: Step, row: ReadonlyMap<string, string>): Step {
  const fill = (text: string): string =>
    text.replace(/<([^<>\s][^<>]*)>/g, (whole, name: string) => row.get(name) ?? whole);
  return {
    text: fill(step.text),
    docString: step.docString === undefined ? undefined : fill(step.docString),
    table: step.table.map(cellsOfRow => cellsOfRow.map(fill)),
  };
}
