/** The rules and the dashboard in deploy/monitoring ask for families that exist, and are valid. */
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {test, type TestContext} from 'node:test';
import {parse} from 'yaml';
import {families, type Family} from './families.ts';

const folder = join(import.meta.dirname, '../../deploy/monitoring');
const read = (name: string): string => readFileSync(join(folder, name), 'utf8');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: {readonly severity: string};
  readonly annotations: {readonly summary: string};
}

const rules = (parse(read('svc-server.rules.yaml')) as {groups: {rules: Rule[]}[]}).groups.flatMap(
  group => group.rules,
);

/** Names of metrics that an expression asks for and no family has. */
function unknownIn(expression: string): string[] {
  return [...expression.matchAll(/\bsvc_\w+/g)]
    .map(([name]) => name)
    .filter(name => {
      const all: Readonly<Record<string, Family>> = families;
      const base = name.replace(/_(bucket|sum|count)$/, '');
      return all[name] === undefined && all[base]?.kind !== 'histogram';
    });
}

test('an alert has a name of its own, a severity, a sentence, and asks for what there is', () => {
  assert.equal(new Set(rules.map(({alert}) => alert)).size, rules.length);
  for (const {alert, expr, labels, annotations} of rules) {
    assert.ok(['critical', 'warning'].includes(labels.severity), alert);
    assert.ok(annotations.summary.length > 10, alert);
    assert.deepEqual(unknownIn(expr), [], alert);
  }
});

test('every alert stands in the manual', () => {
  const manual = readFileSync(join(folder, '../../docs/monitoring.md'), 'utf8');
  const missing = rules.map(({alert}) => alert).filter(alert => !manual.includes(`\`${alert}\``));
  assert.deepEqual(missing, []);
});

test('the dashboard asks for what there is', () => {
  const {panels} = JSON.parse(read('svc-servers.dashboard.json')) as {
    panels: {title: string; targets: {expr: string}[]}[];
  };
  for (const {title, targets} of panels) {
    for (const {expr} of targets) assert.deepEqual(unknownIn(expr), [], title);
  }
});

for (const words of [
  ['check', 'rules', 'svc-server.rules.yaml'],
  ['test', 'rules', 'svc-server.rules.test.yaml'],
]) {
  test(`promtool ${words.join(' ')}`, (context: TestContext) => {
    const {status, stdout, stderr, error} = spawnSync('promtool', words, {
      cwd: folder,
      encoding: 'utf8',
    });
    if (error !== undefined) return context.skip('promtool is not installed');
    assert.equal(status, 0, `${stdout}${stderr}`);
  });
}
