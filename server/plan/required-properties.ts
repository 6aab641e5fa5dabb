/**
 * Which properties of records a plan reads, so that those whose values are dear to read
 * (layout/compressed-value.ts) are read at once for a batch of records, and others not at all.
 *
 * A guess that is never wrong to follow: a property that is not named here and is asked for
 * nevertheless, by a function say, is read then. Only what leaves the plan must be whole.
 */
import type {Expression, Slot} from './expression.ts';
import {functionSignature} from './function-table.ts';
import type {Output, PlanNode} from './node.ts';
import {expressionsOf, inputsOf, ownSlots, partsOf} from './tree.ts';

/**
 * The names of the properties that are asked for; undefined where records leave the plan as they
 * are, so that all are. Cost: a walk over the plan.
 */
export function requiredProperties(plan: PlanNode): ReadonlySet<string> | undefined {
  const walk = new Walk();
  walk.plan(plan);
  return walk.outputs.some(output => walk.givesRecords(output)) ? undefined : walk.names;
}

class Walk {
  readonly names = new Set<string>();
  readonly outputs: Output[] = [];
  /** Slots that hold stored records alone. */
  readonly #records = new Set<Slot>();
  /** Slots that hold values of properties, numbers, ids and the like, and never a record. */
  readonly #plain = new Set<Slot>();

  /** Inputs first: what a slot holds is known when it is read above. */
  plan(node: PlanNode): void {
    for (const input of inputsOf(node)) this.plan(input);
    if (bindsRecords(node)) for (const slot of ownSlots(node)) this.#records.add(slot);
    for (const expression of expressionsOf(node)) this.#note(expression);
    switch (node.kind) {
      case 'project':
        this.outputs.push(node.output);
        return;
      case 'extend':
        for (const {slot, value} of node.bind) {
          if (this.#isRecord(value)) this.#records.add(slot);
          this.#bind(slot, this.#mayBeRecord(value));
        }
        return;
      case 'aggregate':
        for (const {slot, value} of node.keys) this.#bind(slot, this.#mayBeRecord(value));
        for (const {slot, name, args} of node.aggregates) {
          this.#bind(slot, name !== 'count' && args.some(arg => this.#mayBeRecord(arg)));
        }
        return;
      case 'unnest':
        this.#bind(node.slot, this.#mayBeRecord(node.list));
        return;
      case 'index-range':
        for (const part of node.parts ?? []) if (part !== undefined) this.#bind(part, false);
        return;
      case 'degree':
        this.#bind(node.slot, false);
        return;
      default:
    }
  }

  givesRecords(output: Output): boolean {
    if (output.kind === 'element') return !this.#plain.has(output.slot);
    return output.columns.some(column => !('value' in column) || this.#mayBeRecord(column.value));
  }

  #bind(slot: Slot, mayBeRecord: boolean): void {
    if (mayBeRecord) this.#plain.delete(slot);
    else this.#plain.add(slot);
  }

  #note(expression: Expression): void {
    if (expression.kind === 'property') this.names.add(expression.name);
    if (expression.kind === 'subplan') this.plan(expression.plan);
    for (const part of partsOf(expression)) this.#note(part);
  }

  #isRecord(expression: Expression): boolean {
    return expression.kind === 'slot' && this.#records.has(expression.slot);
  }

  /** Whether the value may be a record, or hold one, or all the properties of one. */
  #mayBeRecord(expression: Expression): boolean {
    switch (expression.kind) {
      case 'literal':
      case 'parameter':
      case 'defined':
      case 'and':
      case 'or':
      case 'not':
      case 'is-null':
        return false;
      case 'slot':
        return !this.#plain.has(expression.slot);
      case 'attribute':
        return expression.attribute === 'this' || expression.attribute === 'properties';
      case 'property':
        // What a record stores holds no record; a list or map that was made may.
        return !this.#isRecord(expression.of) && this.#mayBeRecord(expression.of);
      case 'call':
        return findsRecords(expression.name) || expression.args.some(arg => this.#mayBeRecord(arg));
      default:
        return true;
    }
  }
}

/** Whether every slot that the node binds holds records alone. */
function bindsRecords(node: PlanNode): boolean {
  switch (node.kind) {
    case 'scan-type':
    case 'scan-bucket':
    case 'index-point':
    case 'follow':
    case 'connect':
    case 'frontier':
      return true;
    case 'index-range':
      return node.parts === undefined;
    case 'records':
      return !node.loose;
    default:
      return false;
  }
}

/** Whether the function may answer records that are not among its arguments. */
function findsRecords(name: string): boolean {
  const needs = functionSignature(name)?.needs ?? 'graph';
  return needs === 'graph' || needs === 'database';
}
