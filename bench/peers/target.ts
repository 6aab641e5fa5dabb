/**
 * A server of the HTTP interface as a benchmark sees it: ours, or the reference system, whose
 * tools lie outside this repository and which speaks the same routes.
 */
import {Client} from '#server/client/client.ts';
import type {Job, Outcome} from '../driver.ts';
import {cpuMicrosOf, drive} from '../processes.ts';

/** One running HTTP server. */
export interface Target {
  readonly label: string;
  readonly client: Client;
  readonly pid: number;
  /** How long it took from the start of the process to ready. */
  readonly readyMillis: number;
  /** What every job against it says. */
  readonly address: Pick<Job, 'host' | 'port' | 'authorization'>;
  /** Ends it and removes what it wrote. */
  readonly dispose: () => Promise<void>;
}

/** An outcome with the processor time that the server spent for it. */
export type Measured = Outcome & {readonly cpuMicrosPerOp: number};

/** Drives one job against a target and charges the server's processor time to it. */
export async function measure(
  target: Target,
  job: Omit<Job, 'host' | 'port' | 'authorization'>,
): Promise<Measured> {
  const before = cpuMicrosOf(target.pid);
  const outcome = await drive({...target.address, ...job});
  const cpu = cpuMicrosOf(target.pid) - before;
  return {...outcome, cpuMicrosPerOp: cpu / Math.max(1, outcome.operations)};
}

/** Ten million edges are deleted by one statement. */
const answerMillisMax = 1_800_000;

/** The parts of a target that follow from its address and password. */
export function addressed(
  port: number,
  password: string,
  sessionHeader?: string,
): Pick<Target, 'client' | 'address'> {
  const host = '127.0.0.1';
  const pair = Buffer.from(`root:${password}`).toString('base64');
  const client = new Client({
    url: `http://${host}:${port}`,
    credentials: {kind: 'basic', user: 'root', password},
    timeoutMillis: answerMillisMax,
    ...(sessionHeader === undefined ? {} : {sessionHeader}),
  });
  return {client, address: {host, port, authorization: `Basic ${pair}`}};
}

/** Makes a fresh database and runs the statements in it. */
export async function prepare(
  target: Target,
  database: string,
  statements: readonly string[],
): Promise<void> {
  const {client} = target;
  if ((await client.databases()).includes(database)) await client.dropDatabase(database);
  await client.createDatabase(database);
  for (const statement of statements) await client.command(database, statement);
}
