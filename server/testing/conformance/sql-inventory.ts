/**
 * The suite `sql-inventory`: statements in groups, each group on a fresh database, and their rows
 * or error classes compared with those of the reference system.
 *
 * Row order counts only where the statement orders. An error that the reference answers with 500
 * and we with 4xx is equal when the exception class is. A case is named
 * `group: language: statement`, with `(2)`, `(3)`, ... behind one that is repeated in its group.
 */
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {isStricter, lineOf, runTool} from './http.ts';
import {type FieldDifference, matches, type SuiteOutcome, type SuiteSource} from './suite.ts';

interface Statement {
  readonly n: number;
  readonly group: string;
  readonly language: string;
  readonly statement: string;
}

interface Finding {
  readonly n: number;
  readonly kind: string;
  readonly diffs: readonly FieldDifference[];
}

export async function runSqlInventory(source: SuiteSource): Promise<SuiteOutcome> {
  const folder = source.directory ?? join(source.shared, 'conformance/sql-inventory');
  const answers = join(folder, 'answers.jsonl');
  const statements = readFileSync(answers, 'utf8')
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
  const checked = [source.url, '--check', answers, '--statements', join(folder, 'statements.txt')];
  const findings = await runTool<Finding[]>(
    join(source.shared, 'tools/reference-system/inventory.mjs'),
    checked.concat('--pw', source.password, '--only', run.join(',')),
  );
  const byNumber = new Map(statements.map(statement => [statement.n, statement]));
  const differences = findings
    .filter(({n, kind, diffs}) => {
      const ordered = /\border\s+by\b/i.test(byNumber.get(n)?.statement ?? '');
      if (kind === 'order' && !ordered) return false;
      return !(kind === 'error-class' && isStricter(diffs));
    })
    .map(({n, kind, diffs}) => ({
      name: names.get(n) ?? String(n),
      lines: [kind, ...diffs.map(lineOf)],
    }));
  return {cases: [...names.values()], differences};
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
