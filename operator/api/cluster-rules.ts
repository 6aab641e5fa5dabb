/**
 * The rules of a SvcCluster's spec that no single field can say, and the settings of the server
 * that belong to the operator.
 */
import {words} from '#server/base/words.ts';
import {quantityValue} from './quantity.ts';
import {type Rule, unchanged} from './rules.ts';
import {canonicalJson} from './kube-object.ts';
import type {ClusterSpec} from './svc-cluster.ts';

/** Settings that follow from other fields of the spec or from how pods are made. */
export const ownedSettings = [
  ...words('svc.server.name svc.server.rootPath svc.server.databaseDirectory'),
  ...words('svc.server.configDirectory svc.server.backupDirectory svc.server.rootPassword'),
  ...words('svc.server.rootPasswordPath svc.server.defaultDatabases svc.server.httpIncomingHost'),
  ...words('svc.server.httpIncomingPort svc.server.httpsIncomingPort'),
  ...words('svc.server.readinessRequiresHA svc.server.shutdownTimeout svc.ha.enabled'),
  ...words('svc.ha.clusterName svc.ha.clusterToken svc.ha.clusterTokenPath svc.ha.serverList'),
  ...words('svc.ha.serverRole svc.ha.raftPort svc.ha.k8s svc.ha.k8sSuffix svc.ha.quorum'),
  ...words('svc.ha.readConsistency svc.ha.electionTimeoutMin svc.ha.electionTimeoutMax'),
  ...words('svc.ha.snapshotThreshold svc.ha.raftPersistStorage svc.ha.raftStorageDirectory'),
  ...words('svc.ssl.enabled svc.ssl.keyStore svc.ssl.trustStore svc.ha.tls.enabled'),
  ...words('svc.ha.tls.certChainFile svc.ha.tls.privateKeyFile svc.ha.tls.trustCertCollectionFile'),
  ...words('svc.ha.tls.mutualAuth'),
];

/** Release of a minor as one number: only it decides whether data can go back. */
function minorOf(version: string): number {
  const [year = '', month = ''] = version.split('.');
  return Number(year) * 1_000 + Number(month);
}

const MINOR = (self: string): string =>
  `int(${self}.version.split('.')[0]) * 1000 + int(${self}.version.split('.')[1])`;

const count = (...parts: readonly unknown[]): number =>
  parts.filter(part => part !== undefined).length;

export const clusterRules: readonly Rule<ClusterSpec>[] = [
  {
    path: 'spec',
    cel: `${MINOR('self')} >= ${MINOR('oldSelf')}`,
    message:
      'version cannot go below the running minor release: its data cannot be read by an older ' +
      'one; restore a backup into a new cluster instead',
    holds: (spec, old) => old === undefined || minorOf(spec.version) >= minorOf(old.version),
  },
  {
    path: 'spec',
    cel: unchanged('clusterName'),
    message: 'clusterName cannot change: members know each other by it; create a new cluster',
    holds: (spec, old) => old === undefined || spec.clusterName === old.clusterName,
  },
  {
    path: 'spec',
    cel: unchanged('bootstrap'),
    message: 'bootstrap cannot change: it means nothing once the cluster has begun',
    holds: (spec, old) =>
      old === undefined || canonicalJson(spec.bootstrap) === canonicalJson(old.bootstrap),
  },
  {
    path: 'spec.ha',
    cel: 'self.raftPort == oldSelf.raftPort',
    message: 'raftPort cannot change: it is part of the names of the members',
    holds: (spec, old) => old === undefined || spec.ha.raftPort === old.ha.raftPort,
  },
  {
    path: 'spec.ha',
    cel: "self.priorities.all(k, k.matches('^[0-8]$'))",
    message: 'priorities are named by ordinal, from 0 to 8',
    holds: ({ha}) => Object.keys(ha.priorities).every(key => /^[0-8]$/.test(key)),
  },
  {
    path: 'spec.ha.electionTimeoutMs',
    cel: 'self.min < self.max',
    message: 'electionTimeoutMs.min must be below max: members must not all stand at once',
    holds: ({ha}) => ha.electionTimeoutMs.min < ha.electionTimeoutMs.max,
  },
  {
    path: 'spec.storage',
    cel: 'quantity(self.size).compareTo(quantity(oldSelf.size)) >= 0',
    message:
      'storage.size cannot shrink: volumes only grow; set it back to its former size or above',
    holds: ({storage}, old) =>
      old === undefined || quantityValue(storage.size) >= quantityValue(old.storage.size),
  },
  {
    path: 'spec.storage',
    cel: unchanged('storageClass'),
    message: 'storageClass cannot change: restore a backup into a new cluster with the other class',
    holds: ({storage}, old) =>
      old === undefined || storage.storageClass === old.storage.storageClass,
  },
  {
    path: 'spec.storage.raft',
    cel: 'self.separate == oldSelf.separate',
    message: 'storage.raft.separate cannot change: the log lies where it was begun',
    holds: ({storage}, old) =>
      old === undefined || storage.raft.separate === old.storage.raft.separate,
  },
  {
    path: 'spec.storage.raft',
    cel: 'self.separate == has(self.size)',
    message: 'storage.raft.size is given when, and only when, storage.raft.separate is true',
    holds: ({storage: {raft}}) => raft.separate === (raft.size !== undefined),
  },
  {
    path: 'spec.backups.volume',
    cel: 'has(self.size) != has(self.sharedClaim)',
    message: 'backups.volume needs either size or sharedClaim',
    holds: ({backups: {volume}}) =>
      volume === undefined || count(volume.size, volume.sharedClaim) === 1,
  },
  {
    path: 'spec.bootstrap',
    cel: 'has(self.initialize) != has(self.recovery)',
    message: 'bootstrap needs either initialize or recovery',
    holds: ({bootstrap}) =>
      bootstrap === undefined || count(bootstrap.initialize, bootstrap.recovery) === 1,
  },
  {
    path: 'spec.bootstrap.recovery',
    cel: '[has(self.backupName), has(self.claim), has(self.url)].filter(x, x).size() == 1',
    message: 'bootstrap.recovery needs exactly one of backupName, claim and url',
    holds: ({bootstrap}) => {
      const from = bootstrap?.recovery;
      return from === undefined || count(from.backupName, from.claim, from.url) === 1;
    },
  },
  {
    path: 'spec.bootstrap.recovery',
    cel: '!has(self.url) || (has(self.databases) && self.databases.size() > 0)',
    message:
      'bootstrap.recovery.url needs databases: each is fetched from <url>/<database>.zip by ' +
      'its name',
    holds: ({bootstrap}) => {
      const from = bootstrap?.recovery;
      return from?.url === undefined || from.databases.length > 0;
    },
  },
  {
    path: 'spec.settings',
    cel: `self.all(k, !(k in [${ownedSettings.map(key => `'${key}'`).join(', ')}]))`,
    message:
      "settings holds a key of the operator's own: use the field of the spec that stands for it",
    holds: ({settings}) => {
      const owned: ReadonlySet<string> = new Set(ownedSettings);
      return Object.keys(settings).every(key => !owned.has(key));
    },
  },
  {
    path: 'spec.settings',
    cel: "self.all(k, k.startsWith('svc.'))",
    message: 'settings are named in full, as in svc.txRetries',
    holds: ({settings}) => Object.keys(settings).every(key => key.startsWith('svc.')),
  },
  {
    path: 'spec.tls',
    cel: "(self.mode == 'Disabled') == (oldSelf.mode == 'Disabled')",
    message:
      'tls.mode cannot be switched on or off: members with and without it do not understand each ' +
      'other; restore a backup into a new cluster',
    holds: ({tls}, old) =>
      old === undefined || (tls.mode === 'Disabled') === (old.tls.mode === 'Disabled'),
  },
  {
    path: 'spec.tls',
    cel: "(self.mode == 'Secret') == has(self.secretName)",
    message: 'tls.secretName is given when, and only when, tls.mode is Secret',
    holds: ({tls}) => (tls.mode === 'Secret') === (tls.secretName !== undefined),
  },
];
