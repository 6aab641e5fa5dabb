/**
 * Where functions' implementations are found: by name, in the families given.
 *
 * A family is a plain record of functions (`functions/<family>.ts`); the registry is a value
 * made from families once, in the wiring, and ignores case as the signatures do. Scalar
 * functions and methods get values (a method its receiver first) and answer one; null arguments
 * arrive only where the signature says `handled`. Aggregates are state machines: `step` may
 * change its state in place. Table functions yield rows in the order of their `outputs`.
 */
import {assert} from '#server/base/assert.ts';
import type {NumberValue} from '#server/model/number.ts';
import type {Value} from '#server/model/value.ts';
import {functionSignature} from '#server/plan/function-table.ts';
import type {CallContext, ExecutionContext} from './context.ts';

export type ScalarFunction = (args: readonly Value[], call: CallContext) => Value;

/**
 * What many numbers at once do to the state of a group, where that is simpler than a step for each
 * of them; `S` is the state. `extreme`: of the numbers only the least or greatest needs a step.
 */
export type NumbersAtOnce<S = unknown> =
  | {readonly kind: 'count'; readonly counted: (state: S, count: number) => S}
  | {
      readonly kind: 'sum';
      /** What the numbers are added to, in their order; null: there was none yet. */
      readonly total: (state: S) => NumberValue | null;
      readonly added: (state: S, total: NumberValue, count: number) => S;
    }
  | {readonly kind: 'extreme'; readonly sign: 1 | -1};

export interface AggregateFunction {
  /** The state of a group before its first row. */
  init(): unknown;
  /** Takes one row's arguments; answers the state that follows. */
  step(state: unknown, args: readonly Value[], call: CallContext): unknown;
  finish(state: unknown, call: CallContext): Value;
  readonly numbers?: NumbersAtOnce | undefined;
}

/** An aggregate with a state of its own type; the cast lives here alone. */
export function aggregate<S>(definition: {
  init(): S;
  step(state: S, args: readonly Value[], call: CallContext): S;
  finish(state: S, call: CallContext): Value;
  readonly numbers?: NumbersAtOnce<S>;
}): AggregateFunction {
  return {
    init: () => definition.init(),
    step: (state, args, call) => definition.step(state as S, args, call),
    finish: (state, call) => definition.finish(state as S, call),
    numbers: definition.numbers as NumbersAtOnce | undefined,
  };
}

export interface TableFunction {
  readonly outputs: readonly string[];
  rows(args: readonly Value[], context: ExecutionContext): Iterable<readonly Value[]>;
}

export interface FunctionFamily {
  readonly scalars?: Readonly<Record<string, ScalarFunction>>;
  readonly aggregates?: Readonly<Record<string, AggregateFunction>>;
  readonly tables?: Readonly<Record<string, TableFunction>>;
}

export class FunctionRegistry {
  readonly #scalars: ReadonlyMap<string, ScalarFunction>;
  readonly #aggregates: ReadonlyMap<string, AggregateFunction>;
  readonly #tables: ReadonlyMap<string, TableFunction>;

  constructor(families: readonly FunctionFamily[]) {
    this.#scalars = byName(families.map(family => family.scalars ?? {}));
    this.#aggregates = byName(families.map(family => family.aggregates ?? {}));
    this.#tables = byName(families.map(family => family.tables ?? {}));
  }

  scalar(name: string): ScalarFunction | undefined {
    return lookUp(this.#scalars, name);
  }

  aggregate(name: string): AggregateFunction | undefined {
    return lookUp(this.#aggregates, name);
  }

  table(name: string): TableFunction | undefined {
    return lookUp(this.#tables, name);
  }

  /** Every name that has an implementation, in lower case. */
  names(): ReadonlySet<string> {
    return new Set([...this.#scalars.keys(), ...this.#aggregates.keys(), ...this.#tables.keys()]);
  }
}

function byName<F>(records: readonly Readonly<Record<string, F>>[]): ReadonlyMap<string, F> {
  const map = new Map<string, F>();
  for (const record of records) {
    for (const [name, implementation] of Object.entries(record)) {
      const key = name.toLowerCase();
      assert(!map.has(key), `the function ${name} is implemented once`);
      map.set(key, implementation);
    }
  }
  return map;
}

/** Looks a function up by the name as called, or by the one its signature gives an alias. */
function lookUp<F>(map: ReadonlyMap<string, F>, name: string): F | undefined {
  const known = map.get(name.toLowerCase());
  if (known !== undefined) return known;
  const signature = functionSignature(name);
  return signature && map.get(signature.name.toLowerCase());
}
