/**
 * Walking and rebuilding plans and expressions: the one place that knows every node's children.
 *
 * All functions are pure; a rebuilt node shares what did not change. `slotsOf` answers what an
 * expression or plan reads, including what nested sub-plans read from outside.
 */
import {unreachable} from '#server/base/assert.ts';
import type {Expression, MapEntry, Slot} from './expression.ts';
import type {Assignment, Output, OutputColumn, PlanNode, SortKey} from './node.ts';

type MapPlan = (node: PlanNode) => PlanNode;
type MapExpression = (expression: Expression) => Expression;

/** The node's input plans, first to last; sub-plans inside expressions are not inputs. */
export function inputsOf(node: PlanNode): readonly PlanNode[] {
  switch (node.kind) {
    case 'join':
      return [node.left, node.right];
    case 'apply':
      return [node.input, node.plan];
    case 'repeat':
    case 'chain':
      return [node.input, node.body];
    case 'union':
    case 'fuse':
    case 'intersect':
      return node.inputs;
    case 'fallback':
      return [node.input, node.fallback];
    default:
      return 'input' in node ? [node.input] : [];
  }
}

/** The same node over mapped inputs; the node itself when none changed. */
export function mapInputs(node: PlanNode, map: MapPlan): PlanNode {
  switch (node.kind) {
    case 'join': {
      const left = map(node.left);
      const right = map(node.right);
      return left === node.left && right === node.right ? node : {...node, left, right};
    }
    case 'apply': {
      const input = map(node.input);
      const plan = map(node.plan);
      return input === node.input && plan === node.plan ? node : {...node, input, plan};
    }
    case 'repeat':
    case 'chain': {
      const input = map(node.input);
      const body = map(node.body);
      return input === node.input && body === node.body ? node : {...node, input, body};
    }
    case 'fallback': {
      const input = map(node.input);
      const fallback = map(node.fallback);
      const same = input === node.input && fallback === node.fallback;
      return same ? node : {...node, input, fallback};
    }
    case 'union':
    case 'fuse':
    case 'intersect': {
      return withParts(node, {inputs: mapItems(node.inputs, map)});
    }
    default: {
      if (!('input' in node)) return node;
      const input = map(node.input);
      return input === node.input ? node : {...node, input};
    }
  }
}

/** Direct children of an expression, sub-plans left out. */
export function partsOf(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case 'literal':
    case 'parameter':
    case 'slot':
    case 'subplan':
      return [];
    case 'property':
    case 'defined':
    case 'attribute':
    case 'not':
    case 'is-null':
      return [expression.of];
    case 'call':
    case 'routine':
      return expression.args;
    case 'and':
    case 'or':
      return expression.terms;
    case 'case':
      return [
        ...expression.branches.flatMap(branch => [branch.when, branch.then]),
        ...(expression.otherwise ? [expression.otherwise] : []),
      ];
    case 'list':
      return expression.items;
    case 'map':
      return expression.entries.map(entry => ('value' in entry ? entry.value : entry.spread));
    case 'comprehension':
      return [expression.list, expression.where, expression.yields].filter(isPresent);
    case 'reduce':
      return [expression.list, expression.initial, expression.step];
    default:
      return unreachable(expression);
  }
}

function isPresent<T>(value: T | undefined): value is T {
  return value !== undefined;
}

/** The list of what `map` makes of each item; the list itself when nothing changed. */
export function mapItems<Item>(items: readonly Item[], map: (item: Item) => Item): readonly Item[] {
  let made: Item[] | undefined;
  for (const [at, item] of items.entries()) {
    const mapped = map(item);
    if (made === undefined && mapped !== item) made = items.slice(0, at);
    made?.push(mapped);
  }
  return made ?? items;
}

/** `whole` with other parts; `whole` itself when they are the ones that it has. */
export function withParts<Whole extends object>(whole: Whole, parts: Partial<Whole>): Whole {
  for (const name in parts) if (parts[name] !== whole[name]) return {...whole, ...parts};
  return whole;
}

/**
 * The same expression over mapped children, the expression itself when none changed; sub-plans go
 * through `mapPlan`.
 */
export function mapParts(
  expression: Expression,
  map: MapExpression,
  mapPlan: MapPlan = plan => plan,
): Expression {
  switch (expression.kind) {
    case 'literal':
    case 'parameter':
    case 'slot':
      return expression;
    case 'subplan':
      return withParts(expression, {plan: mapPlan(expression.plan)});
    case 'property':
    case 'defined':
    case 'attribute':
    case 'not':
    case 'is-null': {
      const of = map(expression.of);
      return of === expression.of ? expression : {...expression, of};
    }
    case 'call':
    case 'routine': {
      const args = mapItems(expression.args, map);
      return args === expression.args ? expression : {...expression, args};
    }
    case 'and':
    case 'or':
      return withParts(expression, {terms: mapItems(expression.terms, map)});
    case 'case':
      return withParts(expression, {
        branches: mapItems(expression.branches, branch =>
          withParts(branch, {when: map(branch.when), then: map(branch.then)}),
        ),
        otherwise: expression.otherwise && map(expression.otherwise),
      });
    case 'list':
      return withParts(expression, {items: mapItems(expression.items, map)});
    case 'map':
      return withParts(expression, {
        entries: mapItems(expression.entries, entry => mapEntry(entry, map)),
      });
    case 'comprehension':
      return withParts(expression, {
        list: map(expression.list),
        ...(expression.where && {where: map(expression.where)}),
        ...(expression.yields && {yields: map(expression.yields)}),
      });
    case 'reduce':
      return withParts(expression, {
        list: map(expression.list),
        initial: map(expression.initial),
        step: map(expression.step),
      });
    default:
      return unreachable(expression);
  }
}

function mapEntry(entry: MapEntry, map: MapExpression): MapEntry {
  return 'value' in entry
    ? withParts(entry, {value: map(entry.value)})
    : withParts(entry, {spread: map(entry.spread)});
}

function outputExpressions(output: Output): Expression[] {
  if (output.kind === 'element') return [{kind: 'slot', slot: output.slot}];
  return output.columns.map((c: OutputColumn) => ('value' in c ? c.value : c.spread));
}

function assignmentExpressions(assignments: readonly Assignment[]): Expression[] {
  return assignments.flatMap(a => {
    const inPath = 'path' in a ? a.path.filter(part => typeof part !== 'string') : [];
    const value = 'value' in a && a.value !== undefined ? [a.value] : [];
    return [...inPath, ...value];
  });
}

function sortExpressions(keys: readonly SortKey[]): Expression[] {
  return keys.map(key => key.by);
}

function slotReads(slots: readonly (Slot | undefined)[]): Expression[] {
  return slots.filter(isPresent).map(slot => ({kind: 'slot', slot}));
}

/** Expressions that the node itself evaluates (slots it reads directly count as such). */
export function expressionsOf(node: PlanNode): readonly Expression[] {
  switch (node.kind) {
    case 'unit':
    case 'argument':
    case 'union':
    case 'intersect':
    case 'fallback':
    case 'barrier':
      return [];
    case 'index-entries':
      return node.at ? [node.at] : [];
    case 'values':
      return node.rows.flat();
    case 'scan-type':
    case 'scan-bucket':
      return [
        ...(node.kind === 'scan-bucket' ? (node.asked ?? []) : []),
        ...(node.where ? [node.where] : []),
        ...(node.ids?.from?.values ?? []),
        ...(node.ids?.to?.values ?? []),
      ];
    case 'records':
      return [node.ids];
    case 'index-point':
      return node.keys;
    case 'ranked':
      return [node.query, node.count, node.where].filter(part => part !== undefined);
    case 'fuse':
      return [
        ...slotReads(node.legs.flatMap(({row, score}) => [row, score])),
        ...[node.strategy, node.constant, node.weights, node.count].filter(isPresent),
      ];
    case 'index-range':
      return [...(node.from?.values ?? []), ...(node.to?.values ?? [])];
    case 'call':
      return node.args;
    case 'filter':
      return [node.condition];
    case 'extend':
      return node.bind.map(b => b.value);
    case 'project':
      return outputExpressions(node.output);
    case 'unnest':
      return [node.list];
    case 'follow':
      return [
        ...slotReads([node.from, ...(node.unlike ?? [])]),
        ...(node.where ? [node.where] : []),
      ];
    case 'connect':
      return slotReads([node.from, node.to, ...(node.unlike ?? [])]);
    case 'walk':
      return [...slotReads([node.from]), ...(node.condition ? [node.condition] : [])];
    case 'frontier':
      return slotReads([node.from]);
    case 'degree':
      return [...slotReads([node.from, node.weight]), ...(node.where ? [node.where] : [])];
    case 'chain':
      return slotReads([node.from, node.end, ...node.bodyEdges, ...node.lists.map(l => l.from)]);
    case 'shortest':
      return [node.from, node.to, ...(node.condition ? [node.condition] : [])];
    case 'join':
      return node.on.flatMap(pair => [pair.left, pair.right]);
    case 'apply':
      return node.collect ? slotReads([node.collect.from]) : [];
    case 'repeat':
      return [...slotReads([node.next]), ...(node.whileCondition ? [node.whileCondition] : [])];
    case 'aggregate':
      return [
        ...node.keys.map(k => k.value),
        ...node.aggregates.flatMap(a => [...a.args, ...slotReads([a.weight])]),
      ];
    case 'distinct':
      return node.by;
    case 'select-per-group':
      return [...node.by, node.measure];
    case 'sort':
      return sortExpressions(node.keys);
    case 'top':
      return [...sortExpressions(node.keys), node.count, ...(node.skip ? [node.skip] : [])];
    case 'skip':
    case 'limit':
      return [node.count];
    case 'create':
      return [
        ...[node.from, node.to, node.rid].filter(isPresent),
        ...(typeof node.bucket === 'object' ? [node.bucket] : []),
        ...assignmentExpressions(node.assignments),
      ];
    case 'change':
      return [...slotReads([node.slot]), ...assignmentExpressions(node.assignments)];
    case 'upsert':
      return [...node.seed.map(c => c.value), ...assignmentExpressions(node.assignments)];
    case 'delete':
    case 'retype':
      return slotReads([node.slot]);
    case 'erase':
      return node.values;
    default:
      return unreachable(node);
  }
}

/** Every slot that an expression reads, those of nested sub-plans included. */
export function slotsOf(expression: Expression, into: Set<Slot> = new Set()): Set<Slot> {
  if (expression.kind === 'slot') into.add(expression.slot);
  if (expression.kind === 'subplan') {
    visitPlan(expression.plan, node => {
      for (const part of expressionsOf(node)) slotsOf(part, into);
    });
  }
  for (const part of partsOf(expression)) slotsOf(part, into);
  return into;
}

/** Visits a plan and its inputs, parents first. Sub-plans in expressions are not entered. */
export function visitPlan(node: PlanNode, visit: (node: PlanNode) => void): void {
  visit(node);
  for (const input of inputsOf(node)) visitPlan(input, visit);
}

/** Visits an expression and its parts, parents first. */
export function visitExpression(
  expression: Expression,
  visit: (expression: Expression) => void,
): void {
  visit(expression);
  for (const part of partsOf(expression)) visitExpression(part, visit);
}

/** Whether a sub-plan stands in the expression. */
export function runsPlan(expression: Expression): boolean {
  return expression.kind === 'subplan' || partsOf(expression).some(runsPlan);
}

/** How many nodes stand one above the other in a plan, those of sub-plans in expressions aside. */
export function depthOf(plan: PlanNode): number {
  let depth = 0;
  // Without recursion: whoever asks wants to know whether there may be one.
  for (let level: readonly PlanNode[] = [plan]; level.length > 0; depth += 1) {
    level = level.flatMap(inputsOf);
  }
  return depth;
}

/** Slots that the node and its inputs bind, as seen by the node above it. */
export function boundSlots(node: PlanNode, into: Set<Slot> = new Set()): Set<Slot> {
  for (const slot of ownSlots(node)) into.add(slot);
  if (narrowing.has(node.kind)) return into;
  const hides =
    node.kind === 'chain' ||
    (node.kind === 'apply' && node.mode !== 'inner' && node.mode !== 'left');
  const inputs = hides ? [node.input] : inputsOf(node);
  for (const input of inputs) boundSlots(input, into);
  return into;
}

/** Kinds whose rows have no slots of their inputs. */
const narrowing: ReadonlySet<PlanNode['kind']> = new Set(['aggregate', 'frontier', 'fuse']);

/** Slots that the node itself binds. */
export function ownSlots(node: PlanNode): readonly Slot[] {
  return slotsBoundBy(node).filter(slot => slot !== undefined);
}

function slotsBoundBy(node: PlanNode): readonly (Slot | undefined)[] {
  switch (node.kind) {
    case 'aggregate':
      return [...node.keys.map(k => k.slot), ...node.aggregates.map(a => a.slot)];
    case 'frontier':
      return [node.to];
    case 'fuse':
      return [node.slot, node.score];
    case 'values':
      return node.slots;
    case 'call':
      return node.outputs.map(o => o.slot);
    case 'extend':
      return node.bind.map(b => b.slot);
    case 'index-entries':
      return [node.key, node.rid];
    case 'index-range':
      return [node.slot, ...(node.parts ?? [])];
    case 'follow':
      return [node.to, node.edge];
    case 'connect':
      return [node.edge];
    case 'walk':
      return [node.to, node.edges, node.path, node.depth];
    case 'chain':
      return [node.to, node.edges, ...node.lists.map(list => list.to)];
    case 'shortest':
      return [node.path];
    case 'apply':
      return [...node.slots, node.collect?.to];
    case 'repeat':
      return [node.loop, node.depth, node.path];
    case 'change':
    case 'upsert':
      return [node.slot, node.before];
    default:
      return 'slot' in node ? [node.slot] : [];
  }
}
