/** Our own server as a target of a benchmark: `bin/svc start` in an empty folder. */
import {freePort} from '#server/testing/worlds/free-port.ts';
import {rootPassword, startServer, temporaryRoot} from '#server/testing/worlds/server-process.ts';
import {pinned} from '../processes.ts';
import {addressed, type Target} from './target.ts';

/** Starts it; `root` is kept on `dispose` when it was given. */
export async function startSvc(
  options: {
    root?: string;
    settings?: Readonly<Record<string, string | number | boolean>>;
    /** False lets it run on every processor. Default: as `pinned()` says. */
    pin?: boolean;
    /** The `bin/svc` that is started. Default: that of this checkout. */
    program?: string | undefined;
  } = {},
): Promise<Target & {readonly stop: () => Promise<void>; readonly kill: () => Promise<void>}> {
  const root = options.root ?? temporaryRoot('bench');
  const port = await freePort();
  const server = await startServer({
    root,
    port,
    isMeasured: true,
    ...(options.program === undefined ? {} : {program: options.program}),
    ...(options.settings === undefined ? {} : {settings: options.settings}),
    ...((options.pin ?? pinned()) ? {processors: '0'} : {}),
  });
  const parts = addressed(port, rootPassword);
  const stop = async (): Promise<void> => {
    parts.client.close();
    await server.stop();
  };
  return {
    ...parts,
    label: 'svc',
    pid: server.pid,
    readyMillis: server.readyMillis,
    stop,
    kill: async () => {
      parts.client.close();
      await server.kill();
    },
    dispose: async () => {
      await stop();
      if (options.root === undefined) await server.dispose();
    },
  };
}
