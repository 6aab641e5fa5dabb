/**
 * The settings that say who belongs to the cluster, and how its servers find and trust each other.
 * Rows of the one table (../settings.ts).
 */
import type {SettingRow} from '../setting-row.ts';

export const membershipRows = {
  'svc.ha.enabled': {
    type: 'boolean',
    default: false,
    description:
      'Whether the server is a member of a cluster. A list in svc.ha.serverList turns it on too.',
  },
  'svc.ha.clusterName': {
    type: 'string',
    default: 'svc',
    description:
      'Name of the cluster: equal on all its servers, and part of the identity of its log.',
  },
  'svc.ha.serverList': {
    type: 'string',
    default: '',
    description:
      'The members that a cluster begins with: ' +
      '[name@]host:{raft:2434,http:2480,priority:0} between commas, or ' +
      'host:raft:http:priority:https.',
  },
  'svc.ha.serverRole': {
    type: 'enum',
    values: ['any', 'replica'],
    default: 'any',
    description: 'A replica never leads: its priority is 0 whatever svc.ha.serverList says.',
  },
  'svc.ha.raftPort': {
    type: 'integer',
    default: 2434,
    range: [1, 65_535],
    description: 'Port on which the other members reach this server.',
  },
  'svc.ha.k8s': {
    type: 'boolean',
    default: false,
    description:
      'Whether the server is a pod: its host is $HOSTNAME with svc.ha.k8sSuffix, and it ' +
      'asks at every start to be a member.',
  },
  'svc.ha.k8sSuffix': {
    type: 'string',
    default: '',
    description:
      'Domain behind the names of pods, beginning with a dot; completes short hosts of ' +
      'svc.ha.serverList.',
  },
  'svc.ha.clusterToken': {
    type: 'string',
    default: '',
    secret: true,
    description:
      'Secret that the members share. Empty: svc.ha.clusterTokenPath, else derived from ' +
      'cluster name and root password.',
  },
  'svc.ha.clusterTokenPath': {
    type: 'path',
    default: '',
    description:
      'File with the secret of the cluster, read when svc.ha.clusterToken is empty; further ' +
      'lines are secrets that others may come with too.',
  },
} as const satisfies Record<string, SettingRow>;
