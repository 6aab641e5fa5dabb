/**
 * Clauses that write: CREATE, MERGE, SET, REMOVE, DELETE, FOREACH.
 *
 * A clause is carried out for all rows before the next one begins: a barrier stands in front of it
 * and behind it, and behind it the records in scope are read again, so that every row sees what all
 * rows wrote.
 */
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {Assignment, PlanNode} from '#server/plan/node.ts';
import type * as Ast from './ast-expression.ts';
import type {
  Clause,
  CreateClause,
  DeleteClause,
  ForeachClause,
  MergeClause,
  NodePattern,
  Pattern,
  RelationshipPattern,
  RemoveClause,
  SetClause,
  SetItem,
} from './ast.ts';
import {typeOfLabels} from '#server/model/labels.ts';
import {
  type BindContext,
  type Bound,
  literal,
  operator,
  type Scope,
  slotOf,
  withVariables,
} from './bind-context.ts';
import {bindExpression, variableOf} from './bind-expression.ts';
import {plainLabels, plainTypes} from './bind-label.ts';
import {PatternBinder} from './bind-pattern.ts';
import {nodesOf} from './pattern-shape.ts';
import {kindOf, requireKind} from './kind.ts';

type Update = CreateClause | MergeClause | SetClause | RemoveClause | DeleteClause | ForeachClause;

export function isUpdate(clause: Clause): clause is Update {
  return ['create', 'merge', 'set', 'remove', 'delete', 'foreach'].includes(clause.kind);
}

export function bindUpdate(context: BindContext, input: Bound, clause: Update): Bound {
  const before: Bound = {
    plan: isSource(input.plan) ? input.plan : {kind: 'barrier', input: input.plan},
    scope: input.scope,
  };
  const after = bindClause(context, before, clause);
  return refreshed({plan: {kind: 'barrier', input: after.plan}, scope: after.scope}, clause);
}

function isSource(plan: PlanNode): boolean {
  return plan.kind === 'unit' || plan.kind === 'argument';
}

/** Reads the records in scope again: other rows may have changed them. */
function refreshed(bound: Bound, clause: Update): Bound {
  if (clause.kind === 'create') return bound;
  const bind = [...bound.scope.variables.values()]
    .filter(({kind}) => kind === 'node' || kind === 'relationship')
    .map(({slot}) => ({slot, value: operator('current', slotOf(slot))}));
  const scope = clause.kind === 'delete' ? {...bound.scope, hasDeleted: true} : bound.scope;
  if (bind.length === 0) return {plan: bound.plan, scope};
  return {plan: {kind: 'extend', input: bound.plan, bind}, scope};
}

function bindClause(context: BindContext, input: Bound, clause: Update): Bound {
  switch (clause.kind) {
    case 'create':
      return bindCreate(context, input, clause.patterns, undefined);
    case 'merge':
      return bindMerge(context, input, clause);
    case 'set':
      return {plan: bindSet(context, input, clause.items), scope: input.scope};
    case 'remove':
      return bindRemove(context, input, clause);
    case 'delete':
      return bindDelete(context, input, clause);
    default:
      return bindForeach(context, input, clause);
  }
}

/** @param merging - The clause when it is MERGE, whose rules differ a little. */
function bindCreate(
  context: BindContext,
  input: Bound,
  patterns: readonly Pattern[],
  merging: MergeClause | undefined,
): Bound {
  const creator = new Creator(context, input, merging !== undefined);
  for (const pattern of patterns) creator.create(pattern);
  return creator.bound;
}

class Creator {
  readonly #context: BindContext;
  readonly #merges: boolean;
  #plan: PlanNode;
  #scope: Scope;
  /** What the clause began with: values may not read what it makes. */
  readonly #unnamed = new Map<NodePattern, Slot>();

  constructor(context: BindContext, input: Bound, merges: boolean) {
    this.#context = context;
    this.#merges = merges;
    this.#plan = input.plan;
    this.#scope = input.scope;
  }

  get bound(): Bound {
    return {plan: this.#plan, scope: this.#scope};
  }

  create(pattern: Pattern): void {
    const context = this.#context;
    const {name} = pattern;
    if (name !== undefined) context.requireNew(this.#scope, name);
    if (searches(pattern)) {
      context.refuse(
        pattern.at,
        'UnexpectedSyntax',
        'what is made has no condition, and no path of it is the shortest',
      );
    }
    const nodes = nodesOf(pattern);
    const isLone = pattern.hops.length === 0;
    for (const node of nodes) this.#node(node, isLone);
    const edges = pattern.hops.map((hop, at) => {
      if (hop.kind !== 'hop') {
        return context.refuse(hop.at, 'CreatingVarLength', 'what is made has no variable length');
      }
      return this.#edge(hop.relationship, nodes[at] as NodePattern, hop.node);
    });
    if (name === undefined) return;
    const parts = nodes.flatMap((node, at) => [this.#slotOf(node), edges[at]]);
    const slot = context.newSlot();
    const value = operator('path', ...parts.filter(part => part !== undefined).map(slotOf));
    this.#plan = {kind: 'extend', input: this.#plan, bind: [{slot, value}]};
    this.#scope = withVariables(this.#scope, [[name.text, {slot, kind: 'path'}]]);
  }

  #slotOf(node: NodePattern): Slot | undefined {
    if (node.name === undefined) return this.#unnamed.get(node);
    return this.#scope.variables.get(node.name.text)?.slot;
  }

  #node(node: NodePattern, isLone: boolean): void {
    const context = this.#context;
    const known = node.name && this.#scope.variables.get(node.name.text);
    if (known !== undefined && node.name !== undefined) {
      if (known.kind !== 'node' && known.kind !== 'any' && known.kind !== 'null') {
        const [reason, what] = isLone
          ? (['VariableAlreadyBound', 'is bound already'] as const)
          : (['VariableTypeConflict', 'is no node'] as const);
        context.refuse(node.at, reason, `'${node.name.text}' ${what}`);
      }
      if (isLone || node.labels !== undefined || node.properties !== undefined) {
        context.alreadyBound(node.at, node.name.text);
      }
      return;
    }
    const labels = plainLabels(node.labels);
    if (labels === undefined) {
      return context.refuse(node.at, 'UnexpectedSyntax', 'a node is made with plain labels');
    }
    const names = labels.map(label => label.text);
    const type = typeOfLabels(names);
    context.needType(type, 'vertex');
    for (const name of names) context.needType(name, 'vertex');
    const slot = context.newSlot();
    this.#plan = {
      kind: 'create',
      input: this.#plan,
      what: 'vertex',
      type,
      bucket: undefined,
      from: undefined,
      to: undefined,
      ifNotExists: false,
      unidirectional: false,
      assignments: this.#assignments(node),
      slot,
      place: context.place(node.at),
    };
    if (node.name === undefined) this.#unnamed.set(node, slot);
    else this.#scope = withVariables(this.#scope, [[node.name.text, {slot, kind: 'node'}]]);
  }

  #edge(edge: RelationshipPattern, left: NodePattern, right: NodePattern): Slot {
    const context = this.#context;
    const {name} = edge;
    if (name !== undefined) context.requireNew(this.#scope, name);
    if (edge.length !== undefined) {
      context.refuse(edge.at, 'CreatingVarLength', 'what is made has no variable length');
    }
    const types = plainTypes(edge.types);
    const [type] = types ?? [];
    if (type === undefined || types?.length !== 1) {
      return context.refuse(edge.at, 'NoSingleRelationshipType', 'a relationship has one type');
    }
    if (edge.direction === 'both' && !this.#merges) {
      context.refuse(edge.at, 'RequiresDirectedRelationship', 'a relationship has a direction');
    }
    context.needType(type.text, 'edge');
    const [from, to] = edge.direction === 'in' ? [right, left] : [left, right];
    const slot = context.newSlot();
    this.#plan = {
      kind: 'create',
      input: this.#plan,
      what: 'edge',
      type: type.text,
      bucket: undefined,
      from: operator('endpoint', slotOf(this.#slotOf(from) ?? 0)),
      to: operator('endpoint', slotOf(this.#slotOf(to) ?? 0)),
      ifNotExists: false,
      unidirectional: false,
      assignments: this.#assignments(edge),
      slot,
      place: context.place(edge.at),
    };
    if (name !== undefined) {
      this.#scope = withVariables(this.#scope, [[name.text, {slot, kind: 'relationship'}]]);
    }
    return slot;
  }

  #assignments({properties}: Pick<NodePattern, 'properties'>): readonly Assignment[] {
    if (properties === undefined) return [];
    const context = this.#context;
    if (properties.kind === 'parameter') {
      if (this.#merges) {
        context.refuse(
          properties.at,
          'InvalidParameterUse',
          'a parameter cannot stand for the properties of a pattern that is searched',
        );
      }
      const value = bindExpression(context, this.#scope, properties);
      return [{kind: 'content', value: operator('withoutNulls', value), replace: true}];
    }
    return properties.entries.map(({key, value}) => {
      const bound = bindExpression(context, {...this.#scope, allowsPatterns: false}, value);
      const name = key.text;
      const stored = this.#merges ? operator('notNull', bound, literal(name)) : bound;
      return {kind: 'set', name, value: operator('storable', stored), dropsNull: true};
    });
  }
}

/** Whether something in the pattern has a meaning only where patterns are searched. */
function searches(pattern: Pattern): boolean {
  const {shortest, selector, mode, where, hops} = pattern;
  const isSelective = shortest ?? selector ?? mode ?? where;
  const edges = hops.map(hop => (hop.kind === 'hop' ? hop.relationship : hop));
  return isSelective !== undefined || [...nodesOf(pattern), ...edges].some(part => part.where);
}

/** What is found, row by row, or else made; rows see what earlier rows made. */
function bindMerge(context: BindContext, input: Bound, clause: MergeClause): Bound {
  const {pattern, onCreate, onMatch} = clause;
  for (const node of nodesOf(pattern)) requireNoPredicates(context, node, input.scope, pattern);
  const argument: Bound = {plan: {kind: 'argument'}, scope: input.scope};
  const created = bindCreate(context, argument, [pattern], clause);
  const binder = new PatternBinder(context, argument);
  binder.bindAll([pattern]);
  const found = binder.bound;
  const makes = bindSet(context, created, onCreate);
  const matches = bindSet(
    context,
    {plan: {kind: 'barrier', input: found.plan}, scope: found.scope},
    onMatch,
  );
  // Both ways bind the same names: what was made is known under the slots of what is found.
  const names = [...found.scope.variables].filter(([name]) => !input.scope.variables.has(name));
  const bind = names.map(([name, {slot}]) => ({
    slot,
    value: slotOf(created.scope.variables.get(name)?.slot ?? slot),
  }));
  const made: PlanNode = bind.length === 0 ? makes : {kind: 'extend', input: makes, bind};
  return {
    plan: {
      kind: 'apply',
      mode: 'inner',
      input: input.plan,
      plan: {kind: 'fallback', input: matches, fallback: made},
      slots: names.map(([, {slot}]) => slot),
    },
    scope: found.scope,
  };
}

/** A bound node of a MERGE is only an end: it cannot be given labels or properties. */
function requireNoPredicates(
  context: BindContext,
  node: NodePattern,
  scope: Scope,
  pattern: Pattern,
): void {
  if (node.name === undefined || !scope.variables.has(node.name.text)) return;
  const isLone = pattern.hops.length === 0;
  if (isLone || node.labels !== undefined || node.properties !== undefined) {
    context.alreadyBound(node.at, node.name.text);
  }
}

function bindSet(context: BindContext, input: Bound, items: readonly SetItem[]): PlanNode {
  let {plan} = input;
  for (const item of items) plan = bindSetItem(context, {plan, scope: input.scope}, item);
  return plan;
}

function bindSetItem(context: BindContext, input: Bound, item: SetItem): PlanNode {
  const {scope} = input;
  if (item.kind === 'labels') {
    const {slot} = variableOf(context, scope, {name: item.name.text, at: item.name.at});
    return relabel(input.plan, slot, {add: item.labels.map(label => label.text), remove: []});
  }
  const value = bindExpression(context, {...scope, allowsPatterns: false}, item.value);
  if (item.kind === 'properties') {
    const {slot} = variableOf(context, scope, {name: item.name.text, at: item.name.at});
    const content = operator('content', value);
    return change(input.plan, slot, [
      {kind: 'content', value: content, replace: !item.adds, dropsNull: true},
    ]);
  }
  return changeProperty(context, input, item, operator('storable', value));
}

function changeProperty(
  context: BindContext,
  input: Bound,
  item: {readonly of: Ast.Expression; readonly name: {readonly text: string} | Ast.Expression},
  value: Expression,
): PlanNode {
  const {scope} = input;
  requireKind(context, item.of, kindOf(item.of, scope), ['node', 'relationship', 'any', 'null']);
  const of = bindExpression(context, scope, item.of);
  const slot = of.kind === 'slot' ? of.slot : context.newSlot();
  const plan: PlanNode =
    of.kind === 'slot'
      ? input.plan
      : {kind: 'extend', input: input.plan, bind: [{slot, value: of}]};
  const {name} = item;
  if ('text' in name) {
    return change(plan, slot, [{kind: 'set', name: name.text, value, dropsNull: true}]);
  }
  const key = bindExpression(context, scope, name);
  const content = operator('entry', key, value);
  return change(plan, slot, [{kind: 'content', value: content, replace: false, dropsNull: true}]);
}

function change(input: PlanNode, slot: Slot, assignments: readonly Assignment[]): PlanNode {
  return {
    kind: 'change',
    input,
    slot,
    before: undefined,
    assignments,
    applyDefaults: false,
    keepsRows: true,
  };
}

function relabel(
  input: PlanNode,
  slot: Slot,
  labels: {readonly add: readonly string[]; readonly remove: readonly string[]},
): PlanNode {
  return {kind: 'retype', input, slot, ...labels};
}

function bindRemove(context: BindContext, input: Bound, clause: RemoveClause): Bound {
  let {plan} = input;
  for (const item of clause.items) {
    if (item.kind === 'labels') {
      const {slot} = variableOf(context, input.scope, {name: item.name.text, at: item.name.at});
      plan = relabel(plan, slot, {add: [], remove: item.labels.map(label => label.text)});
    } else plan = changeProperty(context, {plan, scope: input.scope}, item, literal(null));
  }
  return {plan, scope: input.scope};
}

function bindDelete(context: BindContext, input: Bound, clause: DeleteClause): Bound {
  const {scope} = input;
  const values = clause.values.map(ast => {
    if (ast.kind === 'has-labels') {
      context.refuse(ast.at, 'InvalidDelete', 'REMOVE takes labels away, DELETE deletes records');
    }
    const kinds = ['node', 'relationship', 'relationships', 'path', 'list', 'null'] as const;
    requireKind(context, ast, kindOf(ast, scope), kinds);
    return bindExpression(context, {...scope, allowsPatterns: false}, ast);
  });
  return {plan: {kind: 'erase', input: input.plan, values, detach: clause.detach}, scope};
}

function bindForeach(context: BindContext, input: Bound, clause: ForeachClause): Bound {
  const {scope} = input;
  requireKind(context, clause.list, kindOf(clause.list, scope), ['list', 'relationships', 'null']);
  const slot = context.newSlot();
  const list = bindExpression(context, {...scope, allowsPatterns: false}, clause.list);
  let inner: Bound = {
    plan: {
      kind: 'unnest',
      input: {kind: 'argument'},
      list: operator('items', list),
      slot,
      keepEmpty: false,
    },
    scope: withVariables(scope, [[clause.name.text, {slot, kind: 'any'}]]),
  };
  for (const update of clause.clauses) {
    if (isUpdate(update)) inner = bindUpdate(context, inner, update);
  }
  const plan: PlanNode = {
    kind: 'apply',
    mode: 'for-each',
    input: input.plan,
    plan: inner.plan,
    slots: [],
  };
  return {plan, scope};
}
