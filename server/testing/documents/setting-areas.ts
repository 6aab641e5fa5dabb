/** The settings by area, as the manual shows them (docs/settings.md). */
import type {SettingRow} from '#server/base/setting-row.ts';
import type {SettingKey} from '#server/base/settings.ts';
import {cacheRows} from '#server/base/settings/caches.ts';
import {consensusRows} from '#server/base/settings/consensus.ts';
import {formationRows} from '#server/base/settings/formation.ts';
import {forwardingRows} from '#server/base/settings/forwarding.ts';
import {membershipRows} from '#server/base/settings/membership.ts';
import {monitoringRows} from '#server/base/settings/monitoring.ts';
import {networkRows} from '#server/base/settings/network.ts';
import {peerAccessRows} from '#server/base/settings/peer-access.ts';
import {replicaRepairRows} from '#server/base/settings/replica-repair.ts';
import {replicatedLogRows} from '#server/base/settings/replicated-log.ts';
import {requestRows} from '#server/base/settings/requests.ts';
import {securityRows} from '#server/base/settings/security.ts';
import {serverRows} from '#server/base/settings/server.ts';
import {snapshotRows} from '#server/base/settings/snapshots.ts';
import {statementRows} from '#server/base/settings/statements.ts';
import {storageRows} from '#server/base/settings/storage.ts';
import {transactionRows} from '#server/base/settings/transactions.ts';

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
