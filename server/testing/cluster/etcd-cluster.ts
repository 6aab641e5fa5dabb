/**
 * A cluster of etcd on loopback addresses, spoken to through the JSON gateway that it brings.
 *
 * The program is built once by the machine's Go (go-program.ts); `etcd/` names the release.
 */
import {mkdirSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {Client} from '#server/client/client.ts';
import {freePort} from '../worlds/free-port.ts';
import {temporaryRoot} from '../worlds/server-process.ts';
import {type ClusterSystem, type Member, untilLed} from './cluster-system.ts';
import {goProgram} from './go-program.ts';
import {MemberProcess} from './member-process.ts';

export interface EtcdOptions {
  readonly size: number;
  /** etcd draws each from the first to twice the first. */
  readonly electionMillis: number;
  readonly heartbeatMillis: number;
}

const asksMillisMax = 2_000;

/** Starts all members and waits until they agree on a leader. */
export async function startEtcdCluster(options: EtcdOptions): Promise<ClusterSystem> {
  const program = await goProgram('etcd');
  const folder = temporaryRoot('etcd');
  const addresses = await Promise.all(
    Array.from({length: options.size}, async (_, index) => ({
      name: `etcd_${index}`,
      host: `127.0.0.${index + 1}`,
      peers: await freePort(),
      http: await freePort(),
    })),
  );
  const all = addresses.map(({name, host, peers}) => `${name}=http://${host}:${peers}`).join(',');
  const members = addresses.map(({name, host, peers, http}): Member => {
    const url = `http://${host}:${http}`;
    const settings = {
      name,
      'data-dir': join(folder, name),
      'listen-peer-urls': `http://${host}:${peers}`,
      'initial-advertise-peer-urls': `http://${host}:${peers}`,
      'listen-client-urls': url,
      'advertise-client-urls': url,
      'initial-cluster': all,
      'initial-cluster-state': 'new',
      'election-timeout': options.electionMillis,
      'heartbeat-interval': options.heartbeatMillis,
      'log-level': 'warn',
      'quota-backend-bytes': 8 * 2 ** 30,
    };
    mkdirSync(join(folder, name), {mode: 0o700});
    const words = Object.entries(settings).map(([key, value]) => `--${key}=${value}`);
    const command = {words: [program, ...words], folder, logFile: join(folder, `${name}.log`)};
    return {name, host, httpPort: http, url, process: new MemberProcess(name, command)};
  });
  const clients = new Map(members.map(member => [member, etcdClient(member, asksMillisMax)]));
  const ids = new Map<string, Member>();
  const system: ClusterSystem = {
    label: 'etcd',
    members,
    links: undefined,
    folder,
    leaderAsSeenBy: async member => {
      try {
        const status = await etcdCall(clients.get(member), 'maintenance/status', {});
        const {header, leader} = status as {header: {member_id: string}; leader?: string};
        ids.set(header.member_id, member);
        return ids.get(String(leader));
      } catch {
        return undefined;
      }
    },
    dispose: async (keepFolder = false) => {
      for (const client of clients.values()) client.close();
      await Promise.all(members.map(({process}) => process.kill()));
      if (!keepFolder) rmSync(folder, {recursive: true, force: true});
    },
  };
  try {
    for (const {process} of members) process.start();
    await untilLed(system);
    return system;
  } catch (error) {
    await system.dispose();
    throw error;
  }
}

/** A client of one member. The caller closes it. */
export function etcdClient(member: Member, timeoutMillis: number): Client {
  return new Client({url: member.url, credentials: {kind: 'none'}, timeoutMillis});
}

/** An answer of the gateway that refuses; etcd does not say whether something was done. */
export class EtcdRefusal extends Error {}

/**
 * One call of the gateway, answered as JSON.
 *
 * @throws {EtcdRefusal} an answer with an error; {@link UnknownOutcome}, {@link NotConnected}.
 */
export async function etcdCall(
  client: Client | undefined,
  route: string,
  body: object,
): Promise<Readonly<Record<string, unknown>>> {
  if (client === undefined) throw new Error('no such member');
  const answer = await client.send({
    method: 'POST',
    path: `/v3/${route}`,
    body: JSON.stringify(body),
    again: false,
  });
  if (answer.status !== 200) throw new EtcdRefusal(answer.text.slice(0, 300));
  return JSON.parse(answer.text) as Record<string, unknown>;
}
