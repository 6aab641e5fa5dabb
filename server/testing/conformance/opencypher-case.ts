/**
 * One case of the openCypher suite, carried out against a database of its own.
 *
 * Side effects are counted by comparing the graph before and after the query, so that a wrong
 * statistic cannot hide a wrong write. An error is judged by its type, its phase and its reason.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Value} from '#server/model/value.ts';
import type {Case, Step} from './opencypher-gherkin.ts';
import {
  actualText,
  attributeText,
  expectedText,
  type Json,
  labelsOf,
  readJson,
  type Rendering,
} from './opencypher-values.ts';

/** What a case is run against. */
export interface CaseDatabase {
  /** The rows of a query, each a JSON text. Refusals are thrown; `prepared` tells their phase. */
  run(text: string, parameters: ReadonlyMap<string, Value>): Promise<string>;
  /** Whether the text can be prepared at all; throws the refusal otherwise. */
  prepare(text: string, parameters: ReadonlyMap<string, Value>): Promise<void>;
  /** The query that makes a named graph. */
  graph(name: string): string;
}

type Answer =
  | {readonly kind: 'rows'; readonly rows: readonly ReadonlyMap<string, Json>[]}
  | {readonly kind: 'error'; readonly phase: 'compile time' | 'runtime'; readonly error: Refusal};

interface GraphContents {
  readonly nodes: ReadonlySet<string>;
  readonly relationships: ReadonlySet<string>;
  readonly labels: ReadonlySet<string>;
  readonly properties: ReadonlySet<string>;
}

/** What differs, a line each; empty when the case passes. */
export async function runCase(one: Case, database: CaseDatabase): Promise<readonly string[]> {
  const parameters = new Map<string, Value>();
  const lines: string[] = [];
  let before: GraphContents | undefined;
  let answer: Answer | undefined;
  const judgesEffects = one.steps.some(step => step.text.includes('side effects'));
  for (const step of one.steps) {
    const {text} = step;
    if (text === 'an empty graph' || text === 'any graph') continue;
    // Whoever made the database knows them.
    if (text.startsWith('there exists a procedure')) continue;
    const named = /^the (\S+) graph$/.exec(text);
    if (named !== null) await database.run(database.graph(named[1] ?? ''), parameters);
    else if (text.startsWith('having executed')) {
      await database.run(step.docString ?? '', parameters);
    } else if (text.startsWith('parameters are')) {
      for (const [name = '', value = ''] of step.table) {
        parameters.set(name, await evaluated(value, database));
      }
    } else if (/^executing (?:control )?query/.test(text)) {
      const query = step.docString ?? '';
      if (judgesEffects && before === undefined) before = await snapshot(database);
      answer = await answered(query, parameters, database);
    } else if (answer !== undefined) {
      lines.push(...(await judged(step, answer, before, database)));
    } else return [`the step '${text}' is not known`];
  }
  return lines;
}

async function evaluated(text: string, database: CaseDatabase): Promise<Value> {
  const row = readJson(await database.run(`RETURN ${text} AS value`, new Map()));
  const [first] = row as readonly ReadonlyMap<string, Json>[];
  return valueOf(first?.get('value') ?? null);
}

function valueOf(json: Json): Value {
  if (json === null || typeof json !== 'object') return json;
  if (Array.isArray(json)) return json.map(valueOf);
  if ('number' in json) return Number(json.number);
  return new Map(
    [...(json as ReadonlyMap<string, Json>)].map(([key, inner]) => [key, valueOf(inner)]),
  );
}

async function answered(
  query: string,
  parameters: ReadonlyMap<string, Value>,
  database: CaseDatabase,
): Promise<Answer> {
  let phase: 'compile time' | 'runtime' = 'compile time';
  try {
    await database.prepare(query, parameters);
    phase = 'runtime';
    return {kind: 'rows', rows: rowsOf(await database.run(query, parameters))};
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    // EXPLAIN asks for no parameters; a run is refused for one before any of it happens.
    const isBeforeRun = error.code === 'query.parameter-missing';
    return {kind: 'error', phase: isBeforeRun ? 'compile time' : phase, error};
  }
}

function rowsOf(text: string): readonly ReadonlyMap<string, Json>[] {
  return readJson(text) as readonly ReadonlyMap<string, Json>[];
}

async function judged(
  step: Step,
  answer: Answer,
  before: GraphContents | undefined,
  database: CaseDatabase,
): Promise<readonly string[]> {
  const {text} = step;
  const raised = /^an? (\w+) should be raised at ([a-z ]+): (.+)$/.exec(text);
  if (raised !== null) return judgedError(answer, raised);
  if (answer.kind === 'error') {
    return [`expected an answer, got ${answer.phase}: ${answer.error.message}`];
  }
  if (text === 'no side effects') return judgedEffects([], before, database);
  if (text.startsWith('the side effects should be')) {
    return judgedEffects(step.table, before, database);
  }
  if (text.startsWith('the result should be empty')) {
    return answer.rows.length === 0 ? [] : [`expected no rows, got ${answer.rows.length}`];
  }
  if (text.startsWith('the result should be')) return judgedRows(step, answer.rows);
  return [`the step '${text}' is not known`];
}

function judgedError(answer: Answer, [, type, phase, reason]: RegExpExecArray): readonly string[] {
  if (answer.kind === 'rows') return [`expected ${type} ${reason}, got ${answer.rows.length} rows`];
  const {detail} = answer.error;
  const wanted = [type, phase, reason];
  const got = [String(detail?.['type']), answer.phase, String(detail?.['reason'])];
  const fits =
    got[0] === wanted[0] &&
    (phase === 'any time' || got[1] === wanted[1]) &&
    (reason === '*' || got[2] === wanted[2]);
  return fits
    ? []
    : [`expected ${wanted.join(', ')}; got ${got.join(', ')}: ${answer.error.message}`];
}

function judgedRows(step: Step, rows: readonly ReadonlyMap<string, Json>[]): readonly string[] {
  const [names = [], ...wantedRows] = step.table;
  const rendering: Rendering = {listsUnordered: step.text.includes('ignoring element order')};
  const wanted = wantedRows.map(row =>
    names.map((name, at) => `${name}: ${expectedText(row[at] ?? '', rendering)}`).join(' | '),
  );
  const [only, ...others] = names;
  // A record that is the only column of a row is answered in the row's place, without a name.
  const isLone = (row: ReadonlyMap<string, Json>): boolean =>
    others.length === 0 && row.has('@rid');
  const named = rows.map(row => (isLone(row) ? new Map([[only ?? '', row as Json]]) : row));
  const got = named.map(row =>
    names
      .map(name =>
        row.has(name) ? `${name}: ${actualText(row.get(name) ?? null, rendering)}` : `${name}: -`,
      )
      .join(' | '),
  );
  const extra = named.flatMap(row => [...row.keys()].filter(key => !names.includes(key)));
  if (extra.length > 0) return [`columns that are not expected: ${[...new Set(extra)].join(', ')}`];
  const inOrder = step.text.includes('in order');
  const left = inOrder ? wanted : [...wanted].sort();
  const right = inOrder ? got : [...got].sort();
  if (left.join('\n') === right.join('\n')) return [];
  return [`expected ${shown(left)}`, `got      ${shown(right)}`];
}

function shown(rows: readonly string[]): string {
  return `${rows.length} rows: ${rows.slice(0, 6).join(' ; ')}`;
}

async function snapshot(database: CaseDatabase): Promise<GraphContents> {
  const none = new Map<string, Value>();
  const nodes = rowsOf(await database.run('MATCH (n) RETURN n', none));
  const edges = rowsOf(await database.run('MATCH ()-[r]->() RETURN r', none));
  const ids = (list: readonly ReadonlyMap<string, Json>[]): ReadonlySet<string> =>
    new Set(list.map(record => attributeText(record, '@rid')));
  const properties = [...nodes, ...edges].flatMap(record =>
    [...record]
      .filter(([key, value]) => !key.startsWith('@') && value !== null)
      .map(([key, value]) => {
        const text = actualText(value, {listsUnordered: false});
        return `${attributeText(record, '@rid')} ${key} ${text}`;
      }),
  );
  return {
    nodes: ids(nodes),
    relationships: ids(edges),
    labels: new Set(nodes.flatMap(node => labelsOf(attributeText(node, '@type')))),
    properties: new Set(properties),
  };
}

async function judgedEffects(
  table: Step['table'],
  before: GraphContents | undefined,
  database: CaseDatabase,
): Promise<readonly string[]> {
  if (before === undefined) return ['side effects of nothing'];
  const after = await snapshot(database);
  const got = new Map<string, number>();
  for (const kind of ['nodes', 'relationships', 'labels', 'properties'] as const) {
    got.set(`+${kind}`, [...after[kind]].filter(item => !before[kind].has(item)).length);
    got.set(`-${kind}`, [...before[kind]].filter(item => !after[kind].has(item)).length);
  }
  const wanted = new Map(table.map(([name = '', count = '']) => [name, Number(count)]));
  const lines: string[] = [];
  for (const [name, count] of got) {
    const expected = wanted.get(name) ?? 0;
    if (expected !== count) lines.push(`side effect ${name}: expected ${expected}, got ${count}`);
  }
  return lines;
}
