/**
 * Clusters on one machine as the benchmarks see them: ours, and etcd over its JSON gateway and
 * over its own protocol. Every write is durable on a majority before it is answered, in both.
 *
 * Members and clients run on all processors: what is compared is a whole cluster on one box, and
 * the processor time of all members together, which carries over to more machines.
 */
import {type ClusterSystem, type Member, untilLed} from '#server/testing/cluster/cluster-system.ts';
import {etcdCall, etcdClient, startEtcdCluster} from '#server/testing/cluster/etcd-cluster.ts';
import {goProgram} from '#server/testing/cluster/go-program.ts';
import {startSvcCluster, type SvcCluster} from '#server/testing/cluster/svc-cluster.ts';
import {rootPassword} from '#server/testing/worlds/server-process.ts';
import type {Job, Outcome} from '../driver.ts';
import {cpuMicrosOf, drive, runProgram} from '../processes.ts';

/** Somewhere to put fresh keys with values of 100 bytes, durably. */
export interface Puts {
  readonly label: string;
  readonly cluster: ClusterSystem;
  /** Clients of the leader, or spread over all members. */
  put(clients: number, seconds: number, where?: 'leader' | 'all'): Promise<ClusterOutcome>;
  /** How many keys are stored. */
  count(): Promise<number>;
  readonly acknowledged: number;
}

export type ClusterOutcome = Outcome & {readonly cpuMicrosPerOp: number};

export const database = 'bench';
export const valueBytes = 100;
/** These are etcd's defaults; our servers wait longer unless they are configured. */
const etcdTimers = {electionMillis: 1_000, heartbeatMillis: 100} as const;
/** Twelve digits are base64 as they stand. */
const firstKey = 100_000_000_000;
const keysOfClient = 1_000_000;
/** More connections than this make etcd's client slower. */
const grpcConnectionsMax = 16;

/** Processor time of all members since their starts. */
export function cpuMicrosOfMembers({members}: ClusterSystem): number {
  return members.reduce(
    (sum, {process}) => sum + (process.pid === 0 ? 0 : cpuMicrosOf(process.pid)),
    0,
  );
}

/** Starts ours with the database in which benchmarks write. */
export async function startSvcBench(
  size: number,
  settings: Readonly<Record<string, string | number | boolean>> = {},
  program?: string,
): Promise<SvcCluster> {
  const cluster = await startSvcCluster({
    size,
    settings,
    isMeasured: true,
    ...(program === undefined ? {} : {program}),
  });
  const client = cluster.clientOf(await untilLed(cluster));
  await client.createDatabase(database);
  for (const statement of [
    'CREATE DOCUMENT TYPE Ins',
    'CREATE PROPERTY Ins.k LONG',
    'CREATE PROPERTY Ins.v STRING',
    'CREATE INDEX ON Ins (k) UNIQUE',
  ]) {
    await client.command(database, statement);
  }
  return cluster;
}

export function startEtcdBench(size: number): Promise<ClusterSystem> {
  return startEtcdCluster({size, ...etcdTimers});
}

/** What all three ways of putting keys share: fresh keys for each run, and the books. */
abstract class PutSide implements Puts {
  abstract readonly label: string;
  readonly cluster: ClusterSystem;
  acknowledged = 0;
  #runs = 0;

  constructor(cluster: ClusterSystem) {
    this.cluster = cluster;
  }

  async put(
    clients: number,
    seconds: number,
    where: 'leader' | 'all' = 'leader',
  ): Promise<ClusterOutcome> {
    const leader = await untilLed(this.cluster);
    const others = this.cluster.members.filter(member => member !== leader);
    const to = where === 'leader' ? [leader] : [leader, ...others];
    this.#runs += 1;
    const start = firstKey + this.#runs * 300 * keysOfClient;
    const before = cpuMicrosOfMembers(this.cluster);
    const outcome = await this.drive({to, clients, millis: seconds * 1_000, start});
    const cpu = cpuMicrosOfMembers(this.cluster) - before;
    this.acknowledged += outcome.operations;
    return {...outcome, cpuMicrosPerOp: cpu / Math.max(1, outcome.operations)};
  }

  abstract count(): Promise<number>;

  protected abstract drive(run: PutRun): Promise<Outcome>;
}

interface PutRun {
  readonly to: readonly Member[];
  readonly clients: number;
  readonly millis: number;
  readonly start: number;
}

/** The address part of a job for one member and others. */
export function addressesOf(to: readonly Member[]): Pick<Job, 'host' | 'port' | 'others'> {
  const [first, ...others] = to.map(({host, httpPort: port}) => ({host, port}));
  if (first === undefined) throw new Error('a cluster without members');
  return {...first, others};
}

/** What does not depend on who is asked. */
function jobOf({
  to,
  clients,
  millis,
  start,
}: PutRun): Pick<Job, 'host' | 'port' | 'others' | 'numbers' | 'clients' | 'millis'> {
  const numbers = {kind: 'sequence', start, stride: keysOfClient} as const;
  return {...addressesOf(to), numbers, clients, millis};
}

export const rootAuthorization = `Basic ${btoa(`root:${rootPassword}`)}`;

export class SvcPuts extends PutSide {
  readonly label = 'svc';
  readonly #cluster: SvcCluster;

  constructor(cluster: SvcCluster) {
    super(cluster);
    this.#cluster = cluster;
  }

  async count(): Promise<number> {
    const client = this.#cluster.clientOf(await untilLed(this.#cluster));
    const {result} = await client.query(database, 'SELECT count(*) AS c FROM Ins');
    return Number(result[0]?.['c']);
  }

  protected drive(run: PutRun): Promise<Outcome> {
    return drive({
      ...jobOf(run),
      authorization: rootAuthorization,
      path: `/api/v1/command/${database}`,
      before: '{"language":"sql","command":"INSERT INTO Ins SET k = :k, v = :v","params":{"k":',
      after: `,"v":"${'x'.repeat(valueBytes)}"}}`,
    });
  }
}

/** etcd through the JSON gateway, by the very client that drives ours. */
export class EtcdGatewayPuts extends PutSide {
  readonly label = 'etcd (JSON gateway)';

  count(): Promise<number> {
    return countOfEtcd(this.cluster);
  }

  protected drive(run: PutRun): Promise<Outcome> {
    return drive({
      ...jobOf(run),
      authorization: 'none',
      path: '/v3/kv/put',
      before: '{"key":"',
      after: `","value":"${Buffer.alloc(valueBytes, 'x').toString('base64')}"}`,
    });
  }
}

/** etcd over gRPC by its own client. */
export class EtcdGrpcPuts extends PutSide {
  readonly label = 'etcd (gRPC)';

  count(): Promise<number> {
    return countOfEtcd(this.cluster);
  }

  protected async drive({to, clients, millis, start}: PutRun): Promise<Outcome> {
    const job = {
      endpoints: to.map(({host, httpPort}) => `${host}:${httpPort}`),
      clients,
      connections: Math.min(clients, grpcConnectionsMax),
      millis,
      start,
      stride: keysOfClient,
      valueBytes,
    };
    const words = [await goProgram('etcd'), 'load'];
    const outcome = JSON.parse(await runProgram(words, {input: JSON.stringify(job)})) as Outcome;
    if (outcome.errors > 0) throw new Error(`etcd refused a put: ${outcome.firstError}`);
    return outcome;
  }
}

async function countOfEtcd(cluster: ClusterSystem): Promise<number> {
  const client = etcdClient(await untilLed(cluster), 60_000);
  const everything = {key: 'AA==', range_end: 'AA==', count_only: true};
  const answer = await etcdCall(client, 'kv/range', everything);
  client.close();
  return Number(answer['count'] ?? 0);
}
