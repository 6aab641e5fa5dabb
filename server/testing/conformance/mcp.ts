/**
 * The suite `mcp`: the recorded exchanges of agents, replayed after the requests that make their
 * data, and compared field by field; then what outside programs find (mcp-outside.ts).
 *
 * Names and texts that are the product's own (what a tool says of itself, what a prompt tells a
 * model, the words of a refusal) are no behaviour: an answer that differs in those alone is counted
 * apart. So is one that differs as a sentence of docs/mcp.md says.
 */
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {lineOf, runTool} from './http.ts';
import {runClients, runScenarios} from './mcp-outside.ts';
import {isRenumbered, shapeOf} from './shape.ts';
import type {FieldDifference, SuiteOutcome, SuiteSource} from './suite.ts';

/** The groups in the recorded order; what comes before the exchanges makes what they ask about. */
const groups = 'setup,data,users,query,command,tx,batch,ts,vector,mcp'.split(',');
const ownTexts = new RegExp(
  String.raw`\.(description|annotations|serverInfo\.name|instructions)$` +
    String.raw`|\.messages\[\d+\]\.content\.text$`,
);
/** The words of a refusal; what a tool answers is JSON and compared field by field. */
const refusal = /\.result\.content\[0\]\.text$/;

export async function runMcp(source: SuiteSource): Promise<SuiteOutcome> {
  const recorded = await runRecorded(source);
  if (source.directory !== undefined) return recorded;
  const parts = [recorded, await runClients(), await runScenarios(source.skipped)];
  return {
    cases: parts.flatMap(({cases}) => cases),
    differences: parts.flatMap(({differences}) => differences),
  };
}

async function runRecorded(source: SuiteSource): Promise<SuiteOutcome> {
  const recorded = join(
    source.directory ?? join(source.shared, 'conformance/http-transcripts'),
    'http.jsonl',
  );
  const cases = readFileSync(recorded, 'utf8')
    .split('\n')
    .filter(line => line !== '')
    .map(line => (JSON.parse(line) as {name: string}).name)
    .filter(name => name.startsWith('mcp.'));
  const words = ['--brand', 'svc', '--pw', source.password, '--only', groups.join(','), '--quiet'];
  const differing = await runTool<{name: string; diffs: readonly FieldDifference[]}[]>(
    join(source.shared, 'tools/reference-system/replay.mjs'),
    [source.url, ...words, '--against', recorded],
  );
  const differences = differing
    .filter(({name, diffs}) => name.startsWith('mcp.') && !isRenumbered(diffs))
    .map(({name, diffs}) => ({
      name,
      lines: diffs.map(lineOf),
      tolerated: shapeOf(diffs, isOwnText),
    }));
  return {cases, differences};
}

function isOwnText({path, expected, actual}: FieldDifference): boolean {
  if (refusal.test(path)) return typeof expected === 'string' && typeof actual === 'string';
  return ownTexts.test(path);
}
