/** The module `mcp`. A build without it has undefined in its place (bin/build-bundle.mjs). */
import {existsSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {Refusal} from '#server/base/errors.ts';
import {AgentServer} from '#server/protocols/mcp/agent-server.ts';
import {dataPathsIn} from '../data-paths.ts';
import {stampOf, watchFiles} from '../keys/watched-files.ts';
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

/** How soon an edit of the file is seen, in milliseconds. */
const lookMs = 2_000;

/** Takes over what an administrator writes into the file; the answered function ends it. */
function watchDocument(
  {settings, timers, logger}: AgentModuleOptions,
  {configuration}: AgentServer,
): () => void {
  const path = join(dataPathsIn(settings).configDirectory, 'mcp-config.json');
  const event = 'mcp.configuration';
  const reread = (): void => {
    if (!existsSync(path)) return;
    configuration.adopt(readFileSync(path)).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      const advice = 'what was in force before stays; in a cluster the leader takes changes';
      logger.log('warn', event, {path, reason, advice});
    });
  };
  return watchFiles({
    paths: [path],
    seen: stampOf([path]),
    timers,
    logger,
    everyMs: lookMs,
    event,
    reread,
  });
}

function notAdmitted(user: string): Refusal {
  const message = `allowedUsers in config/mcp-config.json does not admit ${user}: add that name`;
  return new Refusal('start.refused', message);
}
