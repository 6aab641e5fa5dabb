/**
 * The one table of settings: every knob a person may turn, with its type, unit, default and scope.
 *
 * Names are those of the documented surface and never change. `svc settings`, the server's route,
 * the MCP tool, the manual page and the operator's list are all made from this table. Values are
 * read in `node/` only, and resolved by setting-values.ts; everybody else asks
 * `settings.get('svc.txRetries')`, typed by the row.
 *
 * Invariant B2: a setting exists here or nowhere, and its default passes its own check.
 */
import type {Ports, SettingRow} from './setting-row.ts';
import {cacheRows} from './settings/caches.ts';
import {consensusRows} from './settings/consensus.ts';
import {formationRows} from './settings/formation.ts';
import {forwardingRows} from './settings/forwarding.ts';
import {membershipRows} from './settings/membership.ts';
import {monitoringRows} from './settings/monitoring.ts';
import {networkRows} from './settings/network.ts';
import {peerAccessRows} from './settings/peer-access.ts';
import {replicaRepairRows} from './settings/replica-repair.ts';
import {replicatedLogRows} from './settings/replicated-log.ts';
import {requestRows} from './settings/requests.ts';
import {securityRows} from './settings/security.ts';
import {serverRows} from './settings/server.ts';
import {snapshotRows} from './settings/snapshots.ts';
import {statementRows} from './settings/statements.ts';
import {storageRows} from './settings/storage.ts';
import {transactionRows} from './settings/transactions.ts';

export const settingRows = {
  ...serverRows,
  ...monitoringRows,
  ...networkRows,
  ...securityRows,
  ...requestRows,
  ...transactionRows,
  ...statementRows,
  ...cacheRows,
  ...storageRows,
  ...membershipRows,
  ...consensusRows,
  ...replicatedLogRows,
  ...snapshotRows,
  ...replicaRepairRows,
  ...formationRows,
  ...forwardingRows,
  ...peerAccessRows,
} as const satisfies Record<string, SettingRow>;

/** What belongs together, as the manual shows it. */
export interface SettingArea {
  readonly title: string;
  readonly says: string;
  readonly rows: Readonly<Partial<Record<SettingKey, SettingRow>>>;
}

/** Every row stands in one area. */
export const settingAreas: readonly SettingArea[] = [
  {
    title: 'Server',
    says: 'Who the server is, where its files lie, what it makes at its first start, how it stops.',
    rows: serverRows,
  },
  {
    title: 'Logs and metrics',
    says: 'What the server says of itself: its log, its warnings, its metrics and spans.',
    rows: monitoringRows,
  },
  {
    title: 'Addresses and TLS',
    says: 'Where the server listens, with which keys, and how long a connection may take.',
    rows: networkRows,
  },
  {
    title: 'Logins and tokens',
    says: 'How passwords are kept, how long a login lasts, and how API tokens may travel.',
    rows: securityRows,
  },
  {
    title: 'Requests',
    says: 'How large requests and answers may be, and how many a client may have open at once.',
    rows: requestRows,
  },
  {
    title: 'Transactions',
    says: 'What a commit survives; how long and how large a transaction may be.',
    rows: transactionRows,
  },
  {
    title: 'Statements',
    says: 'What a statement may look like and spend, and how many run at once.',
    rows: statementRows,
  },
  {
    title: 'Caches and threads of reads',
    says: 'What is kept in memory beside the stores, and which reads get a thread of their own.',
    rows: cacheRows,
  },
  {
    title: 'Storage',
    says: 'How records and indexes lie on the disk, and how much of it stays free.',
    rows: storageRows,
  },
  {
    title: 'Cluster: members and addresses',
    says: 'Who belongs to the cluster, and how its servers find and trust each other.',
    rows: membershipRows,
  },
  {
    title: 'Cluster: consensus',
    says: 'How many members decide, when they elect, and how new a read is.',
    rows: consensusRows,
  },
  {
    title: 'Cluster: log',
    says: 'How the log of the members is kept, sent and cut.',
    rows: replicatedLogRows,
  },
  {
    title: 'Cluster: snapshots',
    says: 'How a member gets what the log holds no more.',
    rows: snapshotRows,
  },
  {
    title: 'Cluster: repair of replicas',
    says: 'When a member counts as behind, stalled or damaged, and what is done about it.',
    rows: replicaRepairRows,
  },
  {
    title: 'Cluster: beginning',
    says: 'How a cluster takes over the databases that its servers bring.',
    rows: formationRows,
  },
  {
    title: 'Cluster: forwarding',
    says: 'How requests reach the leader, and how long they wait for one.',
    rows: forwardingRows,
  },
  {
    title: 'Cluster: peers',
    says: 'Who may connect as a member, and over which TLS.',
    rows: peerAccessRows,
  },
];

/** The name of one setting. */
export type SettingKey = keyof typeof settingRows;

/** What `settings.get(key)` answers: sizes are bytes, durations milliseconds. */
export type SettingValue<Key extends SettingKey> = ValueOf<(typeof settingRows)[Key]>;

type ValueOf<Row> = Row extends {readonly type: 'boolean'}
  ? boolean
  : Row extends {readonly type: 'integer' | 'size' | 'duration'}
    ? number
    : Row extends {readonly type: 'ports'}
      ? Ports
      : Row extends {readonly type: 'enum'; readonly values: readonly (infer Value)[]}
        ? Value
        : string;

/** Every name of the table, in its order. */
export const settingKeys: readonly SettingKey[] = Object.keys(settingRows) as SettingKey[];

/** Whether `key` is a row of the table; for names that people wrote. */
export function isSettingKey(key: string): key is SettingKey {
  return Object.hasOwn(settingRows, key);
}

/** The row of a name that people wrote; undefined without one. */
export function settingRow(key: string): SettingRow | undefined {
  return isSettingKey(key) ? settingRows[key] : undefined;
}
