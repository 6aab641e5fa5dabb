/**
 * The files that are made from `operator/api` and from the table of access rules: text of each by
 * its path from the project's root.
 */
import {stringify} from 'yaml';
import {conditionRows, type ReasonRow, reasons} from '#operator/api/reasons.ts';
import {type AccessRule, accessRules, leaseRules, nodeRules} from './access-rules.ts';
import {resourceDefinitions} from './resource-definitions.ts';

export interface MadeFile {
  readonly path: string;
  readonly text: string;
}

const HEAD = '# Made from operator/ by `make resources`; change it there.\n';

/** YAML as kubectl prints it: two spaces, no wrapped lines, no anchors. */
export function yamlOf(value: unknown): string {
  return stringify(value, {lineWidth: 0, aliasDuplicateObjects: false});
}

export function resourceFiles(): readonly MadeFile[] {
  const definitions = resourceDefinitions();
  const files = definitions.map(({file}) => file);
  return [
    ...definitions.map(({file, definition}) => ({
      path: `crds/${file}`,
      text: HEAD + yamlOf(definition),
    })),
    {
      path: 'crds/kustomization.yaml',
      text: HEAD + yamlOf({...kustomization, resources: files}),
    },
    {path: 'charts/svc-operator/templates/crds.yaml', text: chartDefinitions()},
    {path: 'charts/svc-operator/templates/_rules.tpl', text: chartRules()},
    {path: 'docs/kubernetes/troubleshooting.md', text: troubleshooting()},
    {path: 'deploy/base/rbac.yaml', text: HEAD + clusterAccess()},
    {
      path: 'deploy/overlays/namespaced/rbac.yaml',
      text: HEAD + access('Role', NAME, accessRules),
    },
    {
      path: 'deploy/overlays/namespaced/without-cluster-access.yaml',
      text: HEAD + [deletion('ClusterRole'), deletion('ClusterRoleBinding')].join('---\n'),
    },
  ];
}

function troubleshooting(): string {
  const rows = Object.entries<ReasonRow>(reasons);
  const warnings = rows.filter(([, {severity}]) => severity === 'Warning');
  const normal = rows.filter(([, {severity}]) => severity === 'Normal');
  return [
    '# Conditions, reasons and events',
    '',
    'Made from `operator/api/reasons.ts` by `make resources`. `kubectl describe svcc NAME` shows ' +
      'conditions and events; the words in the first column are frozen.',
    '',
    '## Conditions',
    '',
    '| condition | of | well when | what it says | what to do otherwise |',
    '|---|---|---|---|---|',
    ...Object.entries(conditionRows).map(
      ([type, [kind, well, says, todo]]) =>
        `| \`${type}\` | ${kind} | ${well} | ${says} | ${todo} |`,
    ),
    '',
    'Each has one of the reasons below, which events carry too.',
    '',
    '## Something is to be done',
    '',
    '| reason | what it means | what to do |',
    '|---|---|---|',
    ...warnings.map(([name, {means, todo}]) => `| \`${name}\` | ${means} | ${todo} |`),
    '',
    '## Nothing is to be done',
    '',
    '| reason | what it means |',
    '|---|---|',
    ...normal.map(([name, {means}]) => `| \`${name}\` | ${means} |`),
    '',
  ].join('\n');
}

const kustomization = {apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization'};

/** Helm reads `{{` in any text; the definitions must not hold it. */
function chartDefinitions(): string {
  const keep =
    '  annotations:\n    {{- if .Values.crds.keep }}\n    helm.sh/resource-policy: keep\n' +
    '    {{- end }}\n    svc.io/made-by: make resources\n';
  const documents = resourceDefinitions().map(({definition}) =>
    yamlOf(definition).replace(/^metadata:\n/m, `metadata:\n${keep}`),
  );
  return `${HEAD}{{- if .Values.crds.install }}\n${documents.join('---\n')}{{- end }}\n`;
}

function chartRules(): string {
  const block = (name: string, rules: readonly AccessRule[]): string =>
    `{{- define "svc-operator.${name}" }}\n${yamlOf(rules)}{{- end }}\n`;
  return [
    '{{/* Made from operator/ by `make resources`; change it there. */}}\n',
    block('rules', accessRules),
    block('leaseRules', leaseRules),
    block('nodeRules', nodeRules),
  ].join('');
}

const NAME = 'svc-operator';
const NAMESPACE = 'svc-system';
const subjects = [{kind: 'ServiceAccount', name: NAME, namespace: NAMESPACE}];
const group = 'rbac.authorization.k8s.io';

function access(kind: string, name: string, rules: readonly AccessRule[]): string {
  const apiVersion = `${group}/v1`;
  const metadata = {name, ...(kind === 'Role' ? {namespace: NAMESPACE} : {})};
  const roleRef = {apiGroup: group, kind, name};
  return [
    yamlOf({apiVersion, kind, metadata, rules}),
    yamlOf({apiVersion, kind: `${kind}Binding`, metadata, roleRef, subjects}),
  ].join('---\n');
}

function clusterAccess(): string {
  return [
    access('Role', `${NAME}-lease`, leaseRules),
    access('ClusterRole', NAME, [...accessRules, ...nodeRules]),
  ].join('---\n');
}

/** A patch of kustomize that takes an object of the base away. */
function deletion(kind: string): string {
  return yamlOf({apiVersion: `${group}/v1`, kind, metadata: {name: NAME}, $patch: 'delete'});
}
