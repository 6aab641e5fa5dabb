/**
 * Finds what an isolation level forbids in a history of transactions that ran side by side.
 *
 * Every write appends a value of its own to an object, so that what a read saw tells whose writes
 * it saw, and the lists at the end tell in which order they came. From this follow the edges
 * between transactions: ww (wrote behind), wr (read what was written), rw (read what was about to
 * be overwritten). G0 is a cycle of ww, G1c one of ww and wr, G-single one with a single rw; Adya's
 * G2 has more of them and is write skew, which both levels allow: it is counted.
 * Source: Adya, Weak Consistency (1999); lists of appended values as in Elle (Kingsbury, 2020).
 */
import type {Isolation} from '#server/transactions/transaction-contract.ts';

/** Values in the order of their writes; of a set the order means nothing. */
export type Objects = ReadonlyMap<string, readonly number[]>;

/** What one statement saw: the values of objects, or only how many there were. */
export interface Look {
  readonly kind: 'look';
  /** When the statement was sent: see `Attempt.begun`. */
  readonly begun: number;
  readonly seen: ReadonlyMap<string, readonly number[] | number>;
}

/** A value was appended to an object. */
export interface Append {
  readonly kind: 'append';
  readonly object: string;
  readonly value: number;
}

/** One transaction, whatever became of it. Times are numbers that grow. */
export interface Attempt {
  readonly name: string;
  readonly level: Isolation;
  readonly begun: number;
  readonly steps: readonly (Look | Append)[];
  /** When its commit was acknowledged; undefined: it was refused or rolled back. */
  readonly committed: number | undefined;
}

export interface History {
  readonly attempts: readonly Attempt[];
  /** All objects when everything was over. */
  readonly final: Objects;
  /** Objects whose values are no list: members that any two may add at the same time. */
  readonly sets: ReadonlySet<string>;
}

export interface Findings {
  /** What the levels forbid, a sentence each, each led by the name of the anomaly. */
  readonly anomalies: readonly string[];
  /** Groups of transactions that wrote around each other (Adya's G2). */
  readonly writeSkews: number;
  readonly reads: number;
}

export function findAnomalies(history: History): Findings {
  return new Examination(history).run();
}

interface Edges {
  /** ww. */
  readonly behind: Map<string, Set<string>>;
  /** wr. */
  readonly read: Map<string, Set<string>>;
  /** rw. */
  readonly missed: Map<string, Set<string>>;
}

class Examination {
  readonly #history: History;
  readonly #writers = new Map<number, Attempt>();
  readonly #anomalies: string[] = [];
  readonly #edges: Edges = {behind: new Map(), read: new Map(), missed: new Map()};
  #reads = 0;

  constructor(history: History) {
    this.#history = history;
    for (const attempt of history.attempts) {
      for (const step of attempt.steps) {
        if (step.kind === 'append') this.#writers.set(step.value, attempt);
      }
    }
  }

  run(): Findings {
    this.#checkEnd();
    for (const attempt of this.#history.attempts) this.#checkLooks(attempt);
    const {behind, read, missed} = this.#edges;
    this.#findCycle('G0', [behind]);
    this.#findCycle('G1c', [behind, read]);
    const writes = union(behind, read);
    for (const [reader, writers] of missed) {
      for (const writer of writers) {
        const path = pathBetween(writes, writer, reader);
        if (path === undefined) continue;
        this.#anomalies.push(`G-single: ${reader} missed a write of ${path.join(', then ')}`);
      }
    }
    const skews = components(union(writes, missed)).filter(group => group.length > 1);
    return {anomalies: this.#anomalies, writeSkews: skews.length, reads: this.#reads};
  }

  /** Every committed write is there once and in its order, and no other. */
  #checkEnd(): void {
    const {attempts, final, sets} = this.#history;
    for (const [object, values] of final) {
      const writers = values.map(value => this.#writers.get(value));
      if (new Set(values).size < values.length) this.#anomalies.push(`twice: a value in ${object}`);
      for (const [at, writer] of writers.entries()) {
        if (writer?.committed === undefined) {
          this.#anomalies.push(`G1a: ${object} holds ${values[at]}, which nobody committed`);
        }
        const before = writers[at - 1];
        if (sets.has(object) || writer === undefined || before === undefined) continue;
        if (before !== writer) connect(this.#edges.behind, before.name, writer.name);
      }
    }
    for (const {name, steps, committed} of attempts) {
      if (committed === undefined) continue;
      for (const step of steps) {
        if (step.kind !== 'append' || final.get(step.object)?.includes(step.value)) continue;
        this.#anomalies.push(`P4: the write of ${step.value} to ${step.object} by ${name} is lost`);
      }
    }
  }

  #checkLooks(attempt: Attempt): void {
    const own = new Map<string, number[]>();
    let looks = 0;
    for (const step of attempt.steps) {
      if (step.kind === 'append') {
        own.set(step.object, [...(own.get(step.object) ?? []), step.value]);
        continue;
      }
      looks += 1;
      const isRepeatable = attempt.level === 'REPEATABLE_READ';
      // A statement of READ_COMMITTED is to see one state; the next one may see another.
      const reader = isRepeatable ? attempt.name : `statement ${looks} of ${attempt.name}`;
      const since = isRepeatable ? attempt.begun : step.begun;
      for (const [object, seen] of step.seen) {
        this.#reads += 1;
        const mine = own.get(object) ?? [];
        this.#checkSeen({attempt, reader, since, object, mine}, seen);
      }
    }
  }

  #checkSeen(look: SeenBy, seen: readonly number[] | number): void {
    const {attempt, reader, object, mine} = look;
    const all = (this.#history.final.get(object) ?? []).filter(
      value => this.#writers.get(value) !== attempt,
    );
    // Its own values are the last ones.
    const values = typeof seen === 'number' ? all.slice(0, seen - mine.length) : seen;
    const others = values.filter(value => this.#writers.get(value) !== attempt);
    if (typeof seen !== 'number' && values.length - others.length !== mine.length) {
      this.#anomalies.push(`own: ${reader} does not see what it wrote to ${object}`);
    }
    if (this.#isForeign(look, others)) return;
    const missing = this.#history.sets.has(object)
      ? all.filter(value => !others.includes(value))
      : all.slice(others.length);
    const inOrder =
      this.#history.sets.has(object) || others.every((value, at) => value === all[at]);
    if (!inOrder) this.#anomalies.push(`torn: ${reader} saw [${others.join()}] in ${object}`);
    this.#checkMissing(look, others, missing);
    this.#connectSeen(look, others, missing);
  }

  /** Whether it saw what was never committed. */
  #isForeign({reader, object}: SeenBy, others: readonly number[]): boolean {
    const wild = others.find(value => this.#writers.get(value)?.committed === undefined);
    if (wild === undefined) return false;
    this.#anomalies.push(`G1a: ${reader} saw ${wild} in ${object}, which nobody committed`);
    return true;
  }

  #checkMissing(
    {reader, since, object}: SeenBy,
    others: readonly number[],
    missing: readonly number[],
  ): void {
    const last = this.#writers.get(others.at(-1) ?? -1);
    const next = missing[0];
    const isList = !this.#history.sets.has(object);
    if (isList && last !== undefined && this.#writers.get(next ?? -1) === last) {
      this.#anomalies.push(`G1b: ${reader} saw ${object} in the middle of ${last.name}`);
    }
    for (const value of missing) {
      const writer = this.#writers.get(value);
      if (writer?.committed === undefined || writer.committed >= since) continue;
      this.#anomalies.push(
        `stale: ${reader} did not see ${writer.name}, committed before, in ${object}`,
      );
    }
  }

  #connectSeen(
    {attempt, reader, object}: SeenBy,
    others: readonly number[],
    missing: readonly number[],
  ): void {
    const isSet = this.#history.sets.has(object);
    for (const value of isSet ? others : others.slice(-1)) {
      const writer = this.#writers.get(value);
      if (writer === undefined) continue;
      connect(this.#edges.read, writer.name, reader);
      // What a transaction has read in any statement is behind what it writes.
      if (reader !== attempt.name) connect(this.#edges.read, writer.name, attempt.name);
    }
    for (const value of isSet ? missing : missing.slice(0, 1)) {
      const writer = this.#writers.get(value);
      if (writer !== undefined) connect(this.#edges.missed, reader, writer.name);
    }
  }

  #findCycle(anomaly: string, edges: readonly Map<string, Set<string>>[]): void {
    for (const group of components(union(...edges))) {
      if (group.length > 1) this.#anomalies.push(`${anomaly}: ${group.join(', ')} in a circle`);
    }
  }
}

interface SeenBy {
  readonly attempt: Attempt;
  readonly reader: string;
  /** Whatever was committed before is to be seen. */
  readonly since: number;
  readonly object: string;
  /** Values of its own in the object, up to here. */
  readonly mine: readonly number[];
}

type Graph = Map<string, Set<string>>;

function connect(graph: Graph, from: string, to: string): void {
  if (from === to) return;
  const known = graph.get(from);
  if (known === undefined) graph.set(from, new Set([to]));
  else known.add(to);
}

function union(...graphs: readonly Graph[]): Graph {
  const all: Graph = new Map();
  for (const graph of graphs) {
    for (const [from, targets] of graph) for (const to of targets) connect(all, from, to);
  }
  return all;
}

/** The shortest way, ends included. */
function pathBetween(graph: Graph, from: string, to: string): readonly string[] | undefined {
  const cameFrom = new Map<string, string | undefined>([[from, undefined]]);
  for (const node of cameFrom.keys()) {
    if (node === to) {
      const path: string[] = [];
      for (let at: string | undefined = to; at !== undefined; at = cameFrom.get(at))
        path.unshift(at);
      return path;
    }
    for (const next of graph.get(node) ?? []) if (!cameFrom.has(next)) cameFrom.set(next, node);
  }
  return undefined;
}

/** Strongly connected components: nodes of which each reaches each. Source: Tarjan (1972). */
function components(graph: Graph): readonly (readonly string[])[] {
  const found: string[][] = [];
  const place = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const open = new Set<string>();
  const visit = (node: string): void => {
    const at = place.size;
    place.set(node, at);
    lowest.set(node, at);
    stack.push(node);
    open.add(node);
    for (const next of graph.get(node) ?? []) {
      if (!place.has(next)) visit(next);
      if (!open.has(next)) continue;
      lowest.set(node, Math.min(lowest.get(node) ?? at, lowest.get(next) ?? at));
    }
    if (lowest.get(node) !== at) return;
    const group = stack.splice(stack.indexOf(node));
    for (const member of group) open.delete(member);
    found.push(group);
  };
  for (const node of graph.keys()) if (!place.has(node)) visit(node);
  return found;
}
