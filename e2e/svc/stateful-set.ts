/**
 * A cluster of Svc as somebody writes it by hand who has no operator: a StatefulSet of three with
 * its services, secrets and disruption budget.
 *
 * It is checked against the server's own table of settings (stateful-set.test.ts).
 */
import type {KubernetesObject} from '../lab/kubernetes.ts';

export interface Members {
  readonly name: string;
  readonly namespace: string;
  readonly replicas: number;
  /** `svc/server:26.11.1`. */
  readonly image: string;
  readonly rootPassword: string;
  readonly token: string;
}

export const ports = {http: 2480, raft: 2434} as const;
const secrets = '/run/secrets/svc';
const userId = 65_532;

/** Everything, in the order in which it is applied. */
export function statefulSet(members: Members): KubernetesObject[] {
  const {name, namespace, rootPassword, token, replicas} = members;
  const labels = labelsOf(members);
  return [
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {name: `${name}-secrets`, namespace, labels},
      stringData: {password: rootPassword, token},
    },
    headlessService(members),
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {name, namespace, labels},
      spec: {selector: labels, ports: [{name: 'http', port: ports.http, targetPort: 'http'}]},
    },
    {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: {name, namespace, labels},
      spec: {
        selector: {matchLabels: labels},
        minAvailable: Math.floor(replicas / 2) + 1,
        unhealthyPodEvictionPolicy: 'AlwaysAllow',
      },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: {name, namespace, labels},
      spec: {
        serviceName: `${name}-headless`,
        replicas,
        // The members of a cluster that begins wait for each other.
        podManagementPolicy: 'Parallel',
        selector: {matchLabels: labels},
        template: {metadata: {labels}, spec: podOf(members)},
        volumeClaimTemplates: [
          {
            metadata: {name: 'data'},
            spec: {accessModes: ['ReadWriteOnce'], resources: {requests: {storage: '512Mi'}}},
          },
        ],
      },
    },
  ];
}

export function labelsOf({name}: Pick<Members, 'name'>): Record<string, string> {
  return {'app.kubernetes.io/name': 'svc', 'app.kubernetes.io/instance': name};
}

/** The settings of a member, by their variables of the environment. */
export function environmentOf(members: Members): Record<string, string> {
  const {name, namespace, replicas} = members;
  const pods = Array.from({length: replicas}, (_, ordinal) => `${name}-${ordinal}`);
  return {
    SVC_HA_ENABLED: 'true',
    SVC_HA_K8S: 'true',
    SVC_HA_K8SSUFFIX: `.${name}-headless.${namespace}.svc.cluster.local`,
    SVC_HA_SERVERLIST: pods.map(pod => `${pod}:{raft:${ports.raft},http:${ports.http}}`).join(','),
    SVC_HA_CLUSTERNAME: name,
    SVC_HA_CLUSTERTOKENPATH: `${secrets}/token`,
    SVC_SERVER_ROOTPASSWORDPATH: `${secrets}/password`,
    SVC_SERVER_READINESSREQUIRESHA: 'true',
    SVC_SERVER_MODE: 'production',
  };
}

/** The service by which members find each other before they are ready. */
function headlessService(members: Members): KubernetesObject {
  const {name, namespace} = members;
  const labels = labelsOf(members);
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {name: `${name}-headless`, namespace, labels},
    spec: {
      clusterIP: 'None',
      publishNotReadyAddresses: true,
      selector: labels,
      ports: Object.entries(ports).map(([port, number]) => ({name: port, port: number})),
    },
  };
}

function podOf(members: Members): object {
  return {
    automountServiceAccountToken: false,
    // Variables of the environment that a service called `svc` would put among the settings.
    enableServiceLinks: false,
    terminationGracePeriodSeconds: 60,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: userId,
      runAsGroup: userId,
      fsGroup: userId,
      fsGroupChangePolicy: 'OnRootMismatch',
      seccompProfile: {type: 'RuntimeDefault'},
    },
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'topology.kubernetes.io/zone',
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: {matchLabels: labelsOf(members)},
      },
    ],
    containers: [containerOf(members)],
    volumes: [
      {name: 'secrets', secret: {secretName: `${members.name}-secrets`, defaultMode: 0o440}},
      {name: 'tmp', emptyDir: {}},
    ],
  };
}

function containerOf(members: Members): object {
  const probe = (path: string): object => ({httpGet: {path: `/api/v1/${path}`, port: 'http'}});
  return {
    name: 'server',
    image: members.image,
    imagePullPolicy: 'IfNotPresent',
    env: Object.entries(environmentOf(members)).map(([name, value]) => ({name, value})),
    ports: Object.entries(ports).map(([name, containerPort]) => ({name, containerPort})),
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: {drop: ['ALL']},
    },
    resources: {
      requests: {cpu: '100m', memory: '512Mi'},
      limits: {memory: '512Mi'},
    },
    // A server answers before it opens anything, also while it waits for the others.
    startupProbe: {...probe('health'), periodSeconds: 1, failureThreshold: 300},
    // A member that catches up is alive and not ready.
    livenessProbe: {...probe('health'), periodSeconds: 10, timeoutSeconds: 10, failureThreshold: 6},
    readinessProbe: {...probe('ready'), periodSeconds: 1, timeoutSeconds: 2, failureThreshold: 2},
    volumeMounts: [
      {name: 'data', mountPath: '/data'},
      {name: 'secrets', mountPath: secrets, readOnly: true},
      {name: 'tmp', mountPath: '/tmp'},
    ],
  };
}
