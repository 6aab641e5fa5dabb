/**
 * The ledger client: writers work against a real server while it is killed with `kill -9`, again
 * and again, and after each start every one of their writes is accounted for.
 *
 * Each writer has keys of its own and inserts, updates and deletes records by single statements,
 * by transactions and by the bulk route, into a type with a unique index and one without (there
 * a write that is replayed twice would show as two records). `make crash CYCLES=200 SEED=1`.
 * The same seed gives the same choices; what the kernel and the timing make of them is theirs.
 */
import type {Client} from '#server/client/client.ts';
import {NotConnected, ServerError, UnknownOutcome} from '#server/client/server-error.ts';
import {type Finding, Ledger, type Write} from './crash/ledger.ts';
import {freePort, type ServerProcess, startServer, temporaryRoot} from './server-process.ts';

const database = 'ledger';
const writers = 8;
const killAfterMillis = {least: 40, most: 450} as const;
const reopenMillisMax = 2_000;

/** How a run is shaped. */
export interface CrashOptions {
  readonly cycles: number;
  readonly seed: number;
  /** Called with a line of progress after each cycle. */
  readonly onCycle?: (line: string) => void;
}

/** What a run found. */
export interface CrashReport {
  readonly cycles: number;
  readonly acknowledged: number;
  readonly unknown: number;
  readonly refused: number;
  readonly lost: number;
  readonly doubled: number;
  /** From the start of the process to ready, of the slowest start after a kill. */
  readonly slowestReopenMillis: number;
  readonly findings: readonly Finding[];
  /** Answers that neither acknowledge nor refuse: server errors nobody expects. */
  readonly surprises: readonly string[];
  /** Kept for a look when something was found, else removed. */
  readonly root: string;
}

/** Runs the cycles; throws only when the server does not come up or its data cannot be read. */
export async function runCrashes(options: CrashOptions): Promise<CrashReport> {
  const root = temporaryRoot('crash');
  const port = await freePort();
  const random = randomNumbers(options.seed);
  const ledger = new Ledger();
  const crew = Array.from({length: writers}, (_, index) => new Writer(index, ledger, random));
  const findings: Finding[] = [];
  let slowestReopenMillis = 0;
  let server = await startServer({root, port});
  try {
    await createLedger(server);
    for (let cycle = 1; cycle <= options.cycles && findings.length === 0; cycle += 1) {
      await workUntilKilled(server, crew, random);
      server = await startServer({root, port});
      slowestReopenMillis = Math.max(slowestReopenMillis, server.readyMillis);
      findings.push(...(await audit(server, ledger)));
      options.onCycle?.(
        `cycle ${cycle} of ${options.cycles}: acknowledged ${ledger.acknowledged}, ` +
          `unknown ${ledger.unknown}, reopened in ${Math.round(server.readyMillis)} ms`,
      );
    }
  } finally {
    await server.kill();
  }
  const surprises = crew.flatMap(writer => writer.surprises);
  if (findings.length === 0 && surprises.length === 0) await server.dispose();
  const kinds = (...wanted: Finding['kind'][]): number =>
    findings.filter(({kind}) => wanted.includes(kind)).length;
  return {
    cycles: options.cycles,
    acknowledged: ledger.acknowledged,
    unknown: ledger.unknown,
    refused: ledger.refused,
    lost: kinds('lost', 'torn'),
    doubled: kinds('doubled', 'resurrected'),
    slowestReopenMillis: Math.round(slowestReopenMillis),
    findings,
    surprises,
    root,
  };
}

async function createLedger(server: ServerProcess): Promise<void> {
  const client = server.client();
  try {
    await client.createDatabase(database);
    const types = ['CREATE DOCUMENT TYPE Keyed', 'CREATE DOCUMENT TYPE Plain'];
    const properties = ['Keyed', 'Plain', 'Loaded'].map(
      type => `CREATE PROPERTY ${type}.id STRING`,
    );
    for (const statement of [
      ...types,
      'CREATE VERTEX TYPE Loaded',
      ...properties,
      'CREATE INDEX ON Keyed (id) UNIQUE',
    ]) {
      await client.command(database, statement);
    }
  } finally {
    client.close();
  }
}

/** Lets every writer work, kills the server at a moment that `random` chooses, and waits. */
async function workUntilKilled(
  server: ServerProcess,
  crew: readonly Writer[],
  random: (below: number) => number,
): Promise<void> {
  const client = server.client();
  const span = killAfterMillis.most - killAfterMillis.least;
  const moment = killAfterMillis.least + random(span);
  const running = Promise.allSettled(crew.map(writer => writer.workUntilCut(client)));
  await new Promise(resolve => setTimeout(resolve, moment));
  await server.kill();
  const broken = (await running).find(outcome => outcome.status === 'rejected');
  client.close();
  if (broken !== undefined) throw broken.reason;
}

/** Reads everything by scan, and what the index knows besides, and asks the ledger. */
async function audit(server: ServerProcess, ledger: Ledger): Promise<Finding[]> {
  const client = server.client();
  try {
    const stored = new Map<string, number[]>();
    let rows = 0;
    for (const type of ['Keyed', 'Plain', 'Loaded']) {
      const statement = `SELECT id, value FROM ${type}`;
      for await (const row of client.queryStream(database, statement, {limit: -1})) {
        const key = String(row['id']);
        const values = stored.get(key) ?? [];
        values.push(Number(row['value']));
        stored.set(key, values);
        rows += 1;
      }
    }
    const findings = ledger.audit(stored);
    if (findings.length === 0 && rows !== ledger.liveKeys) {
      const says = `${rows} records are stored, ${ledger.liveKeys} are in the books`;
      findings.push({kind: 'lost', key: 'count', says});
    }
    findings.push(...(await auditIndex(client, stored)), ...(await auditIntegrity(client)));
    return findings;
  } finally {
    client.close();
  }
}

/** Looks up some keys by the index: what a scan finds, the index must find, once. */
async function auditIndex(
  client: Client,
  stored: ReadonlyMap<string, number[]>,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  const keyed = [...stored.keys()].filter(key => key.startsWith('k-'));
  const step = Math.max(1, Math.floor(keyed.length / 100));
  for (let at = keyed.length - 1; at >= 0; at -= step) {
    const key = keyed[at] ?? '';
    const statement = 'SELECT id, value FROM Keyed WHERE id = :id';
    const {result} = await client.query(database, statement, {params: {id: key}});
    const values = result.map(row => Number(row['value']));
    if (values.length === 1 && values[0] === stored.get(key)?.[0]) continue;
    const says = `a scan finds ${stored.get(key)?.join()}, the index finds ${values.join()}`;
    findings.push({kind: 'lost', key, says});
  }
  return findings;
}

/** What a crash left behind that does not agree with the rest: CHECK DATABASE looks at all. */
async function auditIntegrity(client: Client): Promise<Finding[]> {
  const {result} = await client.command(database, 'CHECK DATABASE');
  const found = result.flatMap(row => (row['findings'] ?? []) as Record<string, unknown>[]);
  return found.map(({kind, place, says}) => ({
    kind: 'torn',
    key: String(place),
    says: `${String(kind)}: ${String(says)}`,
  }));
}

type Sending = {readonly writes: readonly Write[]; readonly send: () => Promise<unknown>};

/** One client with keys of its own; works until its connection is cut. */
class Writer {
  readonly surprises: string[] = [];
  readonly #index: number;
  readonly #ledger: Ledger;
  readonly #random: (below: number) => number;
  readonly #keys: string[] = [];
  #next = 0;

  constructor(index: number, ledger: Ledger, random: (below: number) => number) {
    this.#index = index;
    this.#ledger = ledger;
    this.#random = random;
  }

  async workUntilCut(client: Client): Promise<void> {
    for (let cut = false; !cut; ) cut = await this.#carryOut(this.#choose(client));
  }

  /** Sends, books the outcome, and answers whether the connection is gone. */
  async #carryOut({writes, send}: Sending): Promise<boolean> {
    const ledger = this.#ledger;
    ledger.began(writes);
    try {
      await send();
      ledger.wasAcknowledged(writes);
      return false;
    } catch (error) {
      if (error instanceof NotConnected) {
        ledger.wasRefused(writes);
        return true;
      }
      if (error instanceof UnknownOutcome) {
        ledger.becameUnknown(writes);
        return true;
      }
      if (!(error instanceof ServerError)) throw error;
      if (error.exceptionName === 'CommitOutcomeUnknownException' || error.status === 500) {
        if (error.status === 500) this.surprises.push(error.message);
        ledger.becameUnknown(writes);
      } else ledger.wasRefused(writes);
      return false;
    }
  }

  #choose(client: Client): Sending {
    const lot = this.#random(100);
    const old = this.#oldKey();
    if (lot < 45 || old === undefined) return this.#insert(client, lot % 2 === 0 ? 'k' : 'p');
    if (lot < 60) return this.#update(client, old);
    if (lot < 68) return this.#delete(client, old);
    if (lot < 74) return this.#insertTwice(client, old);
    if (lot < 95) return this.#transaction(client, old);
    return this.#load(client);
  }

  #newKey(prefix: string): string {
    this.#next += 1;
    const key = `${prefix}-${this.#index}-${this.#next}`;
    if (prefix !== 'b') this.#keys.push(key);
    return key;
  }

  /** A key that is certainly stored and that no unknown write holds. */
  #oldKey(): string | undefined {
    const key = this.#keys[this.#random(Math.max(1, this.#keys.length))];
    if (key === undefined || !this.#ledger.isFree(key)) return undefined;
    return this.#ledger.state(key) === undefined ? undefined : key;
  }

  #insert(client: Client, prefix: 'k' | 'p'): Sending {
    const key = this.#newKey(prefix);
    return {
      writes: [{key, state: 1}],
      send: () => client.command(database, insertInto(key), {params: {id: key, value: 1}}),
    };
  }

  #update(client: Client, key: string): Sending {
    const value = (this.#ledger.state(key) ?? 0) + 1;
    return {
      writes: [{key, state: value}],
      send: () => client.command(database, updateOf(key), {params: {id: key, value}}),
    };
  }

  #delete(client: Client, key: string): Sending {
    const statement = `DELETE FROM ${typeOf(key)} WHERE id = :id`;
    return {
      writes: [{key, state: undefined}],
      send: () => client.command(database, statement, {params: {id: key}}),
    };
  }

  /** A transaction that must be refused as a whole: its second insert repeats a unique key. */
  #insertTwice(client: Client, old: string): Sending {
    const key = this.#newKey('p');
    const repeated = old.startsWith('k-') ? old : undefined;
    return {
      writes: [{key, state: 1}],
      send: async () => {
        const session = await client.begin(database);
        await session.command(database, insertInto(key), {params: {id: key, value: 1}});
        if (repeated !== undefined) {
          const params = {id: repeated, value: 1};
          await session.command(database, insertInto(repeated), {params});
        }
        await session.commit();
      },
    };
  }

  #transaction(client: Client, old: string): Sending {
    const [one, other] = [this.#newKey('k'), this.#newKey('p')];
    const value = (this.#ledger.state(old) ?? 0) + 1;
    return {
      writes: [
        {key: one, state: 1},
        {key: other, state: 1},
        {key: old, state: value},
      ],
      send: async () => {
        const session = await client.begin(database);
        await session.command(database, insertInto(one), {params: {id: one, value: 1}});
        await session.command(database, insertInto(other), {params: {id: other, value: 1}});
        await session.command(database, updateOf(old), {params: {id: old, value}});
        await session.commit();
      },
    };
  }

  /** A load of one vertex: loads of many are not atomic, so the books could not hold them. */
  #load(client: Client): Sending {
    const key = this.#newKey('b');
    const line = {'@type': 'v', '@class': 'Loaded', '@id': key, id: key, value: 1};
    return {
      writes: [{key, state: 1}],
      send: () => client.batch(database, `${JSON.stringify(line)}\n`, {query: {wal: true}}),
    };
  }
}

function typeOf(key: string): string {
  return key.startsWith('k-') ? 'Keyed' : 'Plain';
}

function insertInto(key: string): string {
  return `INSERT INTO ${typeOf(key)} SET id = :id, value = :value`;
}

function updateOf(key: string): string {
  return `UPDATE ${typeOf(key)} SET value = :value WHERE id = :id`;
}

/** Whole numbers below a bound, the same for the same seed. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return below => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * below);
  };
}

if (import.meta.main) {
  // Make hands on empty variables for those nobody gave.
  const cycles = Number(process.env['CYCLES'] || 20);
  const seed = Number(process.env['SEED'] || Date.now() % 1_000_000);
  process.stdout.write(`seed ${seed}\n`);
  const report = await runCrashes({
    cycles,
    seed,
    onCycle: line => process.stdout.write(`${line}\n`),
  });
  for (const {kind, key, says} of report.findings.slice(0, 50)) {
    process.stdout.write(`${kind} ${key}: ${says}\n`);
  }
  for (const surprise of new Set(report.surprises)) process.stdout.write(`surprise: ${surprise}\n`);
  const wrong = report.findings.length + report.surprises.length;
  if (wrong > 0) process.stdout.write(`the files are kept in ${report.root}\n`);
  process.stdout.write(
    `cycles ${report.cycles} acknowledged ${report.acknowledged} lost ${report.lost} ` +
      `doubled ${report.doubled} slowest reopen ${report.slowestReopenMillis} ms\n`,
  );
  if (wrong > 0 || report.slowestReopenMillis > reopenMillisMax) process.exitCode = 1;
}
