/**
 * `repeat`: from each row of the input, the values reached by running the body again and again.
 *
 * A value is visited: its `while` is checked with loop, depth and path bound; it is emitted when
 * deep enough; it is expanded unless too deep. Depth first keeps a stack of the successors not
 * yet visited, breadth first a queue; both visit in the order that the body gave. Uniqueness is
 * decided at the visit, so a value that `while` refused on one way may be visited on another.
 */
import {groupKey} from '#server/model/compare.ts';
import type {Value} from '#server/model/value.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {Batch, BatchBuilder, type Column} from '../batch.ts';
import type {ExecutionContext} from '../context.ts';
import {Frame, type Test} from '../closure.ts';
import {type Batches, type Operator, type Pause, pause, type Preparation} from '../operator.ts';

type Node = PlanNode & {readonly kind: 'repeat'};

/** A value to visit, with the way that led to it. */
interface Visit {
  readonly value: Value;
  readonly depth: number;
  readonly from: Visit | undefined;
}

const visitBytes = 100;

export function prepareRepeat(node: Node, preparation: Preparation): Operator {
  const input = preparation.prepare(node.input);
  const body = preparation.prepare(node.body);
  const whileTest = node.whileCondition && preparation.condition(node.whileCondition);
  return function* repeat(context, argument) {
    const seenGlobally = new Set<string | number>();
    for (const batch of input(context, argument)) {
      if (batch === pause) {
        yield pause;
        continue;
      }
      for (let row = 0; row < batch.rowCount; row++) {
        const seen = node.unique === 'global' ? seenGlobally : new Set<string | number>();
        const run = new RepeatRun({node, body, whileTest, context, start: batch.row(row), seen});
        yield* run.rows();
      }
    }
  };
}

class RepeatRun {
  readonly #node: Node;
  readonly #body: Operator;
  readonly #whileTest: Test | undefined;
  readonly #context: ExecutionContext;
  readonly #start: Batch;
  readonly #seen: Set<string | number>;

  constructor(parts: {
    readonly node: Node;
    readonly body: Operator;
    readonly whileTest: Test | undefined;
    readonly context: ExecutionContext;
    readonly start: Batch;
    readonly seen: Set<string | number>;
  }) {
    this.#node = parts.node;
    this.#body = parts.body;
    this.#whileTest = parts.whileTest;
    this.#context = parts.context;
    this.#start = parts.start;
    this.#seen = parts.seen;
  }

  *rows(): Batches {
    const context = this.#context;
    const {order, loop} = this.#node;
    const builder = new BatchBuilder();
    // Depth first takes from the end of the agenda, so successors are put there reversed.
    const agenda: Visit[] = [{value: this.#start.get(loop, 0), depth: 0, from: undefined}];
    let head = 0;
    let kept = 0;
    try {
      for (;;) {
        const visit = order === 'depth-first' ? agenda.pop() : agenda[head++];
        if (visit === undefined) break;
        const row = this.#visit(visit);
        if (row === undefined) continue;
        if (visit.depth >= this.#node.depthMin) builder.copy(row.batch, 0);
        if (builder.rowCount >= context.batchRows) yield builder.take();
        if (!row.expand) continue;
        const successors = yield* this.#successors(visit, row.batch);
        context.budget.keep(successors.length * visitBytes);
        kept += successors.length * visitBytes;
        if (order === 'depth-first') successors.reverse();
        for (const successor of successors) agenda.push(successor);
        if (context.budget.spend(4)) yield pause;
      }
      if (builder.rowCount > 0) yield builder.take();
    } finally {
      context.budget.release(kept);
    }
  }

  /** The row to emit and whether to go on from it; undefined when the value is not visited. */
  #visit(visit: Visit): {readonly batch: Batch; readonly expand: boolean} | undefined {
    const {depthMax, unique, emitOnFail} = this.#node;
    if (visit.value === null) return undefined;
    const key = groupKey(visit.value);
    if (unique === 'path' && isOnPath(visit, key)) return undefined;
    const once = unique === 'global' || unique === 'start';
    if (once && this.#seen.has(key)) return undefined;
    const batch = this.#bind(visit);
    const frame = new Frame(this.#context, batch);
    const holds = this.#whileTest === undefined || this.#whileTest(frame);
    if (!holds && !emitOnFail) return undefined;
    if (once) this.#seen.add(key);
    return {batch, expand: holds && (depthMax === undefined || visit.depth < depthMax)};
  }

  #bind(visit: Visit): Batch {
    const {loop, depth, path} = this.#node;
    const columns: (Column | undefined)[] = [...this.#start.columns];
    const put = (slot: number, value: Value): void => {
      while (columns.length < slot) columns.push(undefined);
      columns[slot] = [value];
    };
    put(loop, visit.value);
    put(depth, visit.depth);
    if (path !== undefined) put(path, pathOf(visit));
    return new Batch(columns, 1);
  }

  *#successors(visit: Visit, batch: Batch): Generator<Pause, Visit[], undefined> {
    const successors: Visit[] = [];
    for (const result of this.#body(this.#context, batch)) {
      if (result === pause) {
        yield pause;
        continue;
      }
      for (let row = 0; row < result.rowCount; row++) {
        const value = result.get(this.#node.next, row);
        if (value !== null) successors.push({value, depth: visit.depth + 1, from: visit});
      }
    }
    return successors;
  }
}

function pathOf(visit: Visit): Value[] {
  const path: Value[] = [];
  for (let at: Visit | undefined = visit; at !== undefined; at = at.from) path.push(at.value);
  return path.reverse();
}

function isOnPath(visit: Visit, key: string | number): boolean {
  for (let at = visit.from; at !== undefined; at = at.from) {
    if (groupKey(at.value) === key) return true;
  }
  return false;
}
