/**
 * What a `repeat` goes on with from a value, looked up once for each value.
 *
 * Where the body depends on nothing but the value, its answer is remembered; where it works row
 * by row as well, it runs for many values at once: the one asked for and those that will likely
 * be asked for next. Paths meet the same vertices again and again, so this turns a scan a path
 * into a scan a vertex.
 */
import {groupKey} from '#server/model/compare.ts';
import type {Value} from '#server/model/value.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {Batch, type Column, type Pause, pause} from '../../batch.ts';
import type {ExecutionContext} from '../../context.ts';
import type {Operator} from '../../operator.ts';
import {dependsOnlyOn, isRowWise, numbered, slotAbove} from '../row-plan.ts';

type Node = PlanNode & {readonly kind: 'repeat'};
export type ValueKey = string | number;

/** A value to go on with, and its key for comparing it. */
export interface Successor {
  readonly value: Value;
  readonly key: ValueKey;
}

/** Successors remembered; all are forgotten beyond. */
const rememberedMax = 200_000;
const rememberedBytes = 80;
/** Values that the body runs for at once, as long as they lead to few others. */
const valuesAtOnceMax = 256;
const foundAtOnceMax = 20_000;

/** How the body of a node may be run; made once a plan. */
export interface BodyShape {
  readonly body: Operator;
  readonly memorable: boolean;
  /** Slot for the number of the argument row, where the body can run for many. */
  readonly numberSlot: number | undefined;
}

export function bodyShape(node: Node, body: Operator): BodyShape {
  const memorable = dependsOnlyOn(node.body, node.loop);
  const many = memorable && isRowWise(node.body);
  const numberSlot = many ? Math.max(slotAbove(node.body), node.loop + 1) : undefined;
  return {body, memorable, numberSlot};
}

export class Successors {
  readonly #node: Node;
  readonly #shape: BodyShape;
  readonly #context: ExecutionContext;
  readonly #known = new Map<ValueKey, readonly Successor[]>();
  #remembered = 0;
  #readInAll = 0;
  #foundInAll = 0;

  constructor(node: Node, shape: BodyShape, context: ExecutionContext) {
    this.#node = node;
    this.#shape = shape;
    this.#context = context;
  }

  /** Undefined: not known yet, `read` finds out. */
  known(key: ValueKey): readonly Successor[] | undefined {
    return this.#known.get(key);
  }

  /** How many values `read` may be given: the one that is needed, and others. */
  get valuesAtOnce(): number {
    if (this.#shape.numberSlot === undefined || this.#context.writes !== undefined) return 1;
    const average = Math.max(1, this.#foundInAll / Math.max(1, this.#readInAll));
    // Nothing is known before the first value.
    const likely = this.#readInAll === 0 ? 1 : foundAtOnceMax / average;
    return Math.max(1, Math.min(valuesAtOnceMax, Math.floor(likely)));
  }

  /**
   * Runs the body for `wanted`: the first value's successors.
   *
   * @param argument - The row of the first value.
   */
  *read(
    wanted: readonly Successor[],
    argument: Batch,
  ): Generator<Pause, readonly Successor[], undefined> {
    const found: Successor[][] = wanted.map(() => []);
    const {numberSlot, body, memorable} = this.#shape;
    const many = numberSlot !== undefined && wanted.length > 1;
    const start = many ? this.#arguments(wanted, numberSlot) : argument;
    for (const result of body(this.#context, start)) {
      if (result === pause) {
        yield pause;
        continue;
      }
      for (let row = 0; row < result.rowCount; row++) {
        const value = result.get(this.#node.next, row);
        if (value === null) continue;
        const of = many ? (result.get(numberSlot, row) as number) : 0;
        found[of]?.push({value, key: groupKey(value)});
        this.#foundInAll++;
      }
    }
    this.#readInAll += wanted.length;
    if (memorable && this.#context.writes === undefined) this.#remember(wanted, found);
    return found[0] ?? [];
  }

  release(): void {
    this.#forget();
  }

  #arguments(wanted: readonly Successor[], numberSlot: number): Batch {
    const columns: (Column | undefined)[] = [];
    while (columns.length < this.#node.loop) columns.push(undefined);
    columns.push(wanted.map(({value}) => value));
    return numbered(new Batch(columns, wanted.length), numberSlot);
  }

  #remember(wanted: readonly Successor[], found: readonly (readonly Successor[])[]): void {
    let count = 0;
    for (const list of found) count += list.length + 1;
    if (count > rememberedMax) return;
    if (this.#remembered + count > rememberedMax) this.#forget();
    this.#context.budget.keep(count * rememberedBytes);
    this.#remembered += count;
    wanted.forEach(({key}, at) => this.#known.set(key, found[at] ?? []));
  }

  #forget(): void {
    this.#context.budget.release(this.#remembered * rememberedBytes);
    this.#known.clear();
    this.#remembered = 0;
  }
}
