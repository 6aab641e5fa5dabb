/**
 * Turns `expand(out('x'))` into a hop: an `unnest` of what the graph methods answer becomes
 * `follow`, a chain of them a chain.
 *
 * A list of neighbours is made a vertex at a time and holds records; `follow` walks a batch of
 * vertices at once and carries ids where ids suffice, and a condition above sinks into it. The
 * start must be known to be a record (or null), since of a list the methods answer for each item.
 * The order is the same: the input's, of one vertex the edges' order. Edge types must exist: the
 * methods find nothing over unknown ones, where a hop refuses. Types without an entry at the far
 * end are left alone: their far end may be gone, which only the methods show.
 */
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {Direction, PlanNode} from '#server/plan/node.ts';
import type {Rule, RuleContext} from '../rule.ts';

type Unnest = Extract<PlanNode, {kind: 'unnest'}>;
type Extend = Extract<PlanNode, {kind: 'extend'}>;

export const hopFromUnnest: Rule = {
  name: 'hop-from-unnest',
  about: ['unnest', 'follow'],
  apply: (node, context) => {
    if (node.kind === 'unnest') return hops(node, node.slot, context) ?? node;
    if (node.kind === 'extend') return withoutAlias(node, context) ?? node;
    return node;
  },
};

/** `extend $b = $a@this` over the hop to `$a` that nobody else reads: the hop binds `$b`. */
function withoutAlias(node: Extend, context: RuleContext): PlanNode | undefined {
  const {input} = node;
  const [bind, ...more] = node.bind;
  if (bind === undefined || more.length > 0 || input.kind !== 'follow') return undefined;
  const {value, slot} = bind;
  if (value.kind !== 'attribute' || value.attribute !== 'this') return undefined;
  if (value.of.kind !== 'slot' || context.slots.reads.get(value.of.slot) !== 1) return undefined;
  const of = value.of.slot;
  if (input.to === of && input.edge === undefined) return {...input, to: slot};
  return input.edge === of && input.to === undefined ? {...input, edge: slot} : undefined;
}

function hops(node: Unnest, slot: Slot, context: RuleContext): PlanNode | undefined {
  if (node.keepEmpty) return undefined;
  const steps: Step[] = [];
  let of = node.list;
  for (let step = stepOf(of, context); step !== undefined; step = stepOf(of, context)) {
    // Of edges the methods answer nothing, and only the last may ask for them.
    if (step.edges && steps.length > 0) return undefined;
    steps.unshift(step);
    of = step.of;
  }
  if (steps.length === 0 || of.kind !== 'slot' || !bindsRecord(node.input, of.slot)) {
    return undefined;
  }
  let from = of.slot;
  return steps.reduce((input: PlanNode, {direction, types, edges}, at): PlanNode => {
    const bound = at === steps.length - 1 ? slot : context.newSlot();
    const ends = {to: edges ? undefined : bound, edge: edges ? bound : undefined};
    const hop: PlanNode = {kind: 'follow', input, from, direction, types, ...ends};
    from = bound;
    return hop;
  }, node.input);
}

interface Step {
  readonly of: Expression;
  readonly direction: Direction;
  readonly edges: boolean;
  readonly types: readonly string[];
}

const methods: Readonly<Record<string, Pick<Step, 'direction' | 'edges'>>> = {
  '.out': {direction: 'out', edges: false},
  '.in': {direction: 'in', edges: false},
  '.both': {direction: 'both', edges: false},
  '.outE': {direction: 'out', edges: true},
  '.inE': {direction: 'in', edges: true},
  '.bothE': {direction: 'both', edges: true},
};

function stepOf(expression: Expression, {catalog}: RuleContext): Step | undefined {
  if (expression.kind !== 'call') return undefined;
  const [of, ...names] = expression.args;
  const method = methods[expression.name];
  if (method === undefined || of === undefined) return undefined;
  const types: string[] = [];
  for (const name of names) {
    if (name.kind !== 'literal' || typeof name.value !== 'string') return undefined;
    types.push(name.value);
  }
  const known = types.map(name => catalog.type(name));
  if (known.some(type => type === undefined)) return undefined;
  const walked = types.length === 0 ? [...catalog.types] : known;
  if (walked.some(type => type?.edge.unidirectional === true)) return undefined;
  return {of, ...method, types};
}

/** Whether the slot holds a record or null, by the node that binds it. */
function bindsRecord(plan: PlanNode, slot: Slot): boolean {
  switch (plan.kind) {
    case 'scan-type':
    case 'scan-bucket':
    case 'index-point':
    case 'index-range':
      return plan.slot === slot;
    case 'records':
      return plan.slot === slot && !plan.loose;
    case 'follow':
      return plan.to === slot || plan.edge === slot || bindsRecord(plan.input, slot);
    case 'extend': {
      const bind = plan.bind.findLast(candidate => candidate.slot === slot);
      if (bind === undefined) return bindsRecord(plan.input, slot);
      const {value} = bind;
      const same = value.kind === 'attribute' && value.attribute === 'this' ? value.of : value;
      return same.kind === 'slot' && plan.bind.length === 1 && bindsRecord(plan.input, same.slot);
    }
    case 'filter':
    case 'sort':
    case 'top':
    case 'skip':
    case 'limit':
    case 'distinct':
    case 'barrier':
      return bindsRecord(plan.input, slot);
    default:
      return false;
  }
}
