/**
 * The names and addresses by which the settings say that this server is reached: the interface on
 * which it listens, and as a member of a cluster its own host in `svc.ha.serverList`, or the one of
 * its pod. A name that somebody makes lead here (DNS rebinding) is none of them.
 */
import {isClusterWanted} from '#server/base/cluster-wanted.ts';
import type {Settings} from '#server/base/setting-values.ts';
import {planCluster} from '../cluster/cluster-plan.ts';

const allInterfaces: ReadonlySet<string> = new Set(['', '0.0.0.0', '::', '[::]']);

/** @throws {Refusal} `start.refused`: a list of servers that cannot be used. */
export function ownHosts(settings: Settings): readonly string[] {
  const listening = settings.get('svc.server.httpIncomingHost');
  const member = isClusterWanted(settings) ? [planCluster(settings).self.host] : [];
  return [listening, ...member].filter(host => !allInterfaces.has(host));
}
