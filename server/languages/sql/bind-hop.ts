/**
 * The moves of MATCH: a first node from its type or id, a hop from a bound node, a repeated hop,
 * an optional hop; and the conditions a node must meet.
 *
 * State: which node is in which slot, and the names and variables that conditions may read
 * (`$matched`, `$depth`, depth and path aliases). It grows as the plan does, so a condition sees
 * exactly the nodes bound before it.
 */

import {assert} from '#server/base/assert.ts';
import type {Expression, Slot} from '#server/plan/expression.ts';
import {type Direction, type PlanNode, reversed} from '#server/plan/node.ts';
import type * as Ast from './ast.ts';
import type {BindContext, Scope} from './bind-context.ts';
import {literal, makeScope, operator, slotOf} from './bind-context.ts';
import {attributeOf, bindExpression} from './bind-expression.ts';
import {depthMaxOf} from './bind-select.ts';
import {bindBuckets} from './bind-target.ts';
import type {PatternEdge, PatternNode, Repetition} from './match-pattern.ts';

/** A plan and the slot of the value that was reached. */
interface Reached {
  readonly plan: PlanNode;
  readonly slot: Slot;
}

export class HopBinder {
  readonly #context: BindContext;
  readonly #parent: Scope | undefined;
  readonly #slots = new Map<string, Slot>();
  /** Named nodes, depth and path aliases, as conditions and RETURN read them. */
  readonly #names = new Map<string, Expression>();
  #depth: Expression | undefined;

  constructor(context: BindContext, parent: Scope | undefined) {
    this.#context = context;
    this.#parent = parent;
  }

  /** A binder for a sub-plan, which may bind more without this one knowing. */
  fork(): HopBinder {
    const copy = new HopBinder(this.#context, this.#parent);
    for (const [name, value] of this.#names) copy.#names.set(name, value);
    copy.#depth = this.#depth;
    return copy;
  }

  /** Takes over where `other` has bound the node of this name, if it has an alias. */
  adopt(other: HopBinder, node: PatternNode): void {
    const slot = other.#slots.get(node.name);
    if (slot !== undefined && node.named) this.#slots.set(node.name, slot);
  }

  get names(): ReadonlyMap<string, Expression> {
    return this.#names;
  }

  get variables(): ReadonlyMap<string, Expression> {
    const variables = new Map<string, Expression>();
    const entries = [...this.#names].map(([key, value]) => ({key, value}));
    variables.set('matched', {kind: 'map', entries});
    if (this.#depth !== undefined) variables.set('depth', this.#depth);
    return variables;
  }

  isBound(node: PatternNode): boolean {
    return this.#slots.has(node.name);
  }

  valueOf(node: PatternNode): Expression {
    const slot = this.#slots.get(node.name);
    return slot === undefined ? literal(null) : slotOf(slot);
  }

  #bind(node: PatternNode, slot: Slot): void {
    this.#slots.set(node.name, slot);
    if (node.named) this.#names.set(node.name, slotOf(slot));
  }

  /** Binds `node` from its own description; beside what `input` has bound, every pair. */
  bindSource(input: PlanNode | undefined, node: PatternNode): PlanNode {
    const slot = this.#context.newSlot();
    const source = this.#source(node, slot);
    this.#bind(node, slot);
    const plan: PlanNode =
      input === undefined || input.kind === 'argument'
        ? source
        : {kind: 'join', mode: 'inner', left: input, right: source, on: [], rightSlots: [slot]};
    return this.#filter(plan, node, slot, node.rid !== undefined || node.bucket !== undefined);
  }

  #source(node: PatternNode, slot: Slot): PlanNode {
    const context = this.#context;
    if (node.rid !== undefined) {
      const ids = bindExpression(context, makeScope(undefined, this.#parent), node.rid);
      return {kind: 'records', ids, slot, loose: false};
    }
    if (node.bucket !== undefined) {
      return {
        kind: 'scan-bucket',
        ...bindBuckets(context, [node.bucket]),
        slot,
        descending: false,
      };
    }
    const types = node.types.length > 0 ? this.#typeNames(node.types) : vertexRoots(context);
    const scans = types.map(
      (type): PlanNode => ({kind: 'scan-type', type, polymorphic: true, slot, descending: false}),
    );
    const [only, ...more] = scans;
    if (only !== undefined && more.length === 0) return only;
    return {kind: 'union', inputs: scans};
  }

  #typeNames(types: readonly Ast.Name[]): readonly string[] {
    return types.map(
      type =>
        this.#context.located(type.at, () => this.#context.catalog.requireType(type.text)).name,
    );
  }

  /** The conditions of a node that is already bound. */
  filterNode(plan: PlanNode, node: PatternNode): PlanNode {
    const slot = this.#slots.get(node.name);
    return slot === undefined ? plan : this.#filter(plan, node, slot, true);
  }

  /** @param reached - Whether the node came over an edge, so that its type is not yet known. */
  #filter(plan: PlanNode, node: PatternNode, slot: Slot, reached: boolean): PlanNode {
    const context = this.#context;
    const value = slotOf(slot);
    const terms: Expression[] = [];
    if (reached && node.types.length > 0) {
      const tests = this.#typeNames(node.types).map(type =>
        operator('instanceOf', value, literal(type)),
      );
      const [only, ...more] = tests;
      terms.push(only !== undefined && more.length === 0 ? only : {kind: 'or', terms: tests});
    }
    if (reached && node.rid !== undefined) {
      const rid = bindExpression(context, makeScope(undefined, this.#parent), node.rid);
      terms.push(operator('equal', attributeOf(value, 'rid'), rid));
    }
    const scope = this.#nodeScope(slot);
    for (const where of node.where) terms.push(bindExpression(context, scope, where));
    return filtered(plan, terms);
  }

  /** Inside a node's conditions its own properties are bare names. */
  #nodeScope(slot: Slot): Scope {
    const variables = new Map(this.variables);
    variables.set('currentMatch', slotOf(slot));
    return makeScope(slotOf(slot), this.#parent, {variables});
  }

  /** Follows an edge from its bound end; a check when both are bound. */
  bindEdge(plan: PlanNode, edge: PatternEdge): PlanNode {
    const from = this.#slots.get(edge.from.name);
    const to = this.#slots.get(edge.to.name);
    if (from === undefined) return this.#bindBackwards(plan, edge, to);
    if (to !== undefined && edge.step.kind === 'hop' && edge.repetition === undefined) {
      const direction = vertexDirection(edge.step.method);
      if (direction !== undefined) {
        // A match is made of edges: each of several between the same two nodes is one.
        const slot = this.#context.newSlot();
        const hop = {kind: 'connect', input: plan, from, to, direction, edge: slot} as const;
        return this.#overTypes(hop, edge.step.types);
      }
    }
    const reached = this.#reach(plan, from, edge.step, edge.repetition);
    if (to !== undefined) {
      const same = operator(
        'equal',
        attributeOf(slotOf(reached.slot), 'rid'),
        attributeOf(slotOf(to), 'rid'),
      );
      return filtered(reached.plan, [same]);
    }
    this.#bind(edge.to, reached.slot);
    return this.#filter(reached.plan, edge.to, reached.slot, true);
  }

  /** The hop from the edge that `edge` reaches to its other end: `.outE(){..}.inV(){..}`. */
  farEnd(edge: PatternEdge, pending: Iterable<PatternEdge>): PatternEdge | undefined {
    const method = farEnds[edge.step.kind === 'hop' ? edge.step.method : 'out'];
    if (method === undefined || edge.repetition !== undefined || this.isBound(edge.to)) {
      return undefined;
    }
    for (const other of pending) {
      const {step, to} = other;
      if (other.from !== edge.to || step.kind !== 'hop' || step.method !== method) continue;
      if (other.repetition === undefined && !to.optional && !this.isBound(to)) return other;
    }
    return undefined;
  }

  /** One hop that binds the edge and the vertex behind it. */
  bindBoth(plan: PlanNode, edge: PatternEdge, end: PatternEdge): PlanNode {
    const from = this.#slots.get(edge.from.name);
    assert(
      from !== undefined && edge.step.kind === 'hop',
      'farEnd follows a hop from a bound node',
    );
    const [edgeSlot, to] = [this.#context.newSlot(), this.#context.newSlot()];
    const direction = edgeDirections[edge.step.method] ?? 'both';
    const ends = {kind: 'follow', input: plan, from, direction, to, edge: edgeSlot} as const;
    const hop = this.#overTypes(ends, edge.step.types);
    this.#bind(edge.to, edgeSlot);
    const filtered = this.#filter(hop, edge.to, edgeSlot, true);
    this.#bind(end.to, to);
    return this.#filter(filtered, end.to, to, true);
  }

  #bindBackwards(plan: PlanNode, edge: PatternEdge, to: Slot | undefined): PlanNode {
    const {step} = edge;
    if (to === undefined || step.kind !== 'hop') {
      return this.#context.refuse(edge.at, 'this hop starts from a node that nothing binds');
    }
    const direction = reversed[vertexDirection(step.method) ?? 'both'];
    const slot = this.#context.newSlot();
    const ends = {kind: 'follow', input: plan, from: to, direction, to: slot} as const;
    const hop = this.#overTypes({...ends, edge: undefined}, step.types);
    this.#bind(edge.from, slot);
    return this.#filter(hop, edge.from, slot, true);
  }

  /** Works like `bindEdge`, but a row without a match passes with null. */
  bindOptional(input: PlanNode, edge: PatternEdge): PlanNode {
    const inner = this.bindEdge({kind: 'argument'}, edge);
    const slot = this.#slots.get(edge.to.name);
    return {
      kind: 'apply',
      mode: 'left',
      input,
      plan: inner,
      slots: slot === undefined ? [] : [slot],
    };
  }

  #reach(
    plan: PlanNode,
    from: Slot,
    step: Ast.MatchStep,
    repetition: Repetition | undefined,
  ): Reached {
    return repetition === undefined
      ? this.#once(plan, from, step)
      : this.#repeat(plan, from, step, repetition);
  }

  #once(plan: PlanNode, from: Slot, step: Ast.MatchStep): Reached {
    if (step.kind === 'block') return this.#block(plan, from, step.steps);
    const slot = this.#context.newSlot();
    const hop = {kind: 'follow', input: plan, from} as const;
    const direction = vertexDirection(step.method);
    if (direction !== undefined) {
      const ends = {...hop, direction, to: slot, edge: undefined};
      return {plan: this.#overTypes(ends, step.types), slot};
    }
    const edgeDirection = edgeDirections[step.method];
    if (edgeDirection !== undefined) {
      const ends = {...hop, direction: edgeDirection, to: undefined, edge: slot};
      return {plan: this.#overTypes(ends, step.types), slot};
    }
    const end = (name: 'out' | 'in'): Expression => ({
      kind: 'attribute',
      of: attributeOf(slotOf(from), name),
      attribute: 'this',
    });
    if (step.method !== 'bothV') {
      const value = end(step.method === 'outV' ? 'out' : 'in');
      return {plan: {kind: 'extend', input: plan, bind: [{slot, value}]}, slot};
    }
    const list: Expression = {kind: 'list', items: [end('out'), end('in')]};
    return {plan: {kind: 'unnest', input: plan, list, slot, keepEmpty: false}, slot};
  }

  /** Hops in a row; the nodes between have conditions but no names outside. */
  #block(plan: PlanNode, from: Slot, steps: readonly Ast.MatchStep[]): Reached {
    let at: Reached = {plan, slot: from};
    for (const step of steps) {
      const {node} = step;
      const repeated = node.while !== undefined || node.maxDepth !== undefined;
      at = this.#reach(at.plan, at.slot, step, repeated ? node : undefined);
      const inner: PatternNode = {
        name: '',
        named: false,
        at: node.at,
        types: node.types,
        bucket: node.bucket,
        rid: node.rid,
        where: node.where === undefined ? [] : [node.where],
        optional: false,
      };
      at = {plan: this.#filter(at.plan, inner, at.slot, true), slot: at.slot};
    }
    return at;
  }

  /** Zero or more times: the start counts as depth 0, `while` decides whether to go on. */
  #repeat(plan: PlanNode, from: Slot, step: Ast.MatchStep, repetition: Repetition): Reached {
    const context = this.#context;
    const [loop, depth] = [context.newSlot(), context.newSlot()];
    const path = repetition.pathAlias === undefined ? undefined : context.newSlot();
    const body = this.#once({kind: 'argument'}, loop, step);
    const variables = new Map(this.variables);
    variables.set('depth', slotOf(depth));
    variables.set('currentMatch', slotOf(loop));
    const scope = makeScope(slotOf(loop), this.#parent, {variables});
    const condition = repetition.while;
    const start: PlanNode = {
      kind: 'extend',
      input: plan,
      bind: [{slot: loop, value: slotOf(from)}],
    };
    this.#depth = slotOf(depth);
    if (repetition.depthAlias !== undefined) {
      this.#names.set(repetition.depthAlias.text, slotOf(depth));
    }
    if (repetition.pathAlias !== undefined && path !== undefined) {
      // The path that MATCH shows leaves out the start.
      const shown = operator('slice', slotOf(path), literal(1), literal(null));
      this.#names.set(repetition.pathAlias.text, shown);
    }
    return {
      plan: {
        kind: 'repeat',
        input: start,
        body: body.plan,
        loop,
        next: body.slot,
        depth,
        path,
        order: 'depth-first',
        depthMin: 0,
        depthMax: depthMaxOf(context, repetition.maxDepth),
        whileCondition: condition && bindExpression(context, scope, condition),
        emitOnFail: true,
        unique: 'path',
      },
      slot: loop,
    };
  }

  /**
   * The hop over edges of the types named, none meaning all. Where only a run knows the names it
   * goes over all edges and asks each whether it is of one of them.
   */
  #overTypes(hop: UntypedHop, types: readonly Ast.Expression[]): PlanNode {
    const context = this.#context;
    const names = types.flatMap(type => (isName(type) ? [type] : []));
    if (names.length === types.length) {
      const known = names.map(({at, value}) =>
        context.located(at, () => context.catalog.requireType(value)),
      );
      return {...hop, types: known.map(({name}) => name)};
    }
    const edge = hop.edge ?? context.newSlot();
    const item = context.newSlot();
    const where = operator('instanceOf', slotOf(edge), slotOf(item));
    const scope = makeScope(undefined, this.#parent);
    const terms = types.map((type): Expression => {
      const list = operator('each', bindExpression(context, scope, type));
      return {kind: 'comprehension', mode: 'any', list, item, where};
    });
    return filtered({...hop, types: [], edge}, [{kind: 'or', terms}]);
  }
}

function filtered(input: PlanNode, terms: readonly Expression[]): PlanNode {
  const [only, ...more] = terms;
  if (only === undefined) return input;
  const condition: Expression = more.length === 0 ? only : {kind: 'and', terms};
  return {kind: 'filter', input, condition};
}

function vertexDirection(method: Ast.MatchMethod): Direction | undefined {
  return method === 'out' || method === 'in' || method === 'both' ? method : undefined;
}

const farEnds: Readonly<Partial<Record<Ast.MatchMethod, Ast.MatchMethod>>> = {
  outE: 'inV',
  inE: 'outV',
};

const edgeDirections: Readonly<Partial<Record<Ast.MatchMethod, Direction>>> = {
  outE: 'out',
  inE: 'in',
  bothE: 'both',
};

/** The types that all vertices belong to. */
function vertexRoots(context: BindContext): readonly string[] {
  return [...context.catalog.types]
    .filter(type => type.kind === 'vertex' && type.superTypes.length === 0)
    .map(type => type.name);
}

/** A hop before it is known over which edges it goes. */
type UntypedHop =
  | Omit<Extract<PlanNode, {readonly kind: 'follow'}>, 'types'>
  | Omit<Extract<PlanNode, {readonly kind: 'connect'}>, 'types'>;

function isName(type: Ast.Expression): type is Ast.Expression & {readonly value: string} {
  return type.kind === 'literal' && typeof type.value === 'string';
}
