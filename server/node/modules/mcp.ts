/** The module `mcp`. A build without it has undefined in its place (bin/build-bundle.mjs). */
import {Refusal} from '#server/base/errors.ts';
import {AgentServer} from '#server/protocols/mcp/agent-server.ts';
import {dataPathsIn} from '../data-paths.ts';
import {watchDocuments} from '../written-documents.ts';
import type {AgentModule, AgentModuleOptions} from './agent-module.ts';
import {ownHosts} from './own-hosts.ts';

export const mcpModule: ((options: AgentModuleOptions) => AgentModule) | undefined = options => {
  const server = new AgentServer({...options, ownHosts: ownHosts(options.settings)});
  server.configuration.warnOfUnknown(options.databases());
  return {
    endpoint: server,
    reload: () => server.configuration.reload(),
    async serve(principal, streams) {
      if (!server.admits(principal)) throw notAdmitted(principal.name);
      await server.serveLines(principal, streams);
    },
    close: watchDocument(options, server),
  };
};

/** Takes over what an administrator writes into the file; the answered function ends it. */
function watchDocument(
  {settings, timers, logger}: AgentModuleOptions,
  {configuration}: AgentServer,
): () => void {
  return watchDocuments({
    configDirectory: dataPathsIn(settings).configDirectory,
    names: ['mcp-config.json'],
    // Whoever adopts it looks for himself.
    kept: () => undefined,
    adopt: (_name, bytes) => configuration.adopt(bytes),
    timers,
    logger,
    event: 'mcp.configuration',
  });
}

function notAdmitted(user: string): Refusal {
  const message = `allowedUsers in config/mcp-config.json does not admit ${user}: add that name`;
  return new Refusal('start.refused', message);
}
