/**
 * Clients that read, write and compare registers at all members for a while, and write down what
 * they asked and what came of it.
 */
import type {SeededRandom} from '../property/seeded-random.ts';
import {type ClusterSystem, findLeader, type Member} from './cluster-system.ts';
import {historyTime, type Operation, type ReadMode} from './history.ts';
import {
  isSurprise,
  outcomeOf,
  type ReadAnswer,
  type Registers,
  type WriteAnswer,
} from './registers.ts';

export interface LoadOptions {
  readonly system: ClusterSystem;
  readonly connect: () => Registers;
  readonly keys: readonly string[];
  readonly clients: number;
  readonly millis: number;
  readonly random: SeededRandom;
  /** Numbers the clients and their values, where several loads share a history. */
  readonly firstClient: number;
}

export interface LoadOutcome {
  readonly operations: readonly Operation[];
  readonly surprises: readonly string[];
}

const readPercent = 70;
const writePercent = 15;
const restMillis = 20;
const leaderPollMillis = 100;
/** A key is used for a while and then left, so that what is unknown of it ends. */
const keysInUse = 12;

/** Runs all clients to their end. */
export async function loadRegisters(options: LoadOptions): Promise<LoadOutcome> {
  const deadline = performance.now() + options.millis;
  const leader = new KnownLeader(options.system);
  const following = leader.follow(deadline);
  const clients = Array.from(
    {length: options.clients},
    (_, index) => new LoadClient(options, options.firstClient + index, leader),
  );
  try {
    await Promise.all(clients.map(client => client.work(deadline)));
  } finally {
    for (const client of clients) client.close();
    await following;
  }
  return {
    operations: clients.flatMap(({operations}) => operations),
    surprises: clients.flatMap(({surprises}) => surprises),
  };
}

/**
 * Reads every key from every member after all faults, so that nothing lost stays unseen; each by a
 * client of its own, who asks until it is answered or `millis` are over.
 */
export async function readAll(options: LoadOptions): Promise<readonly Operation[]> {
  const leader = new KnownLeader(options.system);
  leader.member = await findLeader(options.system);
  const deadline = performance.now() + options.millis;
  const read = async (key: string, index: number): Promise<readonly Operation[]> => {
    const client = new LoadClient(options, options.firstClient + index, leader);
    for (const member of options.system.members) {
      while ((await client.readFrom(member, key, 'linearizable')).outcome !== 'ok') {
        if (performance.now() > deadline) throw new Error(`${member.name} does not show ${key}`);
      }
    }
    client.close();
    return client.operations;
  };
  return (await Promise.all(options.keys.map(read))).flat();
}

class KnownLeader {
  readonly #system: ClusterSystem;
  member: Member | undefined;

  constructor(system: ClusterSystem) {
    this.#system = system;
  }

  async follow(deadline: number): Promise<void> {
    while (performance.now() < deadline) {
      this.member = (await findLeader(this.#system)) ?? this.member;
      await new Promise(resolve => setTimeout(resolve, leaderPollMillis));
    }
  }
}

class LoadClient {
  readonly operations: Operation[] = [];
  readonly surprises: string[] = [];
  readonly #options: LoadOptions;
  readonly #number: number;
  readonly #registers: Registers;
  readonly #leader: KnownLeader;
  readonly #lastSeen = new Map<string, number>();
  readonly #startedAt = performance.now();
  #home: Member;
  #writes = 0;

  constructor(options: LoadOptions, number: number, leader: KnownLeader) {
    this.#options = options;
    this.#number = number;
    this.#leader = leader;
    this.#registers = options.connect();
    this.#home = options.random.pick(options.system.members);
  }

  close(): void {
    this.#registers.close();
  }

  async work(deadline: number): Promise<void> {
    while (performance.now() < deadline) {
      const {outcome} = await this.#operate();
      if (outcome === 'ok') continue;
      this.#home = this.#options.random.pick(this.#options.system.members);
      await new Promise(resolve => setTimeout(resolve, restMillis));
    }
  }

  readFrom(member: Member, key: string, mode: ReadMode): Promise<Operation> {
    const send = (): Promise<ReadAnswer> => this.#registers.read(member, key, mode);
    return this.#record({member, key, kind: 'read', mode, send});
  }

  #operate(): Promise<Operation> {
    const {random} = this.#options;
    const key = this.#chooseKey();
    // Half of them at the leader that is known, the others where the client is.
    const toLeader = random.once(2);
    const member = toLeader ? (this.#leader.member ?? this.#home) : this.#home;
    const chance = random.below(100);
    if (chance < readPercent) return this.readFrom(member, key, random.pick(this.#registers.modes));
    this.#writes += 1;
    const value = this.#number * 1_000_000 + this.#writes;
    if (chance < readPercent + writePercent) {
      const send = (): Promise<WriteAnswer> => this.#registers.write(member, key, value);
      return this.#record({member, key, kind: 'write', value, send});
    }
    const expected = this.#lastSeen.get(key) ?? 0;
    const send = (): Promise<WriteAnswer> => this.#registers.compare(member, key, expected, value);
    return this.#record({member, key, kind: 'compare', value, expected, send});
  }

  async #record(asked: {
    member: Member;
    key: string;
    kind: Operation['kind'];
    mode?: ReadMode;
    value?: number;
    expected?: number;
    send: () => Promise<ReadAnswer | WriteAnswer>;
  }): Promise<Operation> {
    const {member, key, kind, mode, value = 0, expected = 0} = asked;
    const node = `${member.name}/${member.process.starts}`;
    const call = historyTime();
    let answer: Partial<ReadAnswer & WriteAnswer> = {};
    let outcome: Operation['outcome'] = 'ok';
    let reason: string | undefined;
    try {
      answer = await asked.send();
    } catch (error) {
      outcome = outcomeOf(error);
      reason = error instanceof Error ? error.message : String(error);
      if (isSurprise(error)) this.surprises.push(reason);
    }
    const {found = 0, version = 0, applied = false} = answer;
    const operation: Operation = {
      client: this.#number,
      node,
      key,
      kind,
      mode,
      atFollower: this.#leader.member !== member,
      value,
      expected,
      outcome,
      applied,
      found,
      version,
      call,
      return: historyTime(),
      reason,
    };
    this.operations.push(operation);
    if (outcome === 'ok') {
      if (kind === 'read') this.#lastSeen.set(key, found);
      else if (kind === 'write' || applied) this.#lastSeen.set(key, value);
    }
    return operation;
  }

  #chooseKey(): string {
    const {keys, millis, random} = this.#options;
    const passed = Math.min(1, (performance.now() - this.#startedAt) / millis);
    const first = Math.floor(passed * Math.max(0, keys.length - keysInUse));
    return random.pick(keys.slice(first, first + keysInUse));
  }
}
