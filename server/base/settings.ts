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
