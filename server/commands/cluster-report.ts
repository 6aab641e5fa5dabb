/**
 * The status of a cluster, and the outcome of a comparison, as a person reads them in an incident:
 * who leads, how each member does, and what to do.
 */
import type {Row} from '#server/client/client.ts';
import {tableOf, visible} from './table.ts';

/** The answer of GET `/cluster` in lines. `width` bounds those of tables. */
export function statusReport(status: Row, width: number): string {
  const alerts = rowsIn(status['alerts']);
  return [
    headline(status),
    '',
    tableOf(rowsIn(status['peers']).map(peerRow(status)), width).trimEnd(),
    ...presence(status['databasePresence'], width),
    '',
    ...(alerts.length === 0 ? ['no alerts'] : alerts.flatMap(alertLines)),
    '',
  ].join('\n');
}

function headline(status: Row): string {
  const [name, leader, term] = ['clusterName', 'leaderId', 'currentTerm'].map(key => status[key]);
  const isFresh = status['isLeader'] === true && status['leaderReady'] !== true;
  const led = leader === null ? 'nobody leads' : `${text(leader)} leads`;
  const lag = Number(status['localReplicationLag'] ?? -1);
  const behind = lag > 0 ? `, ${lag} entries behind` : '';
  return (
    `cluster ${text(name)}: ${led}${isFresh ? ' (not ready yet)' : ''}, term ${text(term)}\n` +
    `told by ${text(status['localPeerId'])} (${text(status['raftState'])}), ` +
    `applied ${text(status['localAppliedIndex'])}${behind}`
  );
}

/** Columns that nobody knows on this server are left out by the table. */
function peerRow(status: Row): (peer: Row) => Row {
  const leads = status['isLeader'] === true;
  return peer => ({
    peer: peer['id'],
    name: peer['name'] ?? '',
    role: peer['isVoter'] === false && peer['inConfiguration'] === true ? 'JOINING' : peer['role'],
    http: peer['httpAddressAmbiguous'] === true ? 'ambiguous' : (peer['httpAddress'] ?? ''),
    priority: peer['priority'],
    ...(leads
      ? {
          status: peer['replicaStatus'] ?? '',
          lag: peer['replicationLag'],
          'heard ms ago': peer['lastContactMs'] === -1 ? 'never' : peer['lastContactMs'],
          version: peer['version'] ?? text(peer['capabilitiesUnknownReason'] ?? ''),
        }
      : {}),
  });
}

function presence(matrix: unknown, width: number): readonly string[] {
  if (typeof matrix !== 'object' || matrix === null) return [];
  const {nodes, unreachable, databases} = matrix as Row;
  const names = strings(nodes);
  const rows = rowsIn(databases).map(row => ({
    database: row['name'],
    ...Object.fromEntries(
      names.map(node => [node, strings(row['present']).includes(node) ? 'present' : 'MISSING']),
    ),
  }));
  const silent = strings(unreachable);
  return [
    '',
    ...(rows.length === 0 ? ['no databases'] : [tableOf(rows, width).trimEnd()]),
    ...(silent.length === 0 ? [] : [`not reached: ${silent.map(visible).join(', ')}`]),
  ];
}

function alertLines(alert: Row): readonly string[] {
  return [
    `${text(alert['severity']).toUpperCase()} ${text(alert['id'])}: ${text(alert['message'])}`,
    `  ${text(alert['recommendation'])}`,
  ];
}

/** The answer of POST `/cluster/verify/{database}` in lines. */
export function verifyReport(answer: Row, width: number): string {
  const result = (answer['result'] ?? {}) as Row;
  const peers = rowsIn(result['peers']).map(peer => ({
    peer: peer['peerId'],
    status: peer['status'],
    matching: peer['matchingFiles'],
    differing: peer['mismatchedFiles'],
    reason: peer['error'] ?? '',
  }));
  const differing = rowsIn(result['peers']).flatMap(peer =>
    rowsIn(peer['mismatches']).map(({file}) => `${text(peer['peerId'])} differs in ${text(file)}`),
  );
  return [
    `${text(result['database'])}: ${text(result['overallStatus'])} ` +
      `(compared with ${text(result['localPeerId'])})`,
    ...(peers.length === 0 ? [] : [tableOf(peers, width).trimEnd()]),
    ...differing,
    '',
  ].join('\n');
}

function text(value: unknown): string {
  return visible(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
}

function rowsIn(value: unknown): readonly Row[] {
  return Array.isArray(value) ? (value as readonly Row[]) : [];
}

function strings(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter(entry => typeof entry === 'string') : [];
}
