/**
 * The faults of a world while it runs: each begins at its time on whoever is hit then, ends once,
 * and is counted; all that last are over when the world heals.
 */
import type {Scheduler} from '../scheduler.ts';
import {
  type FaultTarget,
  type FaultVictim,
  type PlannedFault,
  planFaults,
  type PlanOptions,
  victimOf,
} from './raft-faults.ts';
import type {WorldSize} from './smaller-worlds.ts';

export interface FaultRunOptions<Kind extends string, Victim extends FaultVictim> {
  readonly scheduler: Scheduler;
  readonly nodes: FaultTarget<Victim>['nodes'];
  readonly network: FaultTarget<Victim>['network'];
  /** Begins a fault; the returned function ends it. */
  readonly begin: (
    fault: PlannedFault<Kind>,
    victim: Victim,
    target: FaultTarget<Victim>,
  ) => () => void;
}

export class FaultRun<Kind extends string, Victim extends FaultVictim> {
  /** Faults counted by kind and by the role of who was hit. */
  readonly counts = new Map<string, number>();
  readonly #options: FaultRunOptions<Kind, Victim>;
  readonly #target: FaultTarget<Victim>;
  readonly #ends = new Set<() => void>();
  #isOver = false;

  constructor(options: FaultRunOptions<Kind, Victim>) {
    const {nodes, network} = options;
    this.#options = options;
    this.#target = {
      nodes,
      network,
      repeat: (everyMs, untilMs, work) => this.#repeat(everyMs, untilMs, work),
    };
  }

  /** Plans the faults of a world that begins now. */
  plan({seed, seconds, faultsPerSecond, faults, without}: WorldSize<Kind>): void {
    const options: PlanOptions<Kind> = {seed, seconds, faultsPerSecond, kinds: faults, without};
    for (const fault of planFaults(options)) {
      this.#options.scheduler.after(fault.atMs, 'fault', () => this.#begin(fault));
    }
  }

  count(fault: string): void {
    this.counts.set(fault, (this.counts.get(fault) ?? 0) + 1);
  }

  /** Ends what lasts; nothing is repeated from now on. */
  end(): void {
    this.#isOver = true;
    for (const end of this.#ends) end();
  }

  #begin(fault: PlannedFault<Kind>): void {
    const {begin, scheduler} = this.#options;
    const victim = victimOf(fault, this.#target);
    this.count(`${fault.kind} of a ${victim.role}`);
    const end = begin(fault, victim, this.#target);
    const once = (): void => {
      if (this.#ends.delete(once)) end();
    };
    this.#ends.add(once);
    scheduler.after(fault.lastsMs, 'fault ends', once);
  }

  #repeat(everyMs: number, untilMs: number, work: () => void): void {
    const {scheduler} = this.#options;
    scheduler.after(everyMs, 'repeat', () => {
      if (this.#isOver || scheduler.nowMs >= untilMs) return;
      work();
      this.#repeat(everyMs, untilMs, work);
    });
  }
}
