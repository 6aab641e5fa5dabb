/**
 * What a plan will do, before it does it: rows of each node, and the cost of all work below it.
 *
 * An estimate follows from the node, its inputs' estimates and the statistics; it is kept a node,
 * so that candidates which share inputs are cheap to compare. What is not known is assumed, the
 * same for every plan, so that ratios between plans hold better than the numbers themselves.
 */
import type {Catalog} from '#server/catalog/catalog.ts';
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import type {Statistics} from '#server/plan/statistics.ts';
import {inputsOf, visitExpression} from '#server/plan/tree.ts';
import {listLength} from '#server/plan/written-list.ts';
import {conjunctsOf} from './conjuncts.ts';
import {cost, sortCost} from './cost.ts';
import {Degrees, type VertexTypes} from './degrees.ts';
import {indexRows} from './index-rows.ts';
import {typeTestOf} from '#server/plan/type-test.ts';
import {assumed, equalShare, type RowFacts, shareOfAll} from './selectivity.ts';

export interface Estimate {
  readonly rows: number;
  /** The cost of the node with everything below it, in the steps of cost.ts. */
  readonly cost: number;
  readonly slots: ReadonlyMap<Slot, SlotFacts>;
}

/** What is known of the records in a slot. */
export interface SlotFacts extends VertexTypes {
  /** The record is not read yet: the slot came over a hop. */
  readonly isId: boolean;
  /** Properties by which an index has chosen the records: asking again drops none. */
  readonly chosenBy?: readonly string[];
}

type Slots = ReadonlyMap<Slot, SlotFacts>;
type Node<K extends PlanNode['kind']> = PlanNode & {readonly kind: K};

/** Records of a type of which nothing is known. */
/** A search is taken to match this share of its type's records. */
const rankedShare = 0.01;
/** A search with a limit is taken to give so many. */
const rankedUsual = 10;
const recordsAssumed = 1_000;
const rowsOfCall = 100;
const stepsOfShortest = 2_000;
/** Rounds of a part without an end, as far as anybody can tell. */
const roundsAssumed = 3;

const nothing: Estimate = {rows: 1, cost: 0, slots: new Map()};

export class Estimates {
  readonly statistics: Statistics;
  readonly #catalog: Catalog;
  readonly #degrees: Degrees;
  readonly #known = new Map<PlanNode, Estimate>();

  constructor(catalog: Catalog, statistics: Statistics) {
    this.#catalog = catalog;
    this.statistics = statistics;
    this.#degrees = new Degrees(catalog, statistics);
  }

  /** @param outer - What is known of the row that the plan's `argument` stands for. */
  of(node: PlanNode, outer: Slots = new Map()): Estimate {
    const known = this.#known.get(node);
    if (known !== undefined) return known;
    const made = this.#estimate(node, outer);
    this.#known.set(node, made);
    return made;
  }

  recordCount(type: string): number {
    return this.statistics.recordCount(type) ?? recordsAssumed;
  }

  /** Edges of a vertex of whatever type, in both directions. */
  meanDegree(): number {
    return this.#degrees.hop(undefined, {direction: 'both', types: []}).degree;
  }

  /** What conditions over these slots may be judged by. */
  facts(slots: Slots): RowFacts {
    const typeOf = (slot: Slot): string | undefined => slots.get(slot)?.type;
    return {
      property: (slot, name) => {
        const type = typeOf(slot);
        return type === undefined ? undefined : this.statistics.property(type, name);
      },
      typeShare: (slot, type) => {
        const vertex = slots.get(slot);
        return vertex && this.#degrees.typeShare(vertex, type);
      },
      recordCount: slot => {
        const {type, shares} = slots.get(slot) ?? {};
        if (type !== undefined) return this.recordCount(type);
        return shares && sum([...shares.keys()], name => this.recordCount(name));
      },
    };
  }

  #estimate(node: PlanNode, outer: Slots): Estimate {
    switch (node.kind) {
      case 'unit':
        return nothing;
      case 'argument':
        return {...nothing, slots: outer};
      case 'values':
        return {rows: node.rows.length, cost: 0, slots: outer};
      case 'scan-type':
        return this.#scan(node, this.recordCount(node.type), node.type, outer);
      case 'scan-bucket': {
        const type = this.#catalog.typeOfBucket(node.buckets[0] ?? -1);
        const share = node.buckets.length / Math.max(1, type?.familyBucketIds.length ?? 1);
        const rows = type === undefined ? recordsAssumed : this.recordCount(type.name) * share;
        return this.#scan(node, rows, type?.name, outer);
      }
      case 'records': {
        const rows = listLength(node.ids) ?? 1;
        return source(node.slot, undefined, rows, rows * cost.fetch, outer);
      }
      case 'index-point':
      case 'index-range':
        return this.#index(node, outer);
      case 'ranked': {
        const type = this.#catalog.typeById(this.#catalog.requireIndex(node.index).typeId)?.name;
        const records = type === undefined ? recordsAssumed : this.recordCount(type);
        const rows =
          node.count === undefined ? records * rankedShare : Math.min(records, rankedUsual);
        const slots = withSlot(outer, node.slot, {
          type: node.only ?? type,
          isId: false,
          chosenBy: [],
        });
        return {rows, cost: cost.seek + rows * (cost.entry + cost.fetch), slots};
      }
      case 'index-entries': {
        const type = this.#catalog.typeById(this.#catalog.requireIndex(node.index).typeId);
        const rows = type === undefined ? recordsAssumed : this.recordCount(type.name);
        return {rows, cost: rows * cost.entry, slots: outer};
      }
      case 'call':
        return {rows: rowsOfCall, cost: rowsOfCall, slots: outer};
      default:
        return this.#above(node, outer);
    }
  }

  #scan(
    node: Node<'scan-type'> | Node<'scan-bucket'>,
    records: number,
    type: string | undefined,
    outer: Slots,
  ): Estimate {
    const slots = withSlot(outer, node.slot, {type, isId: false});
    const share = shareOfAll(conjunctsOf(node.where), this.facts(slots));
    const rows = records * share;
    return {rows, cost: cost.seek + records * cost.scanned + rows * cost.row, slots};
  }

  #index(node: Node<'index-point'> | Node<'index-range'>, outer: Slots): Estimate {
    const index = this.#catalog.requireIndex(node.index);
    const type = this.#catalog.typeById(index.typeId)?.name;
    const chosenBy = index.properties.map(({name}) => name);
    const slots = withSlot(outer, node.slot, {type, isId: false, chosenBy});
    const records = type === undefined ? recordsAssumed : this.recordCount(type);
    const {rows, keys} = indexRows(node, index, records, this.facts(slots));
    const fetched = node.kind === 'index-range' && node.parts !== undefined ? 0 : cost.fetch;
    return {rows, cost: keys * cost.seek + rows * (cost.entry + fetched), slots};
  }

  #above(node: PlanNode, outer: Slots): Estimate {
    const [first, second] = inputsOf(node);
    const input = first === undefined ? nothing : this.of(first, outer);
    switch (node.kind) {
      case 'filter':
        return this.#filter(node, input);
      case 'follow':
        return this.#follow(node, input);
      case 'connect': {
        const {from, to, edge, direction, types} = node;
        const share = this.#degrees.connected(input.slots.get(from), input.slots.get(to), {
          direction,
          types,
        });
        const slots = edge === undefined ? input.slots : withSlot(input.slots, edge, idOf());
        return {rows: input.rows * share, cost: input.cost + input.rows * cost.pair, slots};
      }
      case 'degree': {
        const {degree} = this.#degrees.hop(input.slots.get(node.from), node);
        const rows = node.keepEmpty === true ? input.rows : input.rows * Math.min(1, degree);
        return {...input, rows, cost: input.cost + input.rows * cost.hop};
      }
      case 'frontier':
        return this.#frontier(node, input);
      case 'walk': {
        const reached = this.#rounds(node, input);
        return {...reached, slots: withSlot(input.slots, node.to, idOf())};
      }
      case 'chain':
      case 'repeat':
        return this.#rounds({direction: 'both', types: [], ...node}, input);
      case 'shortest':
        return {...input, cost: input.cost + input.rows * stepsOfShortest};
      case 'join':
        return this.#join(node, input, this.of(node.right, outer));
      case 'apply':
        return this.#apply(node, input);
      case 'union': {
        const parts = node.inputs.map(part => this.of(part, outer));
        return {...input, rows: sum(parts, p => p.rows), cost: sum(parts, p => p.cost)};
      }
      case 'fuse': {
        const parts = node.inputs.map(part => this.of(part, outer));
        const all = sum(parts, ({rows}) => rows);
        const rows = node.count === undefined ? all : Math.min(all, rankedUsual);
        const read = sum(parts, part => part.cost) + rows * cost.fetch;
        const slots = withSlot(outer, node.slot, {type: undefined, isId: false});
        return {rows, cost: read, slots};
      }
      case 'intersect':
        return this.#intersect(node, outer);
      case 'fallback': {
        const {rows} = second === undefined ? nothing : this.of(second, outer);
        return {...input, rows: Math.max(input.rows, Math.min(rows, 1))};
      }
      default:
        return whole(node, input, () => this.facts(input.slots));
    }
  }

  #filter(node: Node<'filter'>, input: Estimate): Estimate {
    const terms = conjunctsOf(node.condition);
    const tests = terms.filter(term => typeTestOf(term) !== undefined);
    const slots = new Map(input.slots);
    let share = shareOfAll(tests, this.facts(slots));
    for (const test of tests) {
      const {slot, type} = typeTestOf(test) ?? {};
      const name = type && this.#catalog.type(type)?.name;
      if (slot === undefined || name === undefined) continue;
      slots.set(slot, {isId: false, ...slots.get(slot), type: name});
    }
    const others = terms.filter(term => !tests.includes(term) && !isAnswered(term, slots));
    share *= shareOfAll(others, this.facts(slots));
    const work = input.rows * (cost.row * terms.length + this.#loads(terms, slots));
    return {rows: input.rows * share, cost: input.cost + work, slots};
  }

  /** Fetches for each row of what the terms read of slots that are ids; they are records then. */
  #loads(terms: readonly Expression[], slots: Map<Slot, SlotFacts>): number {
    let loads = 0;
    const visit = (part: Expression): void => {
      const of = recordReadBy(part);
      const known = of === undefined ? undefined : slots.get(of);
      if (of === undefined || known?.isId !== true) return;
      loads += cost.fetch;
      slots.set(of, {...known, isId: false});
    };
    for (const term of terms) visitExpression(term, visit);
    return loads;
  }

  #follow(node: Node<'follow'>, input: Estimate): Estimate {
    const {from, to, edge, direction, types} = node;
    const {degree, far} = this.#degrees.hop(input.slots.get(from), {direction, types});
    const hops = input.rows * degree;
    let {slots} = input;
    if (to !== undefined) slots = withSlot(slots, to, {...far, isId: true});
    const edgeType = types.length === 1 ? types[0] : undefined;
    if (edge !== undefined) slots = withSlot(slots, edge, {type: edgeType, isId: true});
    const walked = input.cost + input.rows * cost.hop + hops * cost.edge;
    if (node.where === undefined) return {rows: hops, cost: walked, slots};
    const condition: PlanNode = {kind: 'filter', input: node, condition: node.where};
    return this.#filter(condition, {rows: hops, cost: walked, slots});
  }

  /** Estimates the hops one after the other, each vertex once; only guesses bound their number. */
  #frontier({from, steps, to}: Node<'frontier'>, input: Estimate): Estimate {
    let rows = input.rows;
    let work = input.cost;
    let facts: SlotFacts | undefined = input.slots.get(from);
    for (const step of steps) {
      const {degree, far} = this.#degrees.hop(facts, step);
      work += rows * cost.hop + rows * degree * cost.edge;
      rows = Math.min(rows * degree, Math.max(rows, this.#recordsOf(far.type)));
      facts = {...far, isId: true};
    }
    return {rows, cost: work, slots: withSlot(new Map(), to, facts ?? idOf())};
  }

  #recordsOf(type: string | undefined): number {
    return type === undefined ? Number.POSITIVE_INFINITY : this.recordCount(type);
  }

  #rounds(
    node: {
      readonly direction: Node<'walk'>['direction'];
      readonly types: readonly string[];
      readonly depthMax: number | undefined;
    },
    input: Estimate,
  ): Estimate {
    const {degree} = this.#degrees.hop(undefined, node);
    const rounds = Math.min(node.depthMax ?? roundsAssumed, roundsAssumed);
    let reached = 0;
    for (let round = 1, rows = 1; round <= rounds; round += 1) reached += rows *= degree;
    const rows = input.rows * Math.max(reached, 1);
    return {rows, cost: input.cost + rows * (cost.hop + cost.edge), slots: input.slots};
  }

  #join(node: Node<'join'>, left: Estimate, right: Estimate): Estimate {
    const slots = new Map([...left.slots, ...right.slots]);
    const facts = this.facts(slots);
    let pairs = left.rows * right.rows;
    for (const on of node.on) {
      const share = Math.min(
        equalShare(on.left, on.right, facts),
        1 / Math.max(1, Math.min(left.rows, right.rows)),
      );
      pairs *= share;
    }
    const rows = {
      inner: pairs,
      left: Math.max(left.rows, pairs),
      semi: Math.min(left.rows, pairs),
      anti: left.rows * assumed.type,
    }[node.mode];
    const work = right.rows * cost.kept + left.rows * cost.probe + rows * cost.row;
    return {rows, cost: left.cost + right.cost + work, slots};
  }

  /** The ids alone are read of each index; the records of what is in all. */
  #intersect({inputs, ids, slot}: Node<'intersect'>, outer: Slots): Estimate {
    const parts = inputs.map(input => this.of(input, outer));
    const first = parts[0]?.slots.get(ids[0] ?? -1);
    const records = first?.type === undefined ? recordsAssumed : this.recordCount(first.type);
    const rows = parts.reduce((all, part) => (all * part.rows) / Math.max(1, records), records);
    const read = sum(parts, part => part.cost - part.rows * cost.fetch);
    const compared = sum(parts, part => part.rows) * cost.matched;
    const chosenBy = parts.flatMap((part, at) => part.slots.get(ids[at] ?? -1)?.chosenBy ?? []);
    const slots = withSlot(outer, slot, {type: first?.type, isId: false, chosenBy});
    return {rows, cost: read + compared + rows * cost.fetch, slots};
  }

  #apply(node: Node<'apply'>, input: Estimate): Estimate {
    const plan = this.of(node.plan, input.slots);
    const rows = {
      inner: input.rows * plan.rows,
      left: input.rows * Math.max(1, plan.rows),
      semi: input.rows * Math.min(1, plan.rows) * assumed.type,
      anti: input.rows * assumed.type,
      collect: input.rows,
      scalar: input.rows,
      'for-each': input.rows,
    }[node.mode];
    const work = input.rows * (plan.cost + cost.applied) + rows * cost.row;
    const joined = node.mode === 'inner' || node.mode === 'left';
    return {rows, cost: input.cost + work, slots: joined ? plan.slots : input.slots};
  }
}

/** Nodes that pass rows on, gather them or write. */
function whole(node: PlanNode, input: Estimate, facts: () => RowFacts): Estimate {
  const {rows} = input;
  const passing = (kept: number, work = rows * cost.row): Estimate => ({
    rows: kept,
    cost: input.cost + work,
    slots: input.slots,
  });
  switch (node.kind) {
    case 'unnest':
      return passing(rows * (listLength(node.list) ?? assumed.listItems));
    case 'aggregate':
      return passing(groupCount(node, rows, facts()), rows * cost.kept);
    case 'distinct':
      return passing(rows, rows * cost.kept);
    case 'sort':
      return passing(rows, sortCost(rows));
    case 'top': {
      const kept = Math.min(rows, countOf(node.count) ?? rows);
      return passing(kept, rows * cost.compared + sortCost(kept));
    }
    case 'limit':
      return passing(Math.min(rows, countOf(node.count) ?? rows), 0);
    case 'skip':
      return passing(Math.max(0, rows - (countOf(node.count) ?? 0)), 0);
    case 'barrier':
    case 'select-per-group':
      return passing(rows, rows * cost.kept);
    case 'create':
    case 'change':
    case 'upsert':
    case 'delete':
    case 'erase':
    case 'retype':
      return passing(Math.max(rows, node.kind === 'upsert' ? 1 : 0), rows * cost.written);
    default:
      return passing(rows);
  }
}

function groupCount(node: Node<'aggregate'>, rows: number, facts: RowFacts): number {
  if (node.keys.length === 0) return 1;
  let groups = 1;
  for (const {value} of node.keys) {
    if (value.kind === 'slot') {
      const records = facts.recordCount(value.slot);
      if (records === undefined) return rows;
      groups *= records;
    } else if (value.kind === 'property' && value.of.kind === 'slot') {
      groups *= facts.property(value.of.slot, value.name)?.distinct ?? Math.sqrt(rows);
    } else groups *= Math.sqrt(rows);
    // Each row is likely to be a group of its own already: what the other keys hold is not asked.
    if (groups > rows * rows) return rows;
  }
  // So many are met when each row is of any group alike.
  return groups <= 1 ? Math.min(rows, 1) : groups * -Math.expm1(-rows / groups);
}

/** A number of rows that is written out. */
export function countOf(expression: Expression): number | undefined {
  return expression.kind === 'literal' && typeof expression.value === 'number'
    ? expression.value
    : undefined;
}

/** The slot whose record, not only its id, the expression reads itself. */
function recordReadBy(part: Expression): Slot | undefined {
  if (part.kind === 'property') return part.of.kind === 'slot' ? part.of.slot : undefined;
  return typeTestOf(part)?.slot;
}

/** Whether the term compares only what an index was asked for. */
function isAnswered(term: Expression, slots: Slots): boolean {
  let answered = term.kind === 'call';
  let reads = 0;
  visitExpression(term, part => {
    if (part.kind !== 'property') return;
    reads += 1;
    const known = part.of.kind === 'slot' ? slots.get(part.of.slot) : undefined;
    if (known?.chosenBy?.includes(part.name) !== true) answered = false;
  });
  return answered && reads > 0;
}

function source(
  slot: Slot,
  type: string | undefined,
  rows: number,
  work: number,
  outer: Slots,
): Estimate {
  return {rows, cost: work, slots: withSlot(outer, slot, {type, isId: false})};
}

function withSlot(slots: Slots, slot: Slot, facts: SlotFacts): Slots {
  return new Map(slots).set(slot, facts);
}

function idOf(): SlotFacts {
  return {isId: true};
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
