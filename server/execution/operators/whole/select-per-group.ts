/**
 * `select-per-group`: of the rows of each tuple those of least measure, so many of them or so many
 * measures.
 *
 * Nothing is passed on before the whole input was read; what is kept is what would be the answer
 * so far, so memory follows the answer and not the input. Selecting among the paths between two
 * nodes is Cypher's alone: SQL has no words for it.
 */
import {joinKeys} from '#server/model/compare.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {type Batch, BatchBuilder, pause, unitBatch} from '../../batch.ts';
import {RowCursor} from '../../closure.ts';
import type {ExecutionContext} from '../../context.ts';
import type {Operator, Preparation} from '../../operator.ts';
import {estimateBatch} from '../../expressions/value-size.ts';

type Node = PlanNode & {readonly kind: 'select-per-group'};

export function prepareSelectPerGroup(node: Node, preparation: Preparation): Operator {
  const input = preparation.prepare(node.input);
  const by = node.by.map(expression => preparation.expression(expression));
  const measure = preparation.expression(node.measure);
  return function* selectPerGroup(context, argument) {
    const cursor = new RowCursor(context, unitBatch);
    const groups = new Map<string, Group>();
    const memory = new Memory(context);
    try {
      for (const batch of input(context, argument)) {
        if (batch === pause) {
          yield pause;
          continue;
        }
        cursor.enter(batch);
        for (let row = 0; row < batch.rowCount; row++) {
          cursor.row = row;
          const key = joinKeys(by.map(closure => closure(cursor)));
          const group = groups.get(key) ?? new Group(node, memory);
          groups.set(key, group);
          group.offer(Number(measure(cursor)), batch, row);
          if (context.budget.spend(1)) yield pause;
        }
      }
      const builder = new BatchBuilder();
      for (const group of groups.values()) {
        for (const row of group.rows()) {
          builder.copy(row, 0);
          if (builder.rowCount >= context.batchRows) yield builder.take();
        }
        if (context.budget.spend(1)) yield pause;
      }
      if (builder.rowCount > 0) yield builder.take();
    } finally {
      memory.release();
    }
  };
}

class Memory {
  readonly #context: ExecutionContext;
  #bytes = 0;

  constructor(context: ExecutionContext) {
    this.#context = context;
  }

  keep(row: Batch): void {
    const bytes = estimateBatch(row);
    this.#context.budget.keep(bytes);
    this.#bytes += bytes;
  }

  drop(row: Batch): void {
    const bytes = estimateBatch(row);
    this.#context.budget.release(bytes);
    this.#bytes -= bytes;
  }

  release(): void {
    this.#context.budget.release(this.#bytes);
    this.#bytes = 0;
  }
}

/** The rows of one tuple, by measure. */
class Group {
  readonly #node: Node;
  readonly #memory: Memory;
  /** Ascending; each holds at least one row. */
  readonly #levels: {readonly measure: number; readonly rows: Batch[]}[] = [];
  #count = 0;

  constructor(node: Node, memory: Memory) {
    this.#node = node;
    this.#memory = memory;
  }

  offer(measure: number, batch: Batch, row: number): void {
    const levels = this.#levels;
    let at = levels.length;
    while (at > 0 && (levels[at - 1]?.measure ?? 0) > measure) at--;
    const isKnown = levels[at - 1]?.measure === measure;
    const {count, ties} = this.#node;
    const isFull = ties ? !isKnown && levels.length >= count : this.#count >= count;
    if (isFull && at === levels.length) return;
    const kept = batch.row(row);
    this.#memory.keep(kept);
    this.#count++;
    if (isKnown) levels[at - 1]?.rows.push(kept);
    else levels.splice(at, 0, {measure, rows: [kept]});
    if (isFull) this.#trim();
  }

  /** One too many, or one level too many, goes. */
  #trim(): void {
    const levels = this.#levels;
    const rows = levels.at(-1)?.rows ?? [];
    const dropped = this.#node.ties ? rows.splice(0) : rows.splice(-1);
    for (const row of dropped) this.#memory.drop(row);
    this.#count -= dropped.length;
    if (rows.length === 0) levels.pop();
  }

  *rows(): Generator<Batch, void, undefined> {
    for (const {rows} of this.#levels) yield* rows;
  }
}
