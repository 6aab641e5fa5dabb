/**
 * `chain`: a part of a path again and again, each round from where the one before ended.
 *
 * Depth first over an explicit stack of half-read rounds, as `walk` does for single hops; what a
 * round finds is asked once a visit. Patterns with repeated parts are Cypher's alone: SQL's MATCH
 * says `while` of one hop, which `repeat` runs.
 */
import type {Rid, Value} from '#server/model/value.ts';
import type {Slot} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {type Batch, BatchBuilder, type Pause, pause} from '../batch.ts';
import type {ExecutionContext} from '../context.ts';
import type {Batches, Operator, Preparation} from '../operator.ts';
import {type RidKey, ridKey, ridOf, withRecords} from './hops/vertex-ids.ts';

type Node = PlanNode & {readonly kind: 'chain'};

/** One round, as the body found it. */
interface Round {
  readonly end: Rid;
  /** What may not be met twice. */
  readonly marks: readonly RidKey[];
  readonly edges: readonly Value[];
  readonly values: readonly Value[];
}

export function prepareChain(node: Node, preparation: Preparation): Operator {
  const input = preparation.prepare(node.input);
  const body = preparation.prepare(node.body);
  const loadsStart = !preparation.idSuffices(node.start);
  const loadsEnd = !preparation.idSuffices(node.to);
  const complete = (batch: Batch, {graph}: ExecutionContext): Batch =>
    loadsEnd ? withRecords(batch, node.to, graph) : batch;
  return function* chain(context, argument) {
    const builder = new BatchBuilder();
    for (const batch of input(context, argument)) {
      if (batch === pause) {
        yield pause;
        continue;
      }
      for (let row = 0; row < batch.rowCount; row++) {
        const start = ridOf(batch.get(node.from, row));
        if (start === undefined) continue;
        const run = new ChainRun({node, body, loadsStart, context, row: batch.row(row), builder});
        for (const full of run.from(start)) yield full === pause ? pause : complete(full, context);
      }
      if (builder.rowCount > 0) yield complete(builder.take(), context);
    }
  };
}

interface Parts {
  readonly node: Node;
  readonly body: Operator;
  /** Whether a round asks more of its first vertex than its id. */
  readonly loadsStart: boolean;
  readonly context: ExecutionContext;
  /** The row of the input, alone. */
  readonly row: Batch;
  readonly builder: BatchBuilder;
}

class ChainRun {
  readonly #parts: Parts;
  readonly #used = new Set<RidKey>();
  readonly #rounds: Round[] = [];

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  *from(start: Rid): Batches {
    const {node, builder, context} = this.#parts;
    if (node.mode === 'acyclic') this.#used.add(ridKey(start));
    if (node.depthMin === 0) this.#emit(start);
    const stack = [{rounds: yield* this.#roundsFrom(start), next: 0}];
    for (;;) {
      const level = stack.at(-1);
      if (level === undefined) return;
      const round = level.rounds[level.next++];
      if (round === undefined) {
        stack.pop();
        for (const mark of this.#rounds.pop()?.marks ?? []) this.#used.delete(mark);
        continue;
      }
      if (context.budget.spend(2)) yield pause;
      if (round.marks.some(mark => this.#used.has(mark))) continue;
      for (const mark of round.marks) this.#used.add(mark);
      this.#rounds.push(round);
      if (this.#rounds.length >= node.depthMin) this.#emit(round.end);
      if (builder.rowCount >= context.batchRows) yield builder.take();
      stack.push({rounds: yield* this.#roundsFrom(round.end), next: 0});
    }
  }

  #emit(end: Rid): void {
    const {node, row, builder} = this.#parts;
    builder.copy(row, 0);
    builder.set(node.to, end);
    builder.set(
      node.edges,
      this.#rounds.flatMap(round => round.edges),
    );
    node.lists.forEach(({to}, at) => {
      builder.set(
        to,
        this.#rounds.map(round => round.values[at] ?? null),
      );
    });
  }

  /** The rounds that begin at a vertex; none beyond the greatest depth. */
  *#roundsFrom(vertex: Rid): Generator<Pause, readonly Round[], undefined> {
    const {node, body, loadsStart, context, row} = this.#parts;
    if (node.depthMax !== undefined && this.#rounds.length >= node.depthMax) return [];
    const rounds: Round[] = [];
    const start = loadsStart ? context.graph.record(vertex) : vertex;
    if (start === undefined) return [];
    for (const batch of body(context, row.with(node.start, [start]))) {
      if (batch === pause) yield pause;
      else for (let at = 0; at < batch.rowCount; at++) rounds.push(...this.#round(batch, at));
    }
    return rounds;
  }

  /** The round in a row; none when it meets itself. */
  #round(batch: Batch, row: number): readonly Round[] {
    const {node} = this.#parts;
    const end = ridOf(batch.get(node.end, row));
    const marks = marksOf(node).flatMap(slot => {
      const rid = ridOf(batch.get(slot, row));
      return rid === undefined ? [] : [ridKey(rid)];
    });
    if (end === undefined || new Set(marks).size < marks.length) return [];
    const read = (slot: Slot): Value => batch.get(slot, row);
    const values = node.lists.map(list => read(list.from));
    return [{end, marks, edges: node.bodyEdges.map(read), values}];
  }
}

function marksOf(node: Node): readonly Slot[] {
  if (node.mode === 'walk') return [];
  return node.mode === 'trail' ? node.bodyEdges : node.bodyVertices;
}
