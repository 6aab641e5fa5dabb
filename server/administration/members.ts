/** Commands about who belongs to the cluster: a server is added, or this one leaves. */
import {Refusal} from '#server/base/errors.ts';
import {argument, optional} from './arguments.ts';
import {type AdministrationCall, command} from './command.ts';
import type {MemberRequests} from './member-requests.ts';

export const memberCommands = {
  connectCluster: command({
    words: 'connect cluster <address...>',
    right: 'root',
    at: 'leader',
    changes: true,
    arguments: {
      address: argument(
        'text',
        'of the server, as an entry of `svc.ha.serverList`: `[name@]host:raftPort:httpPort`, or ' +
          'with its ports in braces',
        'Server address empty',
      ),
    },
    says: 'Adds a server that runs to the cluster of this one, and waits until it is a member.',
    answer: 'nothing',
    refusals: [
      'argument',
      'cluster.absent',
      'cluster.peer',
      'cluster.membership',
      'cluster.no-quorum',
    ],
    admit: (call, {address}) => membersOf(call, 'connect cluster').refuseSelf(address),
    run: (call, {address}) => membersOf(call, 'connect cluster').add(address),
  }),
  disconnectCluster: command({
    words: 'disconnect cluster [force]',
    right: 'root',
    at: 'asked',
    changes: true,
    arguments: {force: optional('flag', 'leaves although too few of the others answer')},
    says:
      'Takes this server out of its cluster, after it handed over if it led; it stays out until ' +
      'it is added again. The only member stays as it is.',
    answer: 'nothing',
    refusals: ['cluster.absent', 'cluster.membership', 'cluster.no-quorum'],
    run: (call, {force = false}) => membersOf(call, 'disconnect cluster').leave(force),
  }),
};

/** @throws {Refusal} `cluster.absent`. */
function membersOf({parts: {members}}: AdministrationCall, name: string): MemberRequests {
  if (members !== undefined) return members;
  const message = `'${name}' needs a cluster, and this server runs alone: set svc.ha.enabled`;
  throw new Refusal('cluster.absent', message);
}
