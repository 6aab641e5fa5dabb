/**
 * A member of a cluster that reaches whoever leads over a connection that a test may cut, and two
 * servers that can lead, over one log: what one of them has committed, the other one knows.
 */
import {once} from 'node:events';
import {readFileSync} from 'node:fs';
import {type AddressInfo, connect, createServer, type Socket} from 'node:net';
import {join} from 'node:path';
import type {SessionService} from '#server/session/service.ts';
import {resolveSettings} from '#server/base/setting-values.ts';
import {createClock, createRandom, createTimers} from '#server/platform/real/clock.ts';
import {type ClusterWays, createClusterWays} from '#server/protocols/http/relay/cluster-ways.ts';
import {PeerClient} from '#server/protocols/http/relay/peer-client.ts';
import {KnownCluster} from '../cluster/cluster-of-two.ts';
import {closing} from '../closing.ts';
import {type HttpWorld, httpWorld} from '../worlds/http-world.ts';
import {TestDatabase} from '../worlds/service-world.ts';

const keys = readFileSync(join(import.meta.dirname, '../fixtures/tls/localhost.pem'));

/** The network in front of a leader. */
export class CutLink {
  /** A connection is ended when so many more bytes of answers have passed; undefined: none is. */
  answerBytesLeft: number | undefined;
  /** No byte of an answer passes, and the connection stands. */
  isSilent = false;
  /** Called once when a connection is ended, or an answer held back. */
  onStop: () => void = () => {};
  /** Bytes of answers that have passed. */
  answerBytes = 0;
  readonly #sockets = new Set<Socket>();
  readonly #to: number;

  private constructor(to: number) {
    this.#to = to;
  }

  /** @returns the link, and the port at which it listens. */
  static async open(to: number): Promise<{readonly link: CutLink; readonly port: number}> {
    const link = new CutLink(to);
    const server = createServer(socket => link.#accept(socket));
    closing({
      close: () => {
        link.cut();
        server.close();
      },
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return {link, port: (server.address() as AddressInfo).port};
  }

  /** Ends what is connected. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
  }

  #accept(client: Socket): void {
    const leader = connect(this.#to, '127.0.0.1');
    for (const socket of [client, leader]) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => {});
    }
    client.on('close', () => leader.destroy());
    leader.on('close', () => client.destroy());
    client.on('data', bytes => void leader.write(bytes));
    leader.on('data', bytes => this.#answer(client, bytes));
  }

  #answer(client: Socket, bytes: Buffer): void {
    if (client.writableEnded) return;
    const left = this.answerBytesLeft;
    this.answerBytes += bytes.length;
    if (this.isSilent) {
      this.#stopped();
      return;
    }
    if (left === undefined || bytes.length < left) {
      if (left !== undefined) this.answerBytesLeft = left - bytes.length;
      client.write(bytes);
      return;
    }
    this.answerBytesLeft = undefined;
    this.#stopped();
    client.end(bytes.subarray(0, left));
  }

  #stopped(): void {
    const onStop = this.onStop;
    this.onStop = () => {};
    onStop();
  }
}

export interface TwoLeaders {
  readonly leaders: readonly [HttpWorld, HttpWorld];
  /** The network in front of the first of them. */
  readonly link: CutLink;
  /** The service of the member that does not lead, and the way of its commands. */
  readonly ways: ClusterWays;
  /** The database `db`, read where it lies. */
  readonly stored: TestDatabase;
  readonly own: SessionService;
  /** What the member takes for its cluster. */
  readonly cluster: KnownCluster;
  /** Makes the first or the second one lead, or nobody, and the member know it. */
  lead(which: 0 | 1 | undefined): void;
}

export async function twoLeaders(isSecure: boolean): Promise<TwoLeaders> {
  const settings = {'svc.ssl.enabled': isSecure, 'svc.ha.forwardLeaderWaitTimeoutMs': 30_000};
  const clusters = [new KnownCluster(), new KnownCluster()] as const;
  const first = await httpWorld(settings, undefined, {cluster: clusters[0]});
  closing({close: () => first.server.close(0)});
  const second = await httpWorld(settings, undefined, {cluster: clusters[1], beside: first});
  closing({close: () => second.server.close(0)});
  const cluster = new KnownCluster();
  const own = closing(first.world.another({}, cluster));
  const leaders = [first, second] as const;
  const ports: number[] = [];
  for (const leader of leaders) {
    // What is written there is here at once, whatever index it has.
    leader.service.appliedIndex = 0;
    ports.push(isSecure ? await listenSecurely(leader) : leader.port);
  }
  const {link, port: linked} = await CutLink.open(ports[0] ?? 0);
  const lead = (which: 0 | 1 | undefined): void => {
    for (const [place, one] of clusters.entries()) one.isLeader = place === which;
    const port = which === 0 ? linked : (ports[1] ?? 0);
    cluster.leader =
      which === undefined ? undefined : {host: 'localhost', port: isSecure ? 9 : port};
    if (isSecure) cluster.setHttpsAddress({host: 'localhost', port});
    for (const one of [...clusters, cluster]) one.changed();
  };
  lead(0);
  const platform = {
    clock: createClock(),
    timers: createTimers(),
    random: createRandom(),
    logger: {log: () => {}},
  };
  const known = resolveSettings([{name: 'test', values: settings}]).settings;
  const authorities = (): readonly string[] => [keys.toString('latin1')];
  const peerClient = new PeerClient({isSecure: () => isSecure, authorities, ...platform});
  const ways = createClusterWays({
    ...platform,
    cluster,
    service: own,
    settings: () => known,
    peerClient: closing(peerClient),
    authorities,
  });
  closing(ways.channel);
  const stored = new TestDatabase(first.world.service, 'db');
  return {leaders, link, ways, stored, own, cluster, lead};
}

function listenSecurely({server}: HttpWorld): Promise<number> {
  return server.listenSecurely('127.0.0.1', {from: 0, to: 0}, {key: keys, cert: keys});
}
