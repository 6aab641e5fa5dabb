/**
 * Registers as a client of one member sees them, in our server and in etcd.
 *
 * A call that throws is judged by `outcomeOf`: only what the system promises to have done nothing
 * counts as failed, so that a broken promise shows as a broken history.
 */
import type {Client} from '#server/client/client.ts';
import {
  errorBodyOf,
  NotConnected,
  ServerError,
  UnknownOutcome,
} from '#server/client/server-error.ts';
import type {Member} from './cluster-system.ts';
import {EtcdRefusal, etcdCall, etcdClient} from './etcd-cluster.ts';
import {type ReadMode, readModes} from './history.ts';
import type {SvcCluster} from './svc-cluster.ts';

export interface ReadAnswer {
  readonly found: number;
  readonly version: number;
}

export interface WriteAnswer {
  readonly applied: boolean;
  readonly version: number;
}

/** One client of all members, who remembers how far it has seen the log of commits. */
export interface Registers {
  /** The modes that the system has. */
  readonly modes: readonly ReadMode[];
  read(member: Member, key: string, mode: ReadMode): Promise<ReadAnswer>;
  write(member: Member, key: string, value: number): Promise<WriteAnswer>;
  compare(member: Member, key: string, expected: number, value: number): Promise<WriteAnswer>;
  close(): void;
}

/** What is certain of an operation that threw. */
export function outcomeOf(error: unknown): 'failed' | 'unknown' {
  if (error instanceof NotConnected) return 'failed';
  if (!(error instanceof ServerError)) return 'unknown';
  return unknownExceptions.has(error.exceptionName ?? '') ? 'unknown' : 'failed';
}

/** Answers of ours that say that something was, or may have been, done. */
const unknownExceptions = new Set([
  'CommitOutcomeUnknownException',
  'TransactionCommittedRemotelyException',
]);

const callMillisMax = 2_500;
const createdMillisMax = 30_000;
const database = 'registers';

/** Makes the database, and the registers with value and version 0. */
export async function createSvcRegisters(
  cluster: SvcCluster,
  leader: Member,
  keys: readonly string[],
): Promise<void> {
  const client = cluster.client(leader);
  try {
    if (!(await client.databases()).includes(database)) {
      await client.createDatabase(database);
      await client.command(database, 'CREATE DOCUMENT TYPE Register');
      await client.command(database, 'CREATE PROPERTY Register.id STRING');
      await client.command(database, 'CREATE INDEX ON Register (id) UNIQUE');
    }
    const rows = keys.map(key => `{"id": "${key}", "value": 0, "version": 0}`);
    await client.command(database, `INSERT INTO Register CONTENT [${rows.join(', ')}]`);
  } finally {
    client.close();
  }
  await untilEverywhere(cluster, keys);
}

/** Registers count as lost from here on where a member does not have them. */
async function untilEverywhere(cluster: SvcCluster, keys: readonly string[]): Promise<void> {
  const registers = new SvcRegisters(cluster);
  const deadline = performance.now() + createdMillisMax;
  const last = keys.at(-1) ?? '';
  for (const member of cluster.members) {
    for (;;) {
      try {
        await registers.read(member, last, 'linearizable');
        break;
      } catch (error) {
        if (performance.now() > deadline) throw error;
      }
    }
  }
  registers.close();
}

export class SvcRegisters implements Registers {
  readonly modes = readModes;
  readonly #clients: ReadonlyMap<Member, Client>;
  #commitIndex = 0;

  constructor(cluster: SvcCluster) {
    this.#clients = new Map(cluster.members.map(one => [one, cluster.client(one, callMillisMax)]));
  }

  async read(member: Member, key: string, mode: ReadMode): Promise<ReadAnswer> {
    const statement = 'SELECT value, version FROM Register WHERE id = :key';
    const [row] = await this.#send(member, {route: 'query', statement, params: {key}, mode});
    if (row === undefined) throw new Error(`${key} is not there`);
    return {found: Number(row['value']), version: Number(row['version'])};
  }

  write(member: Member, key: string, value: number): Promise<WriteAnswer> {
    return this.#update(member, 'id = :key', {key, value});
  }

  compare(member: Member, key: string, expected: number, value: number): Promise<WriteAnswer> {
    return this.#update(member, 'id = :key AND value = :expected', {key, expected, value});
  }

  close(): void {
    for (const client of this.#clients.values()) client.close();
  }

  async #update(member: Member, condition: string, params: object): Promise<WriteAnswer> {
    const change = 'value = :value, version = version + 1';
    const statement = `UPDATE Register SET ${change} RETURN AFTER WHERE ${condition}`;
    const [row] = await this.#send(member, {route: 'command', statement, params});
    return {applied: row !== undefined, version: Number(row?.['version'] ?? 0)};
  }

  async #send(
    member: Member,
    call: {route: 'query' | 'command'; statement: string; params: object; mode?: ReadMode},
  ): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const client = this.#clients.get(member);
    if (client === undefined) throw new Error(`${member.name} is no member`);
    const answer = await client.send({
      method: 'POST',
      path: `/api/v1/${call.route}/${database}`,
      headers: {
        'Content-Type': 'application/json',
        ...(call.mode === undefined ? {} : {'X-Svc-Read-Consistency': call.mode}),
        'X-Svc-Read-After': String(this.#commitIndex),
      },
      body: JSON.stringify({language: 'sql', command: call.statement, params: call.params}),
      again: false,
    });
    if (answer.status !== 200) throw new ServerError(answer.status, errorBodyOf(answer.text));
    // What an eventual read happened to show binds nobody.
    if (call.mode !== 'eventual') {
      const index = Number(answer.headers['x-svc-commit-index'] ?? 0);
      this.#commitIndex = Math.max(this.#commitIndex, index);
    }
    return (JSON.parse(answer.text) as {result: Record<string, unknown>[]}).result;
  }
}

export class EtcdRegisters implements Registers {
  readonly modes = ['eventual', 'linearizable'] as const;
  readonly #clients: ReadonlyMap<Member, Client>;

  constructor(members: readonly Member[]) {
    this.#clients = new Map(members.map(one => [one, etcdClient(one, callMillisMax)]));
  }

  async read(member: Member, key: string, mode: ReadMode): Promise<ReadAnswer> {
    const serializable = mode !== 'linearizable';
    const asked = {key: base64(key), serializable};
    const {kvs} = (await etcdCall(this.#clients.get(member), 'kv/range', asked)) as Range;
    const [row] = kvs ?? [];
    if (row === undefined) return {found: 0, version: 0};
    return {found: Number(atob(row.value)), version: Number(row.version)};
  }

  write(member: Member, key: string, value: number): Promise<WriteAnswer> {
    return this.#transaction(member, key, value, []);
  }

  compare(member: Member, key: string, expected: number, value: number): Promise<WriteAnswer> {
    // A key that is absent compares with its version alone.
    const absent = {key: base64(key), target: 'VERSION', result: 'EQUAL', version: '0'};
    const equal = {key: base64(key), target: 'VALUE', value: base64(String(expected))};
    return this.#transaction(member, key, value, [expected === 0 ? absent : equal]);
  }

  close(): void {
    for (const client of this.#clients.values()) client.close();
  }

  async #transaction(
    member: Member,
    key: string,
    value: number,
    compare: readonly object[],
  ): Promise<WriteAnswer> {
    const success = [
      {request_put: {key: base64(key), value: base64(String(value))}},
      {request_range: {key: base64(key)}},
    ];
    const asked = {compare, success};
    const answer = await etcdCall(this.#clients.get(member), 'kv/txn', asked);
    const {succeeded, responses} = answer as {succeeded?: boolean; responses?: TxnResponse[]};
    const row = responses?.find(one => one.response_range !== undefined)?.response_range?.kvs?.[0];
    return {applied: succeeded === true, version: Number(row?.version ?? 0)};
  }
}

interface Range {
  readonly kvs?: readonly {readonly value: string; readonly version: string}[];
}

interface TxnResponse {
  readonly response_range?: Range;
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** An answer that nobody expects of a healthy member, whatever happens to the others. */
export function isSurprise(error: unknown): boolean {
  if (error instanceof ServerError) return error.status === 500 && outcomeOf(error) === 'failed';
  const expected = [NotConnected, UnknownOutcome, EtcdRefusal];
  return !expected.some(kind => error instanceof kind);
}
