/** The module `mcp`. A build without it has undefined in its place (bin/build-bundle.mjs). */
import type {Settings} from '#server/base/setting-values.ts';
import {AgentServer} from '#server/protocols/mcp/agent-server.ts';
import type {AgentModule, AgentModuleOptions} from './agent-module.ts';

export const mcpModule: ((options: AgentModuleOptions) => AgentModule) | undefined = options => {
  const server = new AgentServer({...options, ownHosts: ownHosts(options.settings)});
  server.configuration.warnOfUnknown(options.databases());
  return {
    endpoint: server,
    reload: () => server.configuration.reload(),
  };
};

const allInterfaces: ReadonlySet<string> = new Set(['', '0.0.0.0', '::', '[::]']);

/** Where the settings say that this server is reached: the interface on which it listens. */
function ownHosts(settings: Settings): readonly string[] {
  const host = settings.get('svc.server.httpIncomingHost');
  return allInterfaces.has(host) ? [] : [host];
}
