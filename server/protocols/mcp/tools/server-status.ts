/** `server_status`: which server this is, and the cluster that it belongs to. */
import {tool, type ToolCall} from '../tool.ts';

export const serverStatus = tool({
  name: 'server_status',
  description:
    'Answers the version and name of the server, the languages of statements, the databases that ' +
    'you may read and, for administrators of a cluster, who leads it and who follows.',
  annotations: {title: 'Server status', readOnlyHint: true, openWorldHint: false},
  profiles: ['admin'],
  requires: [],
  input: {},
  run(call) {
    const {version, serverName, instanceId, languages} = call.administration.identity;
    const databases = call.readableDatabases();
    return JSON.stringify({
      version,
      serverName,
      instanceId,
      languages,
      databases,
      ha: clusterOf(call),
    });
  },
});

/** The cluster, told to those who may administer, by the configuration and by themselves. */
function clusterOf(call: ToolCall): object | undefined {
  const {cluster, principal} = call;
  if (cluster === undefined || !principal.root || !call.allows('admin')) return undefined;
  const {clusterName, leaderId, peers} = cluster.state();
  const replicas = peers.map(({id}) => id).filter(id => id !== leaderId);
  return {clusterName, leader: leaderId ?? null, replicas};
}
