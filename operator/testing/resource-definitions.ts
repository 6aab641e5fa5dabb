/**
 * The resource definitions, made from the schemas and rules: what lies in `crds/` and in the chart.
 *
 * Structural schemas, one stored version, no conversion and no webhook: everything that is checked
 * at admission is a schema or a rule in CEL.
 */
import {clusterRules} from '#operator/api/cluster-rules.ts';
import {clusterStatus} from '#operator/api/cluster-status.ts';
import {GROUP, type ResourceKind, resourceKinds, VERSION} from '#operator/api/group.ts';
import type {Rule} from '#operator/api/rules.ts';
import type {Field, JsonSchema, Presence} from '#operator/api/schema.ts';
import {
  backupRules,
  backupSpec,
  backupStatus,
  scheduleRules,
  scheduleSpec,
  scheduleStatus,
} from '#operator/api/svc-backup.ts';
import {clusterSpec} from '#operator/api/svc-cluster.ts';

interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'date';
  readonly jsonPath: string;
  /** 1: only with `-o wide`. */
  readonly priority?: number;
}

interface Definition {
  readonly names: ResourceKind;
  readonly spec: Field<unknown, Presence>;
  readonly status: Field<unknown, Presence>;
  readonly rules: readonly Pick<Rule<never>, 'path' | 'cel' | 'message'>[];
  readonly columns: readonly Column[];
  readonly says: string;
  /** The name is part of the names of what it makes. */
  readonly nameLengthMax: number;
  readonly scale?: JsonSchema;
}

const age: Column = {name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp'};
const reasonOf = (type: string): string => `.status.conditions[?(@.type=="${type}")].reason`;

const definitions: readonly Definition[] = [
  {
    names: resourceKinds.cluster,
    spec: clusterSpec,
    status: clusterStatus,
    rules: clusterRules,
    says: 'A cluster of Svc servers that hold the same databases.',
    nameLengthMax: 40,
    columns: [
      {name: 'Phase', type: 'string', jsonPath: '.status.phase'},
      {name: 'Ready', type: 'integer', jsonPath: '.status.readyReplicas'},
      {name: 'Replicas', type: 'integer', jsonPath: '.spec.replicas'},
      {name: 'Leader', type: 'string', jsonPath: '.status.leader'},
      {name: 'Version', type: 'string', jsonPath: '.status.version'},
      age,
      {name: 'Operation', type: 'string', jsonPath: '.status.operation.type', priority: 1},
      {name: 'Step', type: 'string', jsonPath: '.status.operation.message', priority: 1},
      {name: 'Term', type: 'integer', jsonPath: '.status.term', priority: 1},
    ],
    scale: {
      specReplicasPath: '.spec.replicas',
      statusReplicasPath: '.status.replicas',
      labelSelectorPath: '.status.selector',
    },
  },
  {
    names: resourceKinds.schedule,
    spec: scheduleSpec,
    status: scheduleStatus,
    rules: scheduleRules,
    says: 'When backups of a cluster are taken, and which of them stay.',
    nameLengthMax: 52,
    columns: [
      {name: 'Cluster', type: 'string', jsonPath: '.spec.clusterRef.name'},
      {name: 'Schedule', type: 'string', jsonPath: '.spec.schedule'},
      {name: 'Last', type: 'date', jsonPath: '.status.lastScheduleTime'},
      {name: 'Next', type: 'string', jsonPath: '.status.nextScheduleTime'},
      {name: 'Result', type: 'string', jsonPath: '.status.lastRun.result'},
      age,
      {name: 'State', type: 'string', jsonPath: reasonOf('Scheduled'), priority: 1},
    ],
  },
  {
    names: resourceKinds.backup,
    spec: backupSpec,
    status: backupStatus,
    rules: backupRules,
    says: 'One backup of databases of a cluster.',
    nameLengthMax: 63,
    columns: [
      {name: 'Cluster', type: 'string', jsonPath: '.spec.clusterRef.name'},
      {name: 'Phase', type: 'string', jsonPath: '.status.phase'},
      {name: 'Started', type: 'date', jsonPath: '.status.startedAt'},
      {name: 'Finished', type: 'date', jsonPath: '.status.finishedAt'},
      age,
      {name: 'Reason', type: 'string', jsonPath: reasonOf('Succeeded'), priority: 1},
    ],
  },
];

/** The definitions as objects, with the name of the file of each. */
export function resourceDefinitions(): readonly {
  readonly file: string;
  readonly definition: JsonSchema;
}[] {
  return definitions.map(definition => ({
    file: `${GROUP}_${definition.names.plural}.yaml`,
    definition: definitionOf(definition),
  }));
}

function definitionOf({names, scale, columns, ...parts}: Definition): JsonSchema {
  const {kind, plural, shortName} = names;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.${GROUP}`,
      labels: {'app.kubernetes.io/name': 'svc-operator', 'app.kubernetes.io/part-of': 'svc'},
    },
    spec: {
      group: GROUP,
      scope: 'Namespaced',
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        shortNames: [shortName],
        categories: ['svc'],
      },
      versions: [
        {
          name: VERSION,
          served: true,
          storage: true,
          subresources: {status: {}, ...(scale === undefined ? {} : {scale})},
          additionalPrinterColumns: columns,
          schema: {openAPIV3Schema: schemaOf(parts)},
        },
      ],
    },
  };
}

function schemaOf({
  spec,
  status,
  rules,
  says,
  nameLengthMax,
}: Omit<Definition, 'names' | 'scale' | 'columns'>): JsonSchema {
  const whole: JsonSchema = {
    type: 'object',
    description: says,
    required: ['spec'],
    properties: {
      apiVersion: {type: 'string'},
      kind: {type: 'string'},
      metadata: {type: 'object'},
      spec: spec.json,
      status: status.json,
    },
    'x-kubernetes-validations': [
      {
        rule: `size(self.metadata.name) <= ${nameLengthMax}`,
        message: `metadata.name has more than ${nameLengthMax} characters: choose a shorter one`,
      },
    ],
  };
  return rules.reduce<JsonSchema>(
    (schema, rule) => withRule(schema, rule.path.split('.'), rule),
    whole,
  );
}

function withRule(
  schema: JsonSchema,
  [head, ...rest]: readonly string[],
  rule: Pick<Rule<never>, 'cel' | 'message'>,
): JsonSchema {
  if (head === undefined) {
    const before = (schema['x-kubernetes-validations'] ?? []) as readonly unknown[];
    const added = {rule: rule.cel, message: rule.message};
    return {...schema, 'x-kubernetes-validations': [...before, added]};
  }
  const properties = schema['properties'] as Readonly<Record<string, JsonSchema>>;
  const property = properties[head];
  if (property === undefined) throw new Error(`a rule is put at ${head}, which is no field`);
  return {...schema, properties: {...properties, [head]: withRule(property, rest, rule)}};
}
