/**
 * Runs one order (order-plan.ts) and judges it: every server forms, joins, refuses with a reason,
 * or says what it waits for; there is never a second group; and at the end each one ends within
 * five seconds of the first signal.
 *
 * Source: docs/design/0059-audit-and-attack.md.
 */
import type {NodeId} from '#server/raft/message.ts';
import {Violation} from '../ledger.ts';
import {Machine} from '../machine.ts';
import {Scheduler} from '../scheduler.ts';
import {createSeededRandom} from '../seeded-random.ts';
import {FormingServer} from './forming-server.ts';
import {
  addressesOf,
  groupOfMost,
  orderPlan,
  type OrderPlan,
  type PlannedServer,
} from './order-plan.ts';
import {SimulatedSockets} from './simulated-sockets.ts';

export type Outcome = 'member' | 'refused' | 'waits' | 'ended' | 'no majority';

export interface OrderReport {
  readonly plan: OrderPlan;
  readonly traceHash: string;
  readonly simulatedMs: number;
  /** How many servers came to each, at the end and at the signals before. */
  readonly outcomes: ReadonlyMap<Outcome, number>;
  /** The longest way from a signal to the end, in milliseconds. */
  readonly endedAfterMs: number;
}

const endsWithinMs = 5_000;
/** Everybody has found its place so long after the last moment of the plan. */
const settlingMs = 30_000;

export class OrderWorld {
  readonly #plan: OrderPlan;
  readonly #machine = new Machine();
  readonly #scheduler: Scheduler;
  readonly #servers: readonly FormingServer[];
  readonly #outcomes = new Map<Outcome, number>();
  /** Who led, by cluster and term. */
  readonly #leaders = new Map<string, NodeId>();
  #endedAfterMs = 0;
  #failure: Error | undefined;

  constructor(seed: number) {
    this.#plan = orderPlan(seed);
    const random = createSeededRandom(seed ^ 0x5eed);
    this.#scheduler = new Scheduler(random, this.#machine);
    const sockets = new SimulatedSockets(this.#scheduler, random);
    this.#servers = this.#plan.servers.map(
      ({address, settings, group}) =>
        new FormingServer(
          {address, settings, group, seed: random.u32()},
          {
            scheduler: this.#scheduler,
            sockets,
            lookUp: async host => {
              const found = addressesOf(host);
              if (found.length === 0) throw new Error(`ENOTFOUND ${host}`);
              return found;
            },
            led: (server, term) => this.#led(server, term),
            broke: error => {
              this.#failure ??= error;
            },
          },
        ),
    );
  }

  /** @throws {Violation} what did not hold, with the order. */
  async run(): Promise<OrderReport> {
    let last = 0;
    for (const [at, {moments}] of this.#plan.servers.entries()) {
      const server = this.#servers[at];
      if (server === undefined) continue;
      for (const [turn, moment] of moments.entries()) {
        last = Math.max(last, moment);
        this.#scheduler.after(moment, 'order', () => this.#act(server, turn));
      }
    }
    await this.#go(last + settlingMs);
    const pairs = this.#servers.map((server, at) => [server, this.#plannedAt(at)] as const);
    for (const [server, planned] of pairs) this.#judge(server, planned);
    this.#judgeGroup();
    for (const server of this.#servers) server.stop();
    await this.#go(this.#scheduler.nowMs + endsWithinMs);
    for (const server of this.#servers) this.#judgeEnd(server);
    const {traceHash} = this.#machine;
    return {
      plan: this.#plan,
      traceHash,
      simulatedMs: this.#scheduler.nowMs,
      outcomes: this.#outcomes,
      endedAfterMs: this.#endedAfterMs,
    };
  }

  #act(server: FormingServer, turn: number): void {
    if (turn % 2 === 1) {
      if (server.isRunning) this.#count('ended');
      server.stop();
      this.#scheduler.after(endsWithinMs, 'has ended', () => this.#judgeEnd(server));
    } else if (!server.isRunning) server.start();
  }

  async #go(untilMs: number): Promise<void> {
    await this.#scheduler.run(
      () => this.#failure !== undefined || this.#scheduler.nowMs >= untilMs,
    );
    if (this.#failure !== undefined) throw this.#failure;
  }

  #plannedAt(at: number): PlannedServer {
    const planned = this.#plan.servers[at];
    if (planned === undefined) throw new Violation(`no server ${at}`);
    return planned;
  }

  #led(server: FormingServer, term: number): void {
    const id = server.node?.plan.id;
    if (id === undefined) return;
    const name = `${server.options.group} ${term}`;
    const before = this.#leaders.get(name);
    this.#leaders.set(name, id);
    if (before !== undefined && before !== id) {
      this.#failure ??= this.#violation(`${before} and ${id} led term ${term}`);
    }
  }

  /** Whether those can elect whom this server takes for the group; before it knows, the largest. */
  #hasMajority(server: FormingServer): boolean {
    const memberships = this.#servers
      .filter(({options}) => options.group === groupOfMost)
      .map(({node}) => node?.member?.replicator.membership ?? []);
    const own = server.node?.member?.replicator.membership ?? [];
    const group =
      own.length > 0
        ? own
        : memberships.reduce((best, one) => (one.length > best.length ? one : best), []);
    const running = new Set(
      this.#servers
        .filter(({options}) => options.group === groupOfMost)
        .filter(({node}) => node?.member?.replicator.wasMember === true)
        .map(({node}) => node?.plan.id),
    );
    const voters = group.filter(({role}) => role === 'voter');
    return voters.filter(({id}) => running.has(id)).length > voters.length / 2;
  }

  #judge(server: FormingServer, planned: PlannedServer): void {
    const hasMajority = this.#hasMajority(server);
    const {mistake, isAllowed} = planned;
    if (server.refusal !== undefined) {
      const isReason = server.refusal.length > 20;
      if (!isReason) throw this.#violation(`${server.options.address} refuses without a reason`);
      if (mistake === 'none') throw this.#violation(`it refuses: ${server.refusal}`);
      return this.#count('refused');
    }
    if (!server.isRunning) return this.#count('ended');
    if (server.isMember) return this.#count('member');
    if (server.node?.member?.replicator.wasMember === true && !hasMajority) {
      return this.#count('no majority');
    }
    const {address} = server.options;
    if (mistake === 'none' && isAllowed && hasMajority) {
      throw this.#violation(`${address} is no member: ${server.obstacle}`);
    }
    if (server.obstacle === '') throw this.#violation(`${address} waits and does not say for what`);
    this.#count('waits');
  }

  /** All members know the same leader, but those of one that was told to be alone. */
  #judgeGroup(): void {
    const leaders = new Map<string, NodeId | undefined>();
    for (const server of this.#servers) {
      const {role, options} = server;
      if (!server.isMember) continue;
      const leading = this.#servers.find(({node}) => node?.plan.id === role?.leader);
      const {group} = (leading ?? server).options;
      const known = leaders.get(group);
      if (known !== undefined && known !== role?.leader) {
        throw this.#violation(`${options.address} follows ${role?.leader}, others ${known}`);
      }
      leaders.set(group, role?.leader);
    }
  }

  #judgeEnd(server: FormingServer): void {
    if (server.isStopping) {
      const {address} = server.options;
      const failure = this.#violation(`${address} has not ended within ${endsWithinMs} ms`);
      this.#failure ??= failure;
      throw failure;
    }
    this.#endedAfterMs = Math.max(this.#endedAfterMs, server.endedAfterMs ?? 0);
  }

  #violation(what: string): Violation {
    const {seed, naming, starts, founders, servers} = this.#plan;
    const plan = servers.map(({mistake, moments}, at) => {
      const server = this.#servers[at];
      const {role} = server ?? {};
      const standing = server?.refusal ?? (server?.isMember === true ? 'member' : server?.obstacle);
      return `  ${at} ${mistake} [${moments}] ${role?.name} of ${role?.leader}: ${standing}`;
    });
    const order = `order ${seed}: ${founders} listed, ${naming}, started ${starts}`;
    return new Violation(`${what}\n${order}\n${plan.join('\n')}`);
  }

  #count(outcome: Outcome): void {
    this.#outcomes.set(outcome, (this.#outcomes.get(outcome) ?? 0) + 1);
  }
}
