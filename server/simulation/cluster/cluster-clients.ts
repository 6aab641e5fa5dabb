/**
 * What clients of a simulated cluster do: the operations of one server's workload (workload.ts)
 * wherever a leader is, and besides them registers that are read linearizably and as bookmarks of
 * a session, money that is transferred, and edges between vertices that come and go.
 *
 * Every transaction is in the ledger, with what it saw. Where an operation took place is its index
 * in the log, so registers need no search for an order (register-history.ts); what happens to them
 * is noted here in the order of time and held against the log when the world is over.
 */
import type {LogIndex} from '#server/raft/message.ts';
import type {Database} from '#server/engine/database.ts';
import type {Reader} from '#server/storage/store.ts';
import {type Attempt, type Ledger, readAll, Violation} from '../ledger.ts';
import type {Begun, RegisterHistory} from '../raft/register-history.ts';
import type {Scheduler} from '../scheduler.ts';
import type {SeededRandom} from '../seeded-random.ts';
import {type ClientOptions, Draft, key, runOne} from '../workload.ts';
import type {SimulatedServer} from './simulated-server.ts';

const prefix = {
  register: 0x70,
  account: 0x71,
  vertex: 0x72,
  outgoing: 0x73,
  incoming: 0x74,
} as const;
const registers = 6;
const accounts = 5;
const vertices = 6;
/** The deposit in each account at the beginning. */
const deposit = 100;
const readTimeoutMs = 1_000;

export interface ClusterClientsOptions {
  readonly servers: ReadonlyMap<string, SimulatedServer>;
  readonly ledger: Ledger;
  readonly random: SeededRandom;
  readonly scheduler: Scheduler;
}

export class ClusterClients {
  readonly #options: ClusterClientsOptions;
  /** What is told to a history of registers, in the order of time. */
  readonly #events: ((history: RegisterHistory) => void)[] = [];
  /** How far each session has seen. */
  readonly #bookmarks = new Map<number, LogIndex>();
  readonly tallies = {
    writes: 0,
    reads: 0,
    followerReads: 0,
    sessionReads: 0,
    transfers: 0,
    snapshots: 0,
  };
  #numbers = 0;

  constructor(options: ClusterClientsOptions) {
    this.#options = options;
  }

  /** One operation somewhere; ends when its outcome is known. Throws Violation. */
  async operate(): Promise<void> {
    const {random} = this.#options;
    const dice = random.below(100);
    if (dice < 35) return await this.#atLeader(at => runOne(at));
    if (dice < 50) return await this.write();
    if (dice < 62) return await this.#read();
    if (dice < 72) return await this.#readInSession(random.below(4));
    if (dice < 82) return await this.#atLeader(at => this.#transfer(at));
    if (dice < 95) return await this.#atLeader(at => this.#changeGraph(at));
    this.#look();
  }

  /** A write of a register at the leader; whether it was acknowledged is in `tallies`. */
  async write(): Promise<void> {
    await this.#atLeader(at => this.#write(at));
  }

  async #write(at: ClientOptions): Promise<void> {
    const {random} = this.#options;
    const register = random.below(registers);
    const draft = new Draft(at.database.begin('READ_COMMITTED'), at);
    draft.put(key(prefix.register, register), String(draft.number));
    const name = `the write ${draft.number} of register ${register}`;
    const begun = this.#begin(name);
    const outcome = await this.#commit(draft);
    if (outcome === undefined) return;
    this.tallies.writes++;
    this.#events.push(history => history.wrote(begun(), outcome));
  }

  /** Holds everything that was seen of registers against the order of the log. */
  check(history: RegisterHistory): void {
    for (const event of this.#events) event(history);
  }

  /** What a put of the log means to the history of registers. */
  committed(history: RegisterHistory, index: LogIndex, keyBytes: Buffer, value: Buffer): void {
    if (keyBytes[0] !== prefix.register) return;
    history.committed(keyBytes.readUInt32BE(1), index, Number(value.toString('latin1')));
  }

  /** Money is not made and not lost; an edge has two ends, and is known at both. */
  checkSnapshot(reader: Reader): void {
    const of = (kind: number) => [
      ...readAll(reader, Buffer.from([kind]), Buffer.from([kind + 1])).entries(),
    ];
    const money = of(prefix.account).map(([, value]) => Number(value));
    const sum = money.reduce((all, one) => all + one, 0);
    if (money.length > 0 && sum !== accounts * deposit) {
      throw new Violation(`a snapshot holds ${sum}, should be ${accounts * deposit}`);
    }
    const present = new Set(of(prefix.vertex).map(([name]) => numberOf(name)));
    const outgoing = of(prefix.outgoing).map(([name]) => numberOf(name));
    const incoming = new Set(of(prefix.incoming).map(([name]) => numberOf(name)));
    if (incoming.size !== outgoing.length) {
      throw new Violation(
        `a snapshot has ${outgoing.length} edges, and ${incoming.size} at their ends`,
      );
    }
    for (const edge of outgoing) {
      const {from, to} = endsOf(edge);
      if (!incoming.has(edgeNumber(to, from))) throw new Violation(`edge ${edge} has one end`);
      if (!present.has(from) || !present.has(to)) {
        throw new Violation(`edge ${edge} hangs on a vertex that is gone`);
      }
    }
    this.tallies.snapshots++;
  }

  /** A linearizable read at any member: the group is asked, and what it says is waited for. */
  async #read(): Promise<void> {
    const {random} = this.#options;
    const server = this.#any();
    const {engine, member} = server ?? {};
    if (server === undefined || engine === undefined || member === undefined) return;
    const isFollower = !member.log.isLeading;
    const register = random.below(registers);
    const begun = this.#begin(`the read of register ${register} at ${server.id}`);
    const index = await member.replicator.readIndex(readTimeoutMs);
    await engine.whenApplied(index);
    if (engine.appliedIndex < index || server.engine !== engine) return;
    const seen = readRegister(engine.database('main'), register);
    if (seen === undefined) return;
    this.tallies.reads++;
    if (isFollower) this.tallies.followerReads++;
    this.#events.push(history => history.read(begun(), register, seen.place, seen.value));
  }

  /** A read that is no older than anything the session has seen, wherever that was. */
  async #readInSession(session: number): Promise<void> {
    const {random} = this.#options;
    const server = this.#any();
    const engine = server?.engine;
    if (server === undefined || engine === undefined) return;
    const register = random.below(registers);
    const bookmark = this.#bookmarks.get(session) ?? 0;
    if (engine.appliedIndex < bookmark) await engine.whenApplied(bookmark);
    if (engine.appliedIndex < bookmark || server.engine !== engine) return;
    const seen = readRegister(engine.database('main'), register);
    if (seen === undefined) return;
    if (seen.place < bookmark) {
      throw new Violation(`a session at ${server.id} saw ${seen.place} after ${bookmark}`);
    }
    if (seen.place > engine.readableIndex) {
      throw new Violation(`${server.id} shows ${seen.place} and says ${engine.readableIndex}`);
    }
    this.tallies.sessionReads++;
    this.#bookmarks.set(session, Math.max(this.#bookmarks.get(session) ?? 0, seen.place));
    this.#events.push(history => {
      const expected = history.valueAt(register, seen.place);
      if (expected === seen.value) return;
      throw new Violation(
        `a session at ${server.id} saw ${seen.value} at ${seen.place}, not ${expected}`,
      );
    });
  }

  async #transfer(at: ClientOptions): Promise<void> {
    const {random} = this.#options;
    const draft = new Draft(at.database.begin('REPEATABLE_READ'), at);
    const from = key(prefix.account, random.below(accounts));
    const to = key(prefix.account, random.below(accounts));
    if (from.equals(to)) return draft.transaction.rollback();
    const [have, has] = [draft.guard(from), draft.guard(to)];
    if (have === undefined || has === undefined) return await this.#open(draft);
    const amount = random.below(20);
    draft.put(from, String(Number(have) - amount));
    draft.put(to, String(Number(has) + amount));
    await this.#pause();
    if ((await this.#commit(draft)) !== undefined) this.tallies.transfers++;
  }

  /** Everybody's first money, all of it or none. */
  async #open(draft: Draft): Promise<void> {
    for (let account = 0; account < accounts; account++) {
      if (draft.guard(key(prefix.account, account)) !== undefined) {
        throw new Violation('some accounts are there and others not');
      }
      draft.put(key(prefix.account, account), String(deposit));
    }
    await this.#commit(draft);
  }

  async #changeGraph(at: ClientOptions): Promise<void> {
    const {random} = this.#options;
    const draft = new Draft(at.database.begin('REPEATABLE_READ'), at);
    const [from, to] = [random.below(vertices), random.below(vertices)];
    const dice = random.below(100);
    if (dice < 30) {
      if (draft.guard(key(prefix.vertex, from)) === undefined) {
        draft.put(key(prefix.vertex, from), `vertex ${draft.number}`);
      }
    } else if (dice < 75) connect(draft, from, to);
    else if (dice < 90) disconnect(draft, from, to);
    else removeVertex(draft, from);
    await this.#pause();
    await this.#commit(draft);
  }

  /** Somebody looks at everything, at whatever member. */
  #look(): void {
    const database = this.#any()?.engine?.database('main');
    if (database === undefined) return;
    const session = database.read();
    try {
      this.checkSnapshot(session);
    } finally {
      session.close();
    }
  }

  /** The index of a transaction that was acknowledged; undefined for any other outcome. */
  async #commit(draft: Draft): Promise<LogIndex | undefined> {
    const {ledger} = this.#options;
    const attempt: Attempt = draft.finish();
    ledger.add(attempt);
    const outcome = await draft.transaction.commit();
    ledger.settle(attempt, outcome);
    return outcome.kind === 'committed' ? outcome.index : undefined;
  }

  #begin(name: string): () => Begun {
    let begun: Begun | undefined;
    this.#events.push(history => {
      begun = history.begin(name);
    });
    return () => {
      if (begun === undefined) throw new Violation(`${name} ended before it began`);
      return begun;
    };
  }

  async #pause(): Promise<void> {
    const {random, scheduler} = this.#options;
    if (random.chance(50)) await scheduler.sleep(random.below(6));
  }

  /**
   * Mostly at a leader; asked anew with every use, as a client that is sent elsewhere would. What
   * comes of a server whose process has ended meanwhile is no answer.
   */
  async #atLeader(work: (options: ClientOptions) => Promise<void>): Promise<void> {
    const {ledger, random, scheduler} = this.#options;
    const used: {readonly server: SimulatedServer; readonly life: number}[] = [];
    const databaseOf = (): Database => {
      const serving = [...this.#options.servers.values()].flatMap(server => {
        const database = server.engine?.database('main');
        return database === undefined ? [] : [{server, database}];
      });
      const leading = serving.filter(({server}) => server.member?.log.isLeading);
      const chosen = leading.length > 0 && random.chance(95) ? leading : serving;
      if (chosen.length === 0) throw new Nobody('no server has the database');
      const {server, database} = random.pick(chosen);
      used.push({server, life: server.life});
      return database;
    };
    const options: ClientOptions = {
      get database() {
        return databaseOf();
      },
      ledger,
      random,
      scheduler,
      nextNumber: () => ++this.#numbers,
    };
    try {
      await work(options);
    } catch (error) {
      const hasEnded = used.some(({server, life}) => server.life !== life || server.machine.dead);
      throw hasEnded ? new Nobody('the server ended') : error;
    }
  }

  #any(): SimulatedServer | undefined {
    const running = [...this.#options.servers.values()].filter(server => server.engine);
    return running.length === 0 ? undefined : this.#options.random.pick(running);
  }
}

/** There is nobody to talk to just now. */
export class Nobody extends Error {
  override readonly name = 'Nobody';
}

interface SeenRegister {
  readonly place: LogIndex;
  readonly value: number | undefined;
}

function readRegister(database: Database | undefined, register: number): SeenRegister | undefined {
  if (database === undefined) return undefined;
  const session = database.read();
  try {
    const value = session.get(key(prefix.register, register))?.toString('latin1');
    const place = session.snapshotIndex;
    return {place, value: value === undefined ? undefined : Number(value)};
  } finally {
    session.close();
  }
}

function edgeNumber(from: number, to: number): number {
  return from * vertices + to;
}

function endsOf(edge: number): {readonly from: number; readonly to: number} {
  return {from: Math.floor(edge / vertices), to: edge % vertices};
}

function numberOf(name: string): number {
  return Buffer.from(name, 'latin1').readUInt32BE(1);
}

function connect(draft: Draft, from: number, to: number): void {
  const {transaction} = draft;
  for (const end of [from, to]) {
    if (transaction.get(key(prefix.vertex, end)) === undefined) return;
    transaction.require({kind: 'present', key: key(prefix.vertex, end)});
  }
  const outgoing = key(prefix.outgoing, edgeNumber(from, to));
  if (draft.guard(outgoing) !== undefined) return;
  draft.put(outgoing, `edge ${draft.number}`);
  draft.put(key(prefix.incoming, edgeNumber(to, from)), `edge ${draft.number}`);
}

function disconnect(draft: Draft, from: number, to: number): void {
  const outgoing = key(prefix.outgoing, edgeNumber(from, to));
  if (draft.guard(outgoing) === undefined) return;
  draft.delete(outgoing);
  draft.delete(key(prefix.incoming, edgeNumber(to, from)));
}

function removeVertex(draft: Draft, vertex: number): void {
  const {transaction} = draft;
  const vertexKey = key(prefix.vertex, vertex);
  if (draft.guard(vertexKey) === undefined) return;
  transaction.require({kind: 'unpinned', key: vertexKey});
  for (let other = 0; other < vertices; other++) {
    for (const side of [prefix.outgoing, prefix.incoming]) {
      if (transaction.get(key(side, edgeNumber(vertex, other))) !== undefined) return;
    }
  }
  draft.delete(vertexKey);
}
