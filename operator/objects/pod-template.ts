/**
 * The pods of a cluster: one server each, as an unprivileged user on a read-only root file system,
 * with everything that it keeps on its volumes.
 *
 * Liveness asks only whether the process answers, so that a member that catches up is never killed;
 * readiness asks whether it is a member that is caught up, which is what rolling changes and
 * Services wait for.
 */
import {annotations, CONTAINER, labels, ports, USER_ID} from '#operator/api/group.ts';
import {hashOf, type JsonMap} from '#operator/api/kube-object.ts';
import type {SvcCluster} from '#operator/api/svc-cluster.ts';
import {allLabels, names, selectorLabels} from './names.ts';
import {TOKENS_KEY} from './tokens.ts';
import {CONFIG_FILE, divided, hasHttps, paths, settingsOf} from './settings.ts';

export interface PodTemplate {
  readonly template: JsonMap;
  /** Stands for everything for which a pod must be replaced. */
  readonly hash: string;
}

/** A volume with archives, which a member restores from and does not write to. */
export interface ArchiveVolume {
  readonly claim: string;
  readonly subPath: string | undefined;
}

/** Settings that a running server was given last, on its pod. */
export const SETTINGS_ANNOTATION = 'svc.io/settings';

export interface TemplateInput {
  /** Ordinals of those who began the cluster. */
  readonly initial: readonly number[];
  readonly restartAt: string | undefined;
  /** How often the Secret with the tokens was written: servers read it at their start. */
  readonly tokenStep?: number | undefined;
  /** Mounted in the place of the member's own backups. */
  readonly archives?: ArchiveVolume | undefined;
}

export function podTemplate(
  cluster: SvcCluster,
  {initial, restartAt, archives, tokenStep = 0}: TemplateInput,
): PodTemplate {
  const {dynamic, fixed} = divided(settingsOf(cluster, initial));
  const {podTemplate: own} = cluster.spec;
  const spec = podSpec(cluster, archives);
  const marks = {
    ...own.annotations,
    ...(restartAt === undefined ? {} : {restartAt}),
    ...(tokenStep === 0 ? {} : {tokenStep: String(tokenStep)}),
  };
  // The list of those who began it is the same for ever, but for the priorities in it.
  const {'svc.ha.serverList': _, ...counted} = fixed;
  const {priorities} = cluster.spec.ha;
  const hash = hashOf([spec, counted, priorities, own.labels, marks]);
  const template = {
    metadata: {
      labels: {...own.labels, ...allLabels(cluster), [labels.role]: 'joining'},
      annotations: {
        ...own.annotations,
        ...(restartAt === undefined ? {} : {[annotations.restartAt]: restartAt}),
        [annotations.templateHash]: hash,
        [SETTINGS_ANNOTATION]: JSON.stringify(dynamic),
      },
    },
    spec,
  };
  return {template, hash};
}

export function imageOf({spec: {image, version}}: SvcCluster): string {
  return image.digest === undefined
    ? `${image.repository}:${version}`
    : `${image.repository}@${image.digest}`;
}

function podSpec(cluster: SvcCluster, archives: ArchiveVolume | undefined): JsonMap {
  const {spec} = cluster;
  const {podTemplate: own} = spec;
  return {
    serviceAccountName: names.serviceAccount(cluster),
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: spec.terminationGracePeriodSeconds,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: USER_ID,
      runAsGroup: USER_ID,
      fsGroup: USER_ID,
      fsGroupChangePolicy: 'OnRootMismatch',
      seccompProfile: {type: 'RuntimeDefault'},
    },
    ...(spec.image.pullSecrets.length === 0
      ? {}
      : {imagePullSecrets: spec.image.pullSecrets.map(name => ({name}))}),
    affinity: (own.affinity as JsonMap | undefined) ?? apart(cluster),
    topologySpreadConstraints: spread(cluster),
    ...(Object.keys(own.nodeSelector).length === 0 ? {} : {nodeSelector: own.nodeSelector}),
    ...(own.tolerations.length === 0 ? {} : {tolerations: own.tolerations as readonly JsonMap[]}),
    ...(own.priorityClassName === undefined ? {} : {priorityClassName: own.priorityClassName}),
    containers: [container(cluster, archives)],
    volumes: volumes(cluster, archives),
  };
}

function container(cluster: SvcCluster, archives: ArchiveVolume | undefined): JsonMap {
  const {spec} = cluster;
  const probe = (path: string) => ({
    httpGet: {path: `/api/v1${path}`, port: 'http'},
    timeoutSeconds: 5,
  });
  return {
    name: CONTAINER,
    image: imageOf(cluster),
    imagePullPolicy: spec.image.pullPolicy,
    args: ['start', '--config', `${paths.config}/${CONFIG_FILE}`],
    env: [
      ...(spec.podTemplate.env as readonly JsonMap[]),
      // The image says it as well, and the environment counts more than the file of settings: data
      // beside the volume would go with the pod.
      {name: 'SVC_SERVER_ROOTPATH', value: paths.root},
    ],
    ports: [
      {name: 'http', containerPort: ports.http, protocol: 'TCP'},
      {name: 'raft', containerPort: spec.ha.raftPort, protocol: 'TCP'},
      ...(hasHttps(cluster) ? [{name: 'https', containerPort: ports.https, protocol: 'TCP'}] : []),
    ],
    // A start may install a snapshot of any size first; the socket is open meanwhile.
    startupProbe: {...probe('/health'), periodSeconds: 2, failureThreshold: 150},
    livenessProbe: {...probe('/health'), periodSeconds: 10, failureThreshold: 6},
    readinessProbe: {...probe('/ready'), periodSeconds: 2, failureThreshold: 2},
    ...(spec.podTemplate.resources === undefined
      ? {}
      : {resources: spec.podTemplate.resources as JsonMap}),
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: {drop: ['ALL']},
    },
    volumeMounts: mounts(cluster, archives),
  };
}

function mounts({spec}: SvcCluster, archives: ArchiveVolume | undefined): readonly JsonMap[] {
  return [
    {name: 'data', mountPath: paths.root},
    ...(spec.storage.raft.separate ? [{name: 'raft', mountPath: paths.raft}] : []),
    ...backupsMount(spec, archives),
    {name: 'config', mountPath: paths.config, readOnly: true},
    {name: 'root', mountPath: paths.rootSecret, readOnly: true},
    {name: 'token', mountPath: paths.tokenSecret, readOnly: true},
    ...(spec.tls.mode === 'Disabled' ? [] : [{name: 'tls', mountPath: paths.tls, readOnly: true}]),
    {name: 'tmp', mountPath: paths.temporary},
  ];
}

function backupsMount(
  {backups}: SvcCluster['spec'],
  archives: ArchiveVolume | undefined,
): readonly JsonMap[] {
  const mountPath = `${paths.root}/backups`;
  if (archives === undefined) {
    return backups.volume === undefined ? [] : [{name: 'backups', mountPath}];
  }
  const {subPath} = archives;
  const within = subPath === undefined ? {} : {subPath};
  return [{name: 'archives', mountPath, readOnly: true, ...within}];
}

/** Claims of the stateful set are volumes of their own names and are not listed. */
function volumes(cluster: SvcCluster, archives: ArchiveVolume | undefined): readonly JsonMap[] {
  const {spec} = cluster;
  const secretName = hasHttps(cluster) ? names.certificate(cluster) : spec.tls.secretName;
  const shared = spec.backups.volume?.sharedClaim;
  return [
    {name: 'config', configMap: {name: names.config(cluster)}},
    {name: 'root', secret: secretVolume(rootSecret(cluster), 'password')},
    {name: 'token', secret: secretVolume({name: names.tokens(cluster), key: TOKENS_KEY}, 'token')},
    ...(secretName === undefined ? [] : [{name: 'tls', secret: {secretName, defaultMode: 0o440}}]),
    ...(shared === undefined
      ? []
      : [{name: 'backups', persistentVolumeClaim: {claimName: shared}}]),
    ...(archives === undefined
      ? []
      : [{name: 'archives', persistentVolumeClaim: {claimName: archives.claim, readOnly: true}}]),
    {name: 'tmp', emptyDir: {}},
  ];
}

interface SecretKey {
  readonly name: string;
  readonly key: string;
}

export function rootSecret(cluster: SvcCluster): SecretKey {
  return cluster.spec.secrets.root ?? {name: names.root(cluster), key: 'password'};
}

export function tokenSecret(cluster: SvcCluster): SecretKey {
  return cluster.spec.secrets.clusterToken ?? {name: names.token(cluster), key: 'token'};
}

function secretVolume({name, key}: SecretKey, path: string): JsonMap {
  return {secretName: name, defaultMode: 0o440, items: [{key, path}]};
}

/** Members avoid a node that has one, and go there all the same where there is no other. */
function apart(cluster: SvcCluster): JsonMap {
  return {
    podAntiAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        {
          weight: 100,
          podAffinityTerm: {
            topologyKey: 'kubernetes.io/hostname',
            labelSelector: {matchLabels: selectorLabels(cluster)},
          },
        },
      ],
    },
  };
}

function spread(cluster: SvcCluster): readonly JsonMap[] {
  const labelSelector = {matchLabels: selectorLabels(cluster)};
  const given = cluster.spec.podTemplate.topologySpread;
  if (given !== undefined) {
    return given.map(constraint => ({...(constraint as JsonMap), labelSelector}));
  }
  return ['topology.kubernetes.io/zone', 'kubernetes.io/hostname'].map(topologyKey => ({
    maxSkew: 1,
    topologyKey,
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector,
  }));
}
