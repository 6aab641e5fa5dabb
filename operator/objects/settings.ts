/**
 * The settings that the servers of a cluster get, from its spec: what the operator decides, and
 * what the user gave. All of them are rows of the server's own table (held by a test), and the
 * table says which can change while a server runs.
 */
import {settingRow} from '#server/base/settings.ts';
import type {SvcCluster} from '#operator/api/svc-cluster.ts';
import {certificateKeys} from './certificates.ts';
import {hostOf, hostSuffix} from './names.ts';
import {ports} from '#operator/api/group.ts';

export type SettingValues = Readonly<Record<string, string>>;

/** Where volumes and files lie in the container. */
export const paths = {
  /** That of the image: what lies elsewhere on the volume would be seen by nobody. */
  root: '/data',
  raft: '/var/lib/svc-raft',
  config: '/etc/svc/config',
  rootSecret: '/etc/svc/root',
  tokenSecret: '/etc/svc/token',
  tls: '/etc/svc/tls',
  temporary: '/tmp',
} as const;

/** Name of the file with the settings, inside `paths.config`. */
export const CONFIG_FILE = 'server-configuration.json';

const STOP_MARGIN_SECONDS = 10;

/** @param initial - Ordinals of those who began the cluster. */
export function settingsOf(cluster: SvcCluster, initial: readonly number[]): SettingValues {
  const {spec} = cluster;
  const {ha} = spec;
  const graceSeconds = spec.terminationGracePeriodSeconds;
  return {
    ...spec.settings,
    'svc.server.rootPath': paths.root,
    'svc.server.rootPasswordPath': `${paths.rootSecret}/password`,
    'svc.server.httpIncomingHost': '0.0.0.0',
    'svc.server.httpIncomingPort': String(ports.http),
    'svc.server.readinessRequiresHA': 'true',
    'svc.server.shutdownTimeout': `${Math.max(1, graceSeconds - STOP_MARGIN_SECONDS)}s`,
    'svc.server.defaultDatabases': (spec.bootstrap?.initialize?.databases ?? []).join(';'),
    'svc.ha.enabled': 'true',
    'svc.ha.k8s': 'true',
    'svc.ha.k8sSuffix': hostSuffix(cluster),
    'svc.ha.clusterName': clusterNameOf(cluster),
    'svc.ha.clusterTokenPath': `${paths.tokenSecret}/token`,
    'svc.ha.serverList': initial.map(ordinal => declared(cluster, ordinal)).join(','),
    'svc.ha.raftPort': String(ha.raftPort),
    'svc.ha.quorum': ha.quorum,
    'svc.ha.readConsistency': ha.readConsistency,
    'svc.ha.electionTimeoutMin': `${ha.electionTimeoutMs.min}ms`,
    'svc.ha.electionTimeoutMax': `${ha.electionTimeoutMs.max}ms`,
    'svc.ha.snapshotThreshold': String(ha.snapshotThreshold),
    ...(spec.storage.raft.separate ? {'svc.ha.raftStorageDirectory': paths.raft} : {}),
    ...tlsSettings(cluster),
  };
}

export function clusterNameOf({spec, metadata}: SvcCluster): string {
  return spec.clusterName ?? metadata.name;
}

function declared(cluster: SvcCluster, ordinal: number): string {
  const {priorities, raftPort} = cluster.spec.ha;
  const priority = priorities[String(ordinal)] ?? 0;
  const secure = hasHttps(cluster) ? `:${ports.https}` : '';
  return `${hostOf(cluster, ordinal)}:${raftPort}:${ports.http}:${priority}${secure}`;
}

/** Whether the servers listen for HTTPS beside HTTP. */
export function hasHttps({spec: {tls}}: SvcCluster): boolean {
  return tls.mode === 'Operator';
}

function tlsSettings(cluster: SvcCluster): SettingValues {
  const {tls} = cluster.spec;
  if (tls.mode === 'Disabled') return {};
  return {
    ...(hasHttps(cluster)
      ? {
          'svc.ssl.enabled': 'true',
          'svc.ssl.keyStore': `${paths.tls}/${certificateKeys.store}`,
          'svc.ssl.trustStore': `${paths.tls}/${certificateKeys.trusted}`,
          'svc.server.httpsIncomingPort': String(ports.https),
        }
      : {}),
    'svc.ha.tls.enabled': 'true',
    'svc.ha.tls.certChainFile': `${paths.tls}/tls.crt`,
    'svc.ha.tls.privateKeyFile': `${paths.tls}/tls.key`,
    'svc.ha.tls.trustCertCollectionFile': `${paths.tls}/ca.crt`,
    'svc.ha.tls.mutualAuth': String(tls.mutual),
  };
}

/** Divides settings: a running server takes some over, and starts anew for the others. */
export function divided(values: SettingValues): {
  readonly dynamic: SettingValues;
  readonly fixed: SettingValues;
} {
  const entries = Object.entries(values);
  return {
    dynamic: Object.fromEntries(entries.filter(([key]) => isDynamic(key))),
    fixed: Object.fromEntries(entries.filter(([key]) => !isDynamic(key))),
  };
}

function isDynamic(key: string): boolean {
  return settingRow(key)?.dynamic === true;
}

/** The default as a server command writes it, for a setting that the spec no longer holds. */
export function defaultOf(key: string): string | undefined {
  const row = settingRow(key);
  if (row === undefined || row.type === 'ports') return undefined;
  return row.type === 'duration' ? `${row.default}ms` : String(row.default);
}
