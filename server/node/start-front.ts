/**
 * What a start does before anything else: it takes the directories, tries its keys, and answers
 * on its ports why it is not ready (protocols/http/starting-server.ts) until the server itself
 * listens there. A port, a lock or a key store that cannot be had ends the start here, before a
 * database is opened or another server spoken to.
 */
import type {Ports} from '#server/base/setting-row.ts';
import {reasonOf, Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {Logger} from '#server/platform/logger.ts';
import {StartingServer, type StartState} from '#server/protocols/http/starting-server.ts';
import {lockData} from './data-lock.ts';
import {type KeyStore, openKeyStore} from './keys/key-store.ts';
import {version} from './version.ts';

export interface StartFront {
  /** Undefined: HTTPS is off. */
  readonly keyStore: KeyStore | undefined;
  readonly port: number;
  readonly securePort: number | undefined;
  /** Asked for at each request; without it the server just starts. */
  describe: () => Pick<StartState, 'reason' | 'cluster'>;
  /** The server listens: this takes no more connections. */
  giveWay(): void;
  /** Gives everything back, the directories last (idempotent). */
  close(): void;
}

/** @throws {Refusal} `start.refused`. */
export async function openStartFront(settings: Settings, logger: Logger): Promise<StartFront> {
  const unlock = lockData(settings);
  const front: Pick<StartFront, 'describe'> = {describe: () => ({reason: 'Server is starting'})};
  const serverName = settings.get('svc.server.name');
  const starting = new StartingServer(() => ({serverName, version, ...front.describe()}));
  const close = (): void => {
    starting.close();
    unlock();
  };
  try {
    const keyStore = openKeyStore(settings, logger);
    const listen = (setting: PortSetting, keys?: KeyStore['options']): Promise<number> =>
      listening((host, ports) => starting.listen(host, ports, keys), settings, setting);
    const port = await listen('svc.server.httpIncomingPort');
    const securePort = keyStore && (await listen('svc.server.httpsIncomingPort', keyStore.options));
    return Object.assign(front, {
      keyStore,
      port,
      securePort,
      giveWay: () => starting.close(),
      close,
    });
  } catch (error) {
    close();
    throw error;
  }
}

type PortSetting = 'svc.server.httpIncomingPort' | 'svc.server.httpsIncomingPort';

/** @throws {Refusal} `start.refused`: the port cannot be had. */
async function listening(
  listen: (host: string, ports: Ports) => Promise<number>,
  settings: Settings,
  setting: PortSetting,
): Promise<number> {
  const host = settings.get('svc.server.httpIncomingHost');
  const ports = settings.get(setting);
  try {
    return await listen(host, ports);
  } catch (error) {
    const message = `cannot listen on ${host}:${ports.from}: ${reasonOf(error)} (${setting})`;
    throw new Refusal('start.refused', message);
  }
}
