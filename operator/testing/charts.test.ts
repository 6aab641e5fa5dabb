/**
 * Charts and manifests against what they stand for: their values and schemas agree, templates ask
 * for values that exist, rights cover what the operator does, alerts name metrics that there are.
 * With helm on the PATH, or where `HELM` says, it lints and renders them too.
 */
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';
import {parse, parseAllDocuments} from 'yaml';
import {at, listAt} from '#operator/api/kube-object.ts';
import {reasons} from '#operator/api/reasons.ts';
import {kinds} from '#operator/kubernetes/kinds.ts';
import {accessRules, leaseRules, nodeRules} from './access-rules.ts';

const root = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const charts = ['svc-operator', 'svc-cluster'];
const {version} = JSON.parse(read('package.json')) as {readonly version: string};

function templatesOf(chart: string): readonly string[] {
  const folder = join(root, 'charts', chart, 'templates');
  return readdirSync(folder, {recursive: true, encoding: 'utf8'})
    .filter(name => /\.(?:yaml|tpl|txt)$/.test(name))
    .map(name => `charts/${chart}/templates/${name}`);
}

/** Every key of the values is one of the schema, and the other way round. */
function compare(values: unknown, schema: unknown, path: string): void {
  if (at(schema, 'additionalProperties') !== false) return;
  const known = Object.keys(Object(at(schema, 'properties'))).filter(name => name !== 'global');
  assert.deepEqual(Object.keys(Object(values)).sort(), known.sort(), path);
  for (const name of known) {
    compare(at(values, name), at(schema, 'properties', name), `${path}.${name}`);
  }
}

for (const chart of charts) {
  const values: unknown = parse(read(`charts/${chart}/values.yaml`));

  test(`${chart}: values and their schema know the same keys`, () => {
    compare(values, JSON.parse(read(`charts/${chart}/values.schema.json`)), 'values');
  });

  test(`${chart}: templates ask for values that there are`, () => {
    for (const path of templatesOf(chart)) {
      for (const [, name = ''] of read(path).matchAll(/\.Values\.([a-zA-Z.]+)/g)) {
        assert.notEqual(at(values, ...name.split('.')), undefined, `${path}: ${name}`);
      }
    }
  });

  test(`${chart} has the version of the product`, () => {
    const about: unknown = parse(read(`charts/${chart}/Chart.yaml`));
    assert.deepEqual([at(about, 'version'), at(about, 'appVersion')], [version, version]);
  });

  test(`${chart}: braces of templates are closed`, () => {
    for (const path of templatesOf(chart)) {
      const text = read(path);
      const opened = text.match(/\{\{-? *(?:if|range|with|define)\b/g)?.length ?? 0;
      const closed = text.match(/\{\{-? *end\b/g)?.length ?? 0;
      assert.equal(opened, closed, path);
    }
  });
}

function mayDo(apiVersion: string, plural: string, verb: string): boolean {
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
  return [...accessRules, ...leaseRules, ...nodeRules].some(
    rule =>
      rule.apiGroups.includes(group) &&
      rule.resources.includes(plural) &&
      rule.verbs.includes(verb),
  );
}

/** Kinds that are watched, applied and deleted, as `observe/` and `act/` do it. */
const needs: Readonly<Record<keyof typeof kinds, readonly string[]>> = {
  cluster: ['get', 'list', 'watch'],
  schedule: ['get', 'list', 'watch'],
  backup: ['get', 'list', 'watch', 'create', 'delete'],
  pod: ['list', 'watch', 'patch', 'delete'],
  service: ['list', 'watch', 'create', 'patch'],
  secret: ['get', 'list', 'watch', 'create'],
  configMap: ['list', 'watch', 'create', 'patch'],
  claim: ['list', 'watch', 'patch', 'delete'],
  serviceAccount: ['list', 'watch', 'create', 'patch'],
  event: ['get', 'create', 'patch'],
  node: ['get'],
  statefulSet: ['list', 'watch', 'create', 'patch', 'delete'],
  disruptionBudget: ['list', 'watch', 'create', 'patch', 'delete'],
  networkPolicy: ['list', 'watch', 'create', 'patch', 'delete'],
  lease: ['get', 'create', 'update'],
};

test('the rights cover what the operator does, and nothing of what it must not', () => {
  for (const [name, verbs] of Object.entries(needs)) {
    const kind = kinds[name as keyof typeof kinds];
    for (const verb of verbs) {
      assert.ok(mayDo(kind.apiVersion, kind.plural, verb), `${verb} ${kind.plural}`);
    }
  }
  for (const [resource, verb] of [
    ['pods/exec', 'create'],
    ['secrets', 'delete'],
    ['secrets', 'patch'],
    ['nodes', 'list'],
  ] as const) {
    assert.equal(mayDo('v1', resource, verb), false, `${verb} ${resource}`);
  }
});

test('alerts and dashboard name metrics and reasons that there are', () => {
  const metrics = read('operator/controllers/metrics.ts');
  const alerts = parse(read('charts/svc-operator/alerts.yaml')) as readonly unknown[];
  const dashboard: unknown = JSON.parse(read('charts/svc-operator/dashboards/svc-clusters.json'));
  const texts = [...alerts, ...listAt(dashboard, 'panels')].map(one => JSON.stringify(one));
  assert.ok(texts.length > 8);
  for (const text of texts) {
    for (const [name] of text.matchAll(/svc_operator_[a-z_]+/g)) {
      assert.ok(metrics.includes(`'${name.replace(/_(?:total|bucket|sum|count)$/, '')}'`), name);
    }
    for (const [, reason = ''] of text.matchAll(/reason!?=\\"(\w+)\\"/g)) {
      assert.ok(reason in reasons, reason);
    }
  }
});

test('every file that a kustomization names is there', () => {
  const folders = [
    'base',
    ...readdirSync(join(root, 'deploy/overlays')).map(name => `overlays/${name}`),
  ];
  for (const folder of folders) {
    const file: unknown = parse(read(`deploy/${folder}/kustomization.yaml`));
    const patches = listAt(file, 'patches').map(patch => at(patch, 'path'));
    for (const name of [...listAt(file, 'resources'), ...patches]) {
      const path = join(root, 'deploy', folder, String(name));
      assert.ok(existsSync(path), path);
      if (!path.endsWith('.yaml')) continue;
      for (const document of parseAllDocuments(readFileSync(path, 'utf8'))) {
        assert.deepEqual(document.errors, [], path);
      }
    }
  }
});

const helm = process.env['HELM'] ?? 'helm';
const hasHelm = spawnSync(helm, ['version']).status === 0;
const skip = hasHelm ? false : 'helm is not on the PATH, and HELM does not say where it is';

for (const chart of charts) {
  test(`helm lints and renders ${chart}`, {skip}, () => {
    for (const args of [['lint'], ['template', '--kube-version', '1.33.0', 'trial']]) {
      const {status, stdout, stderr} = spawnSync(helm, [...args, join(root, 'charts', chart)], {
        encoding: 'utf8',
      });
      assert.equal(status, 0, stdout + stderr);
    }
  });
}
