/**
 * SvcCluster: what a person says of a cluster. What is told of it is in cluster-status.ts.
 *
 * A field is here only when the operator acts upon it. Defaults are part of the schema, so that the
 * API server writes them once and nothing else ever writes to `spec`.
 * Source: docs/kubernetes; the shape of CloudNativePG's and ECK's resources where they agree.
 */
import {ports} from './group.ts';
import type {ObjectMeta} from './kube-object.ts';
import type {ClusterStatus} from './cluster-status.ts';
import {
  defaulted,
  duration,
  flag,
  integer,
  listOf,
  mapOf,
  object,
  ofKubernetes,
  oneOf,
  optional,
  quantity,
  text,
  type ValueOf,
} from './schema.ts';

const NAME = '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$';

const objectName = (says: string) => text({says, pattern: NAME, maxLength: 253});
const labelMap = (says: string) =>
  mapOf({says, max: 64}, text({says: 'A value.', maxLength: 1024}));

const image = object(
  {says: 'Where the image of the server comes from.'},
  {
    repository: defaulted(
      text({says: 'Name of the image without a tag; the tag is the version.', maxLength: 255}),
      'svc/server',
    ),
    digest: optional(
      text({
        says: 'Pins the image: it is taken by this digest instead of by its tag.',
        pattern: '^sha256:[0-9a-f]{64}$',
        maxLength: 71,
      }),
    ),
    pullPolicy: defaulted(
      oneOf(['Always', 'IfNotPresent', 'Never'], {says: 'When the image is fetched.'}),
      'IfNotPresent',
    ),
    pullSecrets: defaulted(
      listOf(
        {says: 'Secrets of this namespace that open the place of the image.', max: 8},
        objectName('Name of a Secret.'),
      ),
      [],
    ),
  },
);

const ha = object(
  {says: 'How the members agree.'},
  {
    quorum: defaulted(
      oneOf(['majority', 'all'], {says: 'Who must have a write before it is acknowledged.'}),
      'majority',
    ),
    readConsistency: defaulted(
      oneOf(['eventual', 'read_your_writes', 'linearizable'], {
        says: 'How fresh a read is that does not say so itself.',
      }),
      'read_your_writes',
    ),
    raftPort: defaulted(
      integer({
        says: 'Port between the members; it is part of their names.',
        min: 1024,
        max: 65_535,
      }),
      ports.raft,
    ),
    electionTimeoutMs: defaulted(
      object(
        {says: 'Silence of the leader after which a member stands for election.'},
        {
          min: defaulted(integer({says: 'The shortest.', min: 50, max: 600_000}), 2_000),
          max: defaulted(integer({says: 'The longest.', min: 50, max: 600_000}), 5_000),
        },
      ),
      {},
    ),
    snapshotThreshold: defaulted(
      integer({says: 'Commits after which the log is shortened.', min: 1, max: 1_000_000_000}),
      100_000,
    ),
    priorities: defaulted(
      mapOf(
        {says: 'By ordinal: who leads rather; the highest first.', max: 9},
        integer({says: 'A priority.', min: 0, max: 1_000}),
      ),
      {},
    ),
  },
);

const storage = object(
  {says: 'The volumes of the data.'},
  {
    size: quantity({says: "Size of each member's volume; it can grow and never shrinks."}),
    storageClass: optional(objectName('Storage class; absent: the default one. Cannot change.')),
    raft: defaulted(
      object(
        {says: 'The log of consensus on a volume of its own, or on that of the data.'},
        {
          separate: defaulted(flag({says: 'Whether it has its own volume. Cannot change.'}), false),
          size: optional(quantity({says: 'Size of that volume.'})),
        },
      ),
      {},
    ),
    retention: defaulted(
      object(
        {says: 'What happens to claims that nobody uses.'},
        {
          whenDeleted: defaulted(
            oneOf(['Retain', 'Delete'], {says: 'When the cluster is deleted.'}),
            'Retain',
          ),
          whenScaled: defaulted(
            oneOf(['Retain', 'Delete'], {says: 'When its member is scaled away.'}),
            'Retain',
          ),
        },
      ),
      {},
    ),
  },
);

const backups = object(
  {says: 'Where the servers put their backups.'},
  {
    volume: optional(
      object(
        {says: 'A claim for each member, or one that all share.'},
        {
          size: optional(quantity({says: "Size of each member's volume of backups."})),
          storageClass: optional(objectName('Storage class of these volumes.')),
          accessMode: defaulted(
            oneOf(['ReadWriteOnce', 'ReadWriteMany'], {says: 'Access mode of these volumes.'}),
            'ReadWriteOnce',
          ),
          sharedClaim: optional(
            objectName('A claim with ReadWriteMany that all members mount: one catalogue.'),
          ),
        },
      ),
    ),
  },
);

const bootstrap = object(
  {says: 'What the cluster begins with. Cannot change, and means nothing once it has begun.'},
  {
    initialize: optional(
      object(
        {says: 'Empty databases.'},
        {
          databases: defaulted(
            listOf(
              {says: 'Their names.', max: 64},
              text({says: 'A name.', pattern: '^[A-Za-z][A-Za-z0-9_-]*$', maxLength: 128}),
            ),
            [],
          ),
        },
      ),
    ),
    recovery: optional(
      object(
        {says: 'Databases out of backups: exactly one source.'},
        {
          backupName: optional(objectName('A SvcBackup of this namespace.')),
          claim: optional(
            object(
              {says: 'A volume with archives.'},
              {
                name: objectName('Name of the claim.'),
                path: defaulted(text({says: 'Folder on it.', maxLength: 512}), '.'),
              },
            ),
          ),
          url: optional(
            text({
              says: 'Where archives lie: <url>/<database>.zip.',
              pattern: '^https?://',
              maxLength: 2_048,
            }),
          ),
          databases: defaulted(
            listOf(
              {says: 'Which databases; empty: all.', max: 64},
              text({says: 'A name.', maxLength: 128}),
            ),
            [],
          ),
        },
      ),
    ),
  },
);

const secretKey = (says: string, key: string) =>
  object(
    {says},
    {
      name: objectName('Name of a Secret of this namespace.'),
      key: defaulted(text({says: 'Key in it.', maxLength: 253}), key),
    },
  );

const upgrade = object(
  {says: 'How a change reaches the members: one at a time, the leader last.'},
  {
    strategy: defaulted(
      oneOf(['Automatic', 'Supervised'], {
        says:
          'Supervised waits before the leader until the annotation svc.io/approve names the ' +
          'template hash.',
      }),
      'Automatic',
    ),
    maxLagEntries: defaulted(
      integer({
        says: 'Entries that a member may lack and still count as caught up.',
        min: 0,
        max: 1_000_000,
      }),
      100,
    ),
    settleSeconds: defaulted(
      integer({
        says: 'How long a replaced member must be well before the next one.',
        min: 0,
        max: 3_600,
      }),
      15,
    ),
    podStartDeadline: defaulted(
      duration({says: 'After which a replaced member that is not well stalls the change.'}),
      '10m',
    ),
  },
);

const healing = object(
  {says: 'What the operator mends by itself.'},
  {
    autoReplace: defaulted(
      flag({says: 'Whether members that are lost for good are replaced.'}),
      true,
    ),
    replaceAfter: defaulted(duration({says: 'How long a node must be gone for that.'}), '15m'),
  },
);

const service = (says: string) =>
  object(
    {says},
    {
      type: defaulted(
        oneOf(['ClusterIP', 'NodePort', 'LoadBalancer'], {says: 'Type of the Service.'}),
        'ClusterIP',
      ),
      annotations: defaulted(labelMap('Annotations of the Service.'), {}),
      labels: defaulted(labelMap('Labels of the Service.'), {}),
    },
  );

const podTemplate = object(
  {says: 'What the pods get beside what the operator decides.'},
  {
    labels: defaulted(labelMap('Labels.'), {}),
    annotations: defaulted(labelMap('Annotations.'), {}),
    resources: optional(
      ofKubernetes({says: 'Resources of the server; its memory follows the limit.'}),
    ),
    nodeSelector: defaulted(labelMap('Nodes that may run members.'), {}),
    affinity: optional(ofKubernetes({says: 'Affinity; absent: members avoid sharing a node.'})),
    tolerations: defaulted(
      listOf({says: 'Tolerations.', max: 32}, ofKubernetes({says: 'A toleration.'})),
      [],
    ),
    topologySpread: optional(
      listOf(
        {says: 'Spread constraints; absent: over zones and hosts where that is possible.', max: 8},
        ofKubernetes({says: 'A constraint without its label selector.'}),
      ),
    ),
    priorityClassName: optional(objectName('Priority class.')),
    env: defaulted(
      listOf({says: 'Variables of the environment.', max: 64}, ofKubernetes({says: 'A variable.'})),
      [],
    ),
  },
);

export const clusterSpec = object(
  {says: 'What the cluster should be.'},
  {
    version: text({
      says: 'Release of the server, YY.M.N.',
      pattern: '^[0-9]{2}\\.[0-9]{1,2}\\.[0-9]{1,4}$',
      maxLength: 16,
    }),
    image: defaulted(image, {}),
    replicas: defaulted(
      integer({says: 'Members, each with a vote; an odd number uses them best.', min: 1, max: 9}),
      3,
    ),
    clusterName: optional(
      text({
        says: 'Name by which the members know each other; absent: that of the resource.',
        pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$',
        maxLength: 63,
      }),
    ),
    ha: defaulted(ha, {}),
    storage,
    backups: defaulted(backups, {}),
    bootstrap: optional(bootstrap),
    settings: defaulted(
      mapOf(
        {
          says: "Settings of the server by their names; those of the operator's own are refused.",
          max: 128,
        },
        text({says: 'A value as the server reads it.', maxLength: 4_096}),
      ),
      {},
    ),
    secrets: defaulted(
      object(
        {says: 'Secrets that are taken instead of generated ones.'},
        {
          root: optional(secretKey('Password of root.', 'password')),
          clusterToken: optional(secretKey('Token between the members.', 'token')),
        },
      ),
      {},
    ),
    tls: defaulted(
      object(
        {says: 'Encryption between the members, and of HTTP.'},
        {
          mode: defaulted(
            oneOf(['Disabled', 'Operator', 'Secret'], {
              says:
                'Operator makes certificates and opens HTTPS on 2490; Secret takes the keys of ' +
                'the members from spec.tls.secretName. Cannot be switched on or off.',
            }),
            'Disabled',
          ),
          secretName: optional(objectName('A Secret with tls.crt, tls.key and ca.crt.')),
          validity: defaulted(
            duration({says: 'How long a certificate of the operator is good.'}),
            '90d',
          ),
          renewBefore: defaulted(
            duration({says: 'How long before its end it is replaced; two thirds of it at most.'}),
            '30d',
          ),
          settle: defaulted(
            duration({
              says: 'How long servers get to read a new authority before it is relied upon.',
            }),
            '10m',
          ),
          mutual: defaulted(
            flag({says: 'Whether whoever connects must show a certificate.'}),
            true,
          ),
        },
      ),
      {},
    ),
    upgrade: defaulted(upgrade, {}),
    healing: defaulted(healing, {}),
    services: defaulted(
      object(
        {says: 'How clients reach the cluster.'},
        {
          rw: defaulted(service('The Service that leads to the leader.'), {}),
          ro: defaulted(service('The Service that leads to every member that is ready.'), {}),
        },
      ),
      {},
    ),
    networkPolicy: defaulted(
      object(
        {says: 'Who may connect to the members.'},
        {
          enabled: defaulted(
            flag({says: 'Whether the port between members is closed to everybody else.'}),
            true,
          ),
        },
      ),
      {},
    ),
    pdb: defaulted(
      object(
        {says: 'How many members may be away by the will of others.'},
        {enabled: defaulted(flag({says: 'Whether evictions are held to the quorum.'}), true)},
      ),
      {},
    ),
    podTemplate: defaulted(podTemplate, {}),
    terminationGracePeriodSeconds: defaulted(
      integer({says: 'How long a server may take to stop.', min: 5, max: 3_600}),
      120,
    ),
  },
);

export type ClusterSpec = ValueOf<typeof clusterSpec>;

/** A SvcCluster with a spec whose defaults are in place. */
export interface SvcCluster {
  readonly metadata: ObjectMeta & {
    readonly namespace: string;
    readonly uid: string;
    readonly generation: number;
  };
  readonly spec: ClusterSpec;
  readonly status: ClusterStatus | undefined;
}
