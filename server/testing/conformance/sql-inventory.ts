/**
 * The suite `sql-inventory`: statements in groups, each group on a fresh database, and their rows
 * or error classes compared with those of the reference system.
 *
 * Row order counts only where the statement orders. An error that the reference answers with 500
 * and we with 4xx is equal when the exception class is, and so are ids of edges without a record
 * that correspond one to one. Settings are asked for by our names. A case is named
 * `group: language: statement`, with `(2)`, `(3)`, ... behind one that is repeated in its group.
 */
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {isDeepStrictEqual} from 'node:util';
import {lineOf, runTool} from './http.ts';
import {isRenumbered, isStricter} from './shape.ts';
import {
  type FieldDifference,
  matches,
  type SuiteOutcome,
  type SuiteSource,
  type Tolerance,
} from './suite.ts';

interface Statement {
  readonly n: number;
  readonly group: string;
  readonly language: string;
  readonly statement: string;
}

/** What the tool compares: rows, or the error where there is one. */
export interface Finding {
  readonly n: number;
  readonly kind: string;
  readonly statement: string;
  readonly diffs: readonly FieldDifference[];
  readonly expected: unknown;
  readonly actual: unknown;
}

export async function runSqlInventory(source: SuiteSource): Promise<SuiteOutcome> {
  const folder = source.directory ?? join(source.shared, 'conformance/sql-inventory');
  const statements = readFileSync(join(folder, 'answers.jsonl'), 'utf8')
    .split('\n')
    .filter(line => line !== '')
    // The tool counts the statements of its own run; the numbers of the answers are of another.
    .map((line, index) => ({...(JSON.parse(line) as Statement), n: index + 1}));
  const names = namesOf(statements);
  const groups = [...new Set(statements.map(({group}) => group))];
  // A group that is skipped as a whole is not run at all.
  const run = groups.filter(group => {
    return !source.skipped.some(pattern => pattern.endsWith('*') && matches(pattern, `${group}: `));
  });
  const findings = await check(source, folder, run);
  const differences = findings
    .filter(finding => !isEqual(finding))
    .map(finding => {
      const {n, kind, diffs} = finding;
      const name = names.get(n) ?? String(n);
      const tolerated = toleranceOf(finding);
      const lines = [kind, ...diffs.map(lineOf)];
      return tolerated === undefined ? {name, lines} : {name, lines, tolerated};
    });
  return {cases: [...names.values()], differences};
}

/**
 * The suite `sql-families`: statements of our own over the tables of functions and statements, with
 * what the reference system answered (a status and a class of an error without its words).
 */
export function runSqlFamilies(source: SuiteSource): Promise<SuiteOutcome> {
  const directory = source.directory ?? join(import.meta.dirname, 'sql-families');
  return runSqlInventory({...source, directory});
}

/** Runs the tool over copies of the suite's files in which settings have our names. */
async function check(
  source: SuiteSource,
  folder: string,
  groups: readonly string[],
): Promise<readonly Finding[]> {
  const copies = mkdtempSync(join(tmpdir(), 'svc-inventory-'));
  const copy = (file: string): string => {
    const path = join(copies, file);
    writeFileSync(path, readFileSync(join(folder, file), 'utf8').replaceAll(theirPrefix, 'svc.'));
    return path;
  };
  try {
    const words = [source.url, '--check', copy('answers.jsonl')];
    return await runTool<Finding[]>(
      join(source.shared, 'tools/reference-system/inventory.mjs'),
      words
        .concat('--statements', copy('statements.txt'), '--pw', source.password)
        .concat(['--only', groups.join(',')]),
    );
  } finally {
    rmSync(copies, {recursive: true, force: true});
  }
}

/** What the reference system begins the names of its settings with. */
const theirPrefix = 'arcadedb.';
const orders = /\border\s+by\b/i;

function isEqual({kind, statement, diffs, expected, actual}: Finding): boolean {
  if (kind === 'order') {
    return !orders.test(statement) || isOrderOfTies(statement, expected, actual);
  }
  if (kind === 'error-class') return isStricter(diffs);
  const recordless = diffs.every(({expected}) => /^#\d+:-1$/.test(String(expected)));
  return recordless && isRenumbered(diffs);
}

const orderKeys = /\border\s+by\s+((?:\w+(?:\s+(?:asc|desc))?\s*,?\s*)+)$/i;

/** The same rows, in another order only among those that are equal in all that orders them. */
export function isOrderOfTies(statement: string, expected: unknown, actual: unknown): boolean {
  const keys = orderKeys
    .exec(statement)?.[1]
    ?.split(',')
    .map(key => key.trim().split(/\s/)[0]);
  if (keys === undefined || !Array.isArray(expected) || !Array.isArray(actual)) return false;
  const ordering = (row: Readonly<Record<string, unknown>>): unknown =>
    keys.map(key => (key !== undefined && Object.hasOwn(row, key) ? row[key] : row));
  return isDeepStrictEqual(expected.map(ordering), actual.map(ordering));
}

/**
 * Whether a difference is a failure, by its shape alone: a text that the other parser refuses and
 * ours answers, or rows that hold the same elements in lists of another order.
 */
export function toleranceOf({kind, statement, expected, actual}: Finding): Tolerance | undefined {
  if (kind === 'error-expected') {
    const refused = expected as {readonly exception?: unknown};
    return refused.exception === 'CommandSQLParsingException' ? 'accepted' : undefined;
  }
  if (kind !== 'rows' || !Array.isArray(expected) || !Array.isArray(actual)) return undefined;
  const rowsOf = (rows: readonly unknown[]): unknown =>
    orders.test(statement) ? rows.map(withSortedLists) : withSortedLists(rows);
  return isDeepStrictEqual(rowsOf(expected), rowsOf(actual)) ? 'reordered' : undefined;
}

/** The value with every list in one order and every record id the same. */
function withSortedLists(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(/#\d+:\d+/g, '#R');
  if (Array.isArray(value)) {
    const sorted = value.map(item => JSON.stringify(withSortedLists(item))).sort();
    return sorted.map(item => JSON.parse(item) as unknown);
  }
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, item]) => [name, withSortedLists(item)]));
}

function namesOf(statements: readonly Statement[]): Map<number, string> {
  const names = new Map<number, string>();
  const seen = new Map<string, number>();
  for (const {n, group, language, statement} of statements) {
    const name = `${group}: ${language}: ${statement}`;
    const times = (seen.get(name) ?? 0) + 1;
    seen.set(name, times);
    names.set(n, times === 1 ? name : `${name} (${times})`);
  }
  return names;
}
