/**
 * A cluster of our servers, each `bin/svc start` on a loopback address of its own, with folders
 * side by side.
 */
import {mkdirSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {Client} from '#server/client/client.ts';
import type {SeededRandom} from '../property/seeded-random.ts';
import {freePort} from '../worlds/free-port.ts';
import {program, rootPassword, temporaryRoot, testSettings} from '../worlds/server-process.ts';
import {type ClusterSystem, type Member, untilLed} from './cluster-system.ts';
import {Links} from './links.ts';
import {MemberProcess} from './member-process.ts';

export interface SvcClusterOptions {
  readonly size: number;
  /** Where their folders lie; default: a new one among the temporary files. */
  readonly folder?: string;
  /** The address of each member in turn; default: a loopback address of its own and free ports. */
  readonly addresses?: readonly MemberAddress[];
  /** Default `rootPassword`. */
  readonly password?: string;
  /** Settings of every member. */
  readonly settings?: Readonly<Record<string, string | number | boolean>>;
  /** Takes the settings of an installation, for what is measured. Default: `testSettings`. */
  readonly isMeasured?: boolean;
  /** Words before the program of a member, such as those that start it in another place. */
  readonly launcher?: (index: number) => readonly string[];
  /** The `bin/svc` that is started. Default: that of this checkout. */
  readonly program?: string;
  /** Puts forwarders between the members; default: they speak to each other directly. */
  readonly links?: {readonly random: SeededRandom};
}

export interface MemberAddress {
  readonly host: string;
  readonly raftPort: number;
  readonly httpPort: number;
}

/**
 * Far longer than an answer takes: who gives up loses the connection, and with it the check of the
 * password, which a busy machine may then never come to the end of.
 */
const asksMillisMax = 20_000;
const redirect = join(import.meta.dirname, 'redirect.ts');

/**
 * Timeouts of elections for tests that await no silent leader, or can: on a busy machine a leader
 * that waits for a processor keeps its office. Whoever kills a leader is not kept waiting by them.
 */
export const calmElections = {
  'svc.ha.electionTimeoutMin': 2_000,
  'svc.ha.electionTimeoutMax': 3_000,
} as const;

/** One of ours: what the others lack. */
export interface SvcCluster extends ClusterSystem {
  /** A client of one member as root. The caller closes it. */
  client(member: Member, timeoutMillis?: number): Client;
  /** A kept client of one member as root; closed with the cluster. */
  clientOf(member: Member): Client;
}

/** Starts all members and waits until they agree on a leader. */
export async function startSvcCluster(options: SvcClusterOptions): Promise<SvcCluster> {
  const cluster = await prepareSvcCluster(options);
  try {
    for (const {process} of cluster.members) process.start();
    await untilLed(cluster);
    return cluster;
  } catch (error) {
    await cluster.dispose(options.folder !== undefined);
    throw error;
  }
}

async function prepareSvcCluster(options: SvcClusterOptions): Promise<SvcCluster> {
  const {password = rootPassword} = options;
  const folder = options.folder ?? temporaryRoot('cluster');
  const addresses = options.addresses ?? (await freeAddresses(options.size));
  const ends = addresses.map(({host, raftPort, httpPort}, index) => ({
    name: `svc_${index}`,
    host,
    ports: [raftPort, httpPort],
  }));
  const links =
    options.links === undefined ? undefined : await Links.open(ends, options.links.random);
  const serverList = addresses
    .map(({host, raftPort, httpPort}) => `${host}:{raft:${raftPort},http:${httpPort}}`)
    .join(',');
  const members = addresses.map((address, index) =>
    prepareMember(options, {folder, serverList, links, address, index}),
  );
  const client = (member: Member, timeoutMillis = 60_000): Client =>
    new Client({
      url: member.url,
      credentials: {kind: 'basic', user: 'root', password},
      timeoutMillis,
    });
  const asking = new Map(members.map(member => [member, client(member, asksMillisMax)]));
  const kept = new Map<Member, Client>();
  const clientOf = (member: Member): Client => {
    const one = kept.get(member) ?? client(member);
    kept.set(member, one);
    return one;
  };
  return {
    label: 'svc',
    members,
    links,
    folder,
    client,
    clientOf,
    leaderAsSeenBy: member => leaderAsSeenBy(asking.get(member), members),
    dispose: async (keepFolder = false) => {
      for (const one of [...asking.values(), ...kept.values()]) one.close();
      await Promise.all(members.map(({process}) => process.kill()));
      await links?.close();
      if (!keepFolder) rmSync(folder, {recursive: true, force: true});
    },
  };
}

interface MemberPlace {
  readonly folder: string;
  readonly serverList: string;
  readonly links: Links | undefined;
  readonly address: MemberAddress;
  readonly index: number;
}

function prepareMember(
  {password = rootPassword, ...options}: SvcClusterOptions,
  {folder, serverList, links, address, index}: MemberPlace,
): Member {
  const {host, raftPort, httpPort} = address;
  const name = `svc_${index}`;
  const root = join(folder, name);
  mkdirSync(root, {recursive: true});
  const settings = {
    'svc.server.name': name,
    'svc.server.rootPath': root,
    'svc.server.httpIncomingHost': host,
    'svc.server.httpIncomingPort': httpPort,
    'svc.server.readinessRequiresHA': true,
    'svc.ha.enabled': true,
    'svc.ha.serverList': serverList,
    'svc.ha.raftPort': raftPort,
    ...(options.isMeasured === true ? {} : testSettings),
    ...options.settings,
  };
  const words = Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`]);
  const environment = {
    SVC_SERVER_ROOTPASSWORD: password,
    ...(links === undefined ? {} : redirected(links.redirects(name))),
  };
  const logFile = join(folder, `${name}.log`);
  const launcher = options.launcher?.(index) ?? [];
  const command = {
    words: [...launcher, options.program ?? program, 'start', ...words],
    folder: root,
    logFile,
    environment,
  };
  const url = `http://${host}:${httpPort}`;
  return {name, host, httpPort, url, process: new MemberProcess(name, command)};
}

async function freeAddresses(size: number): Promise<MemberAddress[]> {
  const addresses: MemberAddress[] = [];
  while (addresses.length < size) {
    const host = `127.0.0.${addresses.length + 1}`;
    addresses.push({host, raftPort: await freePort(), httpPort: await freePort()});
  }
  return addresses;
}

function redirected(table: Readonly<Record<string, string>>): Record<string, string> {
  return {
    SVC_TEST_REDIRECTS: JSON.stringify(table),
    NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --import=${redirect}`.trim(),
  };
}

async function leaderAsSeenBy(
  client: Client | undefined,
  members: readonly Member[],
): Promise<Member | undefined> {
  try {
    // A member that has no users yet refuses everybody, and counts the attempts.
    if (client === undefined || !(await client.ready())) return undefined;
    const answer = await client.send({method: 'GET', path: '/api/v1/cluster', again: true});
    if (answer.status !== 200) return undefined;
    const {leaderHttpAddress} = JSON.parse(answer.text) as {leaderHttpAddress: string | null};
    return members.find(({url}) => url === `http://${leaderHttpAddress}`);
  } catch {
    return undefined;
  }
}
