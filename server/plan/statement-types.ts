/**
 * What is known of the values that a statement gives and wants, before it runs: for protocols that
 * say so before the first row.
 *
 * A type is that of the property that a column shows, or that a parameter is compared with or
 * assigned to. Undefined means any: most expressions may give values of several types.
 */
import type {Catalog} from '#server/catalog/catalog.ts';
import type {DataType} from '#server/model/data-type.ts';
import type {Expression, Slot} from './expression.ts';
import type {Assignment, Output, PlanNode} from './node.ts';
import {expressionsOf, visitExpression, visitPlan} from './tree.ts';

export interface TypedName {
  readonly name: string;
  /** Undefined: any. */
  readonly type: DataType | undefined;
}

export interface StatementTypes {
  /** Undefined where a row is one value, or its columns are known by looking. */
  readonly columns: readonly TypedName[] | undefined;
  /** Positional ones in their order, named ones by name. */
  readonly parameters: readonly TypedName[];
}

/** Functions both of whose arguments are of one type, or meant to be. */
const comparisons: ReadonlySet<string> = new Set(
  (
    'equal same notEqual differs nullSafeEqual in between less lessOrEqual greater ' +
    'greaterOrEqual before notAfter after notBefore'
  )
    .split(' ')
    .map(name => `op:${name}`),
);

/**
 * @param mayRead - Of a type that the caller may not read nothing is told.
 */
export function statementTypes(
  plan: PlanNode,
  output: Output,
  catalog: Catalog,
  mayRead: (type: string) => boolean,
): StatementTypes {
  const known = new KnownTypes(catalog, mayRead);
  visitPlan(plan, node => known.bind(node));
  visitPlan(plan, node => known.look(node));
  return {columns: columnsOf(output, known), parameters: known.parameters()};
}

function columnsOf(output: Output, known: KnownTypes): readonly TypedName[] | undefined {
  if (output.kind === 'element') return undefined;
  const named = output.columns.flatMap(column => ('name' in column ? [column] : []));
  if (named.length < output.columns.length) return undefined;
  // Of several columns with one name the last value stands in the first one's place.
  const columns = new Map<string, TypedName>();
  for (const {name, value} of named) columns.set(name, {name, type: known.typeOf(value)});
  return [...columns.values()];
}

class KnownTypes {
  readonly #catalog: Catalog;
  readonly #mayRead: (type: string) => boolean;
  /** Types of the records in slots; null where it may be one of several. */
  readonly #slots = new Map<Slot, string | null>();
  readonly #aggregates = new Map<Slot, DataType>();
  readonly #parameters = new Map<string, DataType | undefined>();

  constructor(catalog: Catalog, mayRead: (type: string) => boolean) {
    this.#catalog = catalog;
    this.#mayRead = mayRead;
  }

  parameters(): readonly TypedName[] {
    return Array.from(this.#parameters, ([name, type]) => ({name, type})).sort(byPosition);
  }

  /** Notes what a node puts into its slots. */
  bind(node: PlanNode): void {
    if (node.kind === 'scan-type') this.#bindSlot(node.slot, node.type);
    else if (node.kind === 'create' || node.kind === 'upsert') {
      this.#bindSlot(node.slot, node.type);
    } else if (node.kind === 'index-point' || node.kind === 'index-range') {
      this.#bindSlot(node.slot, this.#typeOfIndex(node.index));
    } else if (node.kind === 'aggregate') {
      for (const {slot, name} of node.aggregates) {
        if (name === 'count') this.#aggregates.set(slot, 'LONG');
      }
    }
  }

  /** Notes the parameters of a node. */
  look(node: PlanNode): void {
    if (node.kind === 'index-point') {
      const names = this.#catalog.index(node.index)?.properties ?? [];
      const type = this.#typeOfIndex(node.index);
      for (const [at, key] of node.keys.entries()) {
        this.#parameter(key, this.#property(type, names[at]?.name));
      }
    }
    if (node.kind === 'create') this.#assigned(node.type, node.assignments);
    if (node.kind === 'upsert' || node.kind === 'change') {
      this.#assigned(this.#slots.get(node.slot) ?? undefined, node.assignments);
    }
    for (const expression of expressionsOf(node)) {
      visitExpression(expression, part => this.#expression(part));
    }
  }

  /** The type of what an expression gives; undefined: any. */
  typeOf(expression: Expression): DataType | undefined {
    if (expression.kind === 'slot') return this.#aggregates.get(expression.slot);
    if (expression.kind !== 'property' || expression.each || expression.of.kind !== 'slot') {
      return undefined;
    }
    return this.#property(this.#slots.get(expression.of.slot) ?? undefined, expression.name);
  }

  #bindSlot(slot: Slot, type: string | undefined): void {
    const before = this.#slots.get(slot);
    const isSame = before === undefined || before === type;
    this.#slots.set(slot, isSame && type !== undefined ? type : null);
  }

  #typeOfIndex(name: string): string | undefined {
    const index = this.#catalog.index(name);
    return index && this.#catalog.typeById(index.typeId)?.name;
  }

  #property(type: string | undefined, name: string | undefined): DataType | undefined {
    if (type === undefined || name === undefined || !this.#mayRead(type)) return undefined;
    return this.#catalog.type(type)?.properties.get(name)?.type;
  }

  #assigned(type: string | undefined, assignments: readonly Assignment[]): void {
    for (const assignment of assignments) {
      if (assignment.kind !== 'set') continue;
      this.#parameter(assignment.value, this.#property(type, assignment.name));
    }
  }

  #expression(part: Expression): void {
    if (part.kind === 'parameter') this.#parameter(part, undefined);
    if (part.kind !== 'call' || !comparisons.has(part.name)) return;
    const type = part.args.map(arg => this.typeOf(arg)).find(one => one !== undefined);
    for (const arg of part.args) this.#parameter(arg, type);
  }

  /** The first type that is known of a parameter counts. */
  #parameter(expression: Expression, type: DataType | undefined): void {
    if (expression.kind !== 'parameter') return;
    this.#parameters.set(expression.name, this.#parameters.get(expression.name) ?? type);
  }
}

function byPosition({name: left}: TypedName, {name: right}: TypedName): number {
  const difference = Number(left) - Number(right);
  if (!Number.isNaN(difference)) return difference;
  return left < right ? -1 : 1;
}
