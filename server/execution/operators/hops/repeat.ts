/**
 * `repeat`: from each row of the input, the values reached by running the body again and again.
 *
 * A value is visited: its `while` is checked with loop, depth and path bound; it is emitted when
 * deep enough; it is expanded unless too deep. Depth first keeps a stack of the successors not
 * yet visited, breadth first a queue; both visit in the order that the body gave. Uniqueness is
 * decided at the visit, so a value that `while` refused on one way may be visited on another.
 * What a value leads to is looked up in successors.ts.
 *
 * Only SQL goes on by a condition of what was reached; the lengths of Cypher are `walk`.
 */
import {groupKey} from '#server/model/compare.ts';
import type {Value} from '#server/model/value.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {Batch, BatchBuilder, type Column, pause} from '../../batch.ts';
import type {ExecutionContext} from '../../context.ts';
import {RowCursor, type Test} from '../../closure.ts';
import type {Batches, Operator, Preparation} from '../../operator.ts';
import {bodyShape, type Successor, Successors, type ValueKey} from './successors.ts';

type Node = PlanNode & {readonly kind: 'repeat'};

/** A value to visit, with the way that led to it. */
interface Visit extends Successor {
  readonly depth: number;
  readonly from: Visit | undefined;
}

const visitBytes = 100;

export function prepareRepeat(node: Node, preparation: Preparation): Operator {
  const input = preparation.prepare(node.input);
  const shape = bodyShape(node, preparation.prepare(node.body));
  const whileTest = node.whileCondition && preparation.condition(node.whileCondition);
  return function* repeat(context, argument) {
    const seenGlobally = new Set<ValueKey>();
    const successors = new Successors(node, shape, context);
    try {
      for (const batch of input(context, argument)) {
        if (batch === pause) {
          yield pause;
          continue;
        }
        for (let row = 0; row < batch.rowCount; row++) {
          const seen = node.unique === 'global' ? seenGlobally : new Set<ValueKey>();
          const start = batch.row(row);
          const run = new RepeatRun({node, successors, whileTest, context, start, seen});
          yield* run.rows();
        }
      }
    } finally {
      successors.release();
    }
  };
}

class RepeatRun {
  readonly #node: Node;
  readonly #successors: Successors;
  readonly #whileTest: Test | undefined;
  readonly #context: ExecutionContext;
  readonly #start: Batch;
  readonly #seen: Set<ValueKey>;
  /** The start row with the visit's cells in place of its own; they change from visit to visit. */
  readonly #columns: (Column | undefined)[];
  readonly #loopCell: Value[] = [null];
  readonly #depthCell: Value[] = [null];
  readonly #pathCell: Value[] = [null];
  readonly #cursor: RowCursor;

  constructor(parts: {
    readonly node: Node;
    readonly successors: Successors;
    readonly whileTest: Test | undefined;
    readonly context: ExecutionContext;
    readonly start: Batch;
    readonly seen: Set<ValueKey>;
  }) {
    const {node, start} = parts;
    this.#node = node;
    this.#successors = parts.successors;
    this.#whileTest = parts.whileTest;
    this.#context = parts.context;
    this.#start = start;
    this.#seen = parts.seen;
    this.#columns = [...start.columns];
    this.#put(node.loop, this.#loopCell);
    this.#put(node.depth, this.#depthCell);
    if (node.path !== undefined) this.#put(node.path, this.#pathCell);
    this.#cursor = new RowCursor(parts.context, new Batch(this.#columns, 1));
  }

  #put(slot: number, cell: Value[]): void {
    while (this.#columns.length < slot) this.#columns.push(undefined);
    this.#columns[slot] = cell;
  }

  *rows(): Batches {
    const context = this.#context;
    const {order, loop, depthMin} = this.#node;
    const builder = new BatchBuilder();
    const row = new Batch(this.#columns, 1);
    const first = this.#start.get(loop, 0);
    // Depth first takes from the end of the agenda, so successors are put there reversed.
    const agenda: Visit[] = [{value: first, key: groupKey(first), depth: 0, from: undefined}];
    let head = 0;
    let kept = 0;
    try {
      for (;;) {
        const visit = order === 'depth-first' ? agenda.pop() : agenda[head++];
        if (visit === undefined) break;
        if (context.budget.spend(1)) yield pause;
        const visited = this.#visit(visit);
        if (visited === 'passed over') continue;
        if (visit.depth >= depthMin) builder.copy(row, 0);
        if (builder.rowCount >= context.batchRows) yield builder.take();
        if (visited === 'end') continue;
        const successors =
          this.#successors.known(visit.key) ??
          (yield* this.#successors.read(this.#wanted(visit, agenda, head), this.#argument()));
        context.budget.keep(successors.length * visitBytes);
        kept += successors.length * visitBytes;
        const depth = visit.depth + 1;
        const count = successors.length;
        for (let at = 0; at < count; at++) {
          const {value, key} = successors[order === 'depth-first' ? count - 1 - at : at] as Visit;
          agenda.push({value, key, depth, from: visit});
        }
      }
      if (builder.rowCount > 0) yield builder.take();
    } finally {
      context.budget.release(kept);
    }
  }

  /** Puts the visit into the row; what becomes of it. */
  #visit(visit: Visit): 'passed over' | 'end' | 'expand' {
    const {depthMax, unique, emitOnFail, path} = this.#node;
    const {value, key, depth} = visit;
    if (value === null) return 'passed over';
    if (unique === 'path' && isOnPath(visit)) return 'passed over';
    const once = unique === 'global' || unique === 'start';
    if (once && this.#seen.has(key)) return 'passed over';
    this.#loopCell[0] = value;
    this.#depthCell[0] = depth;
    if (path !== undefined) this.#pathCell[0] = pathOf(visit);
    const holds = this.#whileTest === undefined || this.#whileTest(this.#cursor);
    if (!holds && !emitOnFail) return 'passed over';
    if (once) this.#seen.add(key);
    return holds && (depthMax === undefined || depth < depthMax) ? 'expand' : 'end';
  }

  /** The row as it is now, for the body to keep. */
  #argument(): Batch {
    return new Batch(
      this.#columns.map(column => column && [...column]),
      1,
    );
  }

  /** The visit, and others of its depth that wait: they will likely be expanded too. */
  #wanted(visit: Visit, agenda: readonly Visit[], head: number): readonly Successor[] {
    const {valuesAtOnce} = this.#successors;
    if (valuesAtOnce === 1) return [visit];
    const wanted = new Map<ValueKey, Successor>([[visit.key, visit]]);
    const step = this.#node.order === 'depth-first' ? -1 : 1;
    for (let at = step < 0 ? agenda.length - 1 : head; wanted.size < valuesAtOnce; at += step) {
      const next = agenda[at];
      if (next === undefined || next.depth !== visit.depth) break;
      if (next.value !== null && this.#successors.known(next.key) === undefined) {
        wanted.set(next.key, next);
      }
    }
    return [...wanted.values()];
  }
}

function pathOf(visit: Visit): Value[] {
  const path: Value[] = [];
  for (let at: Visit | undefined = visit; at !== undefined; at = at.from) path.push(at.value);
  return path.reverse();
}

function isOnPath({key, from}: Visit): boolean {
  for (let at = from; at !== undefined; at = at.from) if (at.key === key) return true;
  return false;
}
