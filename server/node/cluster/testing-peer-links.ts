/** The links of a member that has no log and no cluster: what tests connect to each other. */
import type {Settings} from '#server/base/setting-values.ts';
import {createClock, createRandom, createTimers} from '#server/platform/real/clock.ts';
import type {PeerLinks} from '#server/replication/links/peer-links.ts';
import {openPeerLinks} from './peer-connections.ts';

type Options = Parameters<typeof openPeerLinks>[1];

export function openTestLinks(
  settings: Settings,
  port: number,
  more: Partial<Options> = {},
): PeerLinks {
  return openPeerLinks(settings, {
    clock: createClock(),
    timers: createTimers(),
    random: createRandom(),
    logger: {log: () => undefined},
    own: {host: '127.0.0.1', ports: {raft: port}},
    introduce: () => ({
      serverName: `svc_${port}`,
      formats: {from: 1, to: 1},
      release: '26.11.1',
      logId: 'log',
      httpPort: 2480,
      httpsPort: undefined,
    }),
    judge: () => undefined,
    token: 'secret',
    ...more,
  });
}
