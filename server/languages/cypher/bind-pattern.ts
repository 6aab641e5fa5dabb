/**
 * Patterns that are searched: from the bound or the most selective node outwards, hop by hop.
 *
 * Within one MATCH no relationship is met twice. A node or relationship that is bound already is
 * a condition. What a row's earlier values decide about a first node makes its scan a part of the
 * row (`apply`), so that an index can serve it; a first node of its own is a product.
 */
import type {Expression, Slot} from '#server/plan/expression.ts';
import {type PathMode, type PlanNode, reversed} from '#server/plan/node.ts';
import {isReadOnly} from '#server/plan/properties.ts';
import {slotsOf} from '#server/plan/tree.ts';
import type {NodePattern, PathSelector, Pattern, PatternHop, RelationshipPattern} from './ast.ts';
import {
  type BindContext,
  type Bound,
  filtered,
  literal,
  nothing,
  operator,
  type Scope,
  slotOf,
  type Variable,
  withVariables,
} from './bind-context.ts';
import {bindCondition} from './bind-expression.ts';
import {MetRelationships} from './met-relationships.ts';
import {PatternNames} from './pattern-names.ts';
import {nodeTerms, propertyTerms, stepCondition, whereTerms} from './bind-terms.ts';
import {
  bestStart,
  hasSubplan,
  isAcyclic,
  isLoop,
  isOneLength,
  namesOf,
  nodesOf,
  type Repeated,
  requireBounds,
  requireRound,
  sourceOf,
} from './pattern-shape.ts';
import {labelTest, plainTypes, relationshipTypes, scannedLabel} from './bind-label.ts';

type Hop = Extract<PatternHop, {kind: 'hop'}>;

/** One round of a repeated part: where it begins and ends, and what it meets. */
interface Round extends Bound {
  readonly start: Slot;
  readonly end: Slot;
  /** The slots of the edges, in the order of the walk. */
  readonly edges: readonly Slot[];
  readonly vertices: readonly Slot[];
}

export class PatternBinder {
  readonly #context: BindContext;
  #scope: Scope;
  #plan: PlanNode;
  readonly #met: MetRelationships;
  /** Slots of nodes without a name, by the pattern they stand in. */
  readonly #unnamed = new Map<NodePattern, Slot>();
  readonly #names: PatternNames;
  /** Whether a relationship may be met again everywhere. */
  readonly #repeats: boolean;
  /** What may be met again in the pattern that is being bound. */
  #mode: PathMode = 'trail';
  /** Whether a walk gives one shortest path to each node instead of all. */
  #isNearest = false;

  constructor(context: BindContext, bound: Bound, repeats = false) {
    this.#repeats = repeats;
    this.#context = context;
    this.#names = new PatternNames(context);
    this.#met = new MetRelationships(context);
    this.#plan = bound.plan;
    this.#scope = bound.scope;
  }

  get bound(): Bound {
    return {plan: this.#plan, scope: this.#scope};
  }

  /** Binds patterns that hang on something bound first: they cost least. */
  bindAll(patterns: readonly Pattern[]): void {
    for (const pattern of patterns) this.#names.check(pattern, this.#scope);
    const selected = patterns.find(pattern => pattern.selector !== undefined);
    if (selected !== undefined && patterns.length > 1) {
      this.#context.refuse(
        selected.at,
        'UnexpectedSyntax',
        'a path that is selected among others stands alone in its MATCH',
      );
    }
    const left = [...patterns];
    while (left.length > 0) {
      const at = Math.max(
        0,
        left.findIndex(pattern => nodesOf(pattern).some(node => this.#slotOf(node) !== undefined)),
      );
      const [pattern] = left.splice(at, 1);
      if (pattern !== undefined) this.#bindPattern(pattern);
    }
  }

  #bindPattern(pattern: Pattern): void {
    if (pattern.shortest !== undefined) this.#bindShortest(pattern, pattern.shortest === 'all');
    else if (pattern.selector !== undefined) this.#bindSelected(pattern, pattern.selector);
    else {
      const parts = this.#bindChain(pattern);
      const isPath = pattern.name !== undefined || pattern.mode === 'acyclic';
      const path = isPath ? this.#bindPath(parts) : undefined;
      this.#finish(pattern, path);
    }
  }

  /** The path's name, and what is asked of the path as a whole. */
  #finish({name, mode, where}: Pattern, path: Slot | undefined): void {
    if (name !== undefined && path !== undefined) this.#name(name.text, {slot: path, kind: 'path'});
    const terms: Expression[] = [];
    if (mode === 'acyclic' && path !== undefined) terms.push(isAcyclic(path));
    if (where !== undefined) terms.push(bindCondition(this.#context, this.#scope, where));
    this.#plan = filtered(this.#plan, terms);
  }

  /** Answers the nodes and, between them, a relationship or a list of them. */
  #bindChain(pattern: Pick<Pattern, 'start' | 'hops' | 'mode'>): readonly Slot[] {
    this.#mode = this.#repeats ? (pattern.mode ?? 'walk') : (pattern.mode ?? 'trail');
    const nodes = nodesOf(pattern);
    const start = bestStart(nodes, node => this.#slotOf(node) !== undefined);
    this.#bindStart(nodes[start] as NodePattern);
    const edges: (Slot | undefined)[] = pattern.hops.map(() => undefined);
    for (let at = start; at < pattern.hops.length; at++) {
      edges[at] = this.#bindHop(pattern.hops[at] as PatternHop, nodes[at] as NodePattern, false);
    }
    for (let at = start - 1; at >= 0; at--) {
      edges[at] = this.#bindHop(
        pattern.hops[at] as PatternHop,
        nodes[at + 1] as NodePattern,
        true,
        nodes[at],
      );
    }
    return nodes.flatMap((node, at): Slot[] => {
      const edge = edges[at];
      return edge === undefined ? [this.#requireSlot(node)] : [this.#requireSlot(node), edge];
    });
  }

  #bindPath(parts: readonly Slot[]): Slot {
    const slot = this.#context.newSlot();
    const value = operator('path', ...parts.map(slotOf));
    this.#plan = {kind: 'extend', input: this.#plan, bind: [{slot, value}]};
    return slot;
  }

  /** Keeps the paths between two nodes that the selector wants, for each row on its own. */
  #bindSelected(pattern: Pattern, selector: PathSelector): void {
    const [hop] = pattern.hops;
    if (hop !== undefined && selector.count === 1 && isOneLength(pattern)) {
      const isOpen =
        this.#slotOf(pattern.start) === undefined || this.#slotOf(hop.node) === undefined;
      if (selector.kind === 'shortest' && isOpen) return this.#bindNearest(pattern);
      if (selector.kind !== 'any') return this.#bindShortest(pattern, selector.kind === 'groups');
    }
    const argument: Bound = {plan: {kind: 'argument'}, scope: this.#scope};
    const inner = new PatternBinder(this.#context, argument, this.#repeats);
    const parts = inner.#bindChain(pattern);
    const path = inner.#bindPath(parts);
    inner.#finish(pattern, path);
    const {plan, scope} = inner.bound;
    const length: Expression = {kind: 'call', name: 'std.length', args: [slotOf(path)]};
    const picked: PlanNode = {
      kind: 'select-per-group',
      input: plan,
      by: [parts[0], parts.at(-1)].map(slot => slotOf(slot ?? path)),
      measure: selector.kind === 'any' ? literal(0) : length,
      count: selector.count,
      ties: selector.kind === 'groups',
    };
    const names = [...scope.variables].filter(([name]) => !this.#scope.variables.has(name));
    const slots = names.map(([, {slot}]) => slot);
    this.#plan = {kind: 'apply', mode: 'inner', input: this.#plan, plan: picked, slots};
    this.#scope = scope;
  }

  /** One shortest path to each node there is: breadth first from the end that is better known. */
  #bindNearest(pattern: Pattern): void {
    this.#isNearest = true;
    const path = this.#bindPath(this.#bindChain(pattern));
    this.#isNearest = false;
    this.#finish(pattern, path);
  }

  /** One round of a repeated part, walked from its first node or from its last. */
  #bindRound(part: Repeated, mode: Pattern['mode'], backwards: boolean): Round {
    const nodes = nodesOf(part);
    const [first, last] = [nodes[0], nodes.at(-1)] as [NodePattern, NodePattern];
    const start = this.#context.newSlot();
    this.#setSlot(backwards ? last : first, start);
    this.#bindChain({...part, mode});
    const where = part.where && bindCondition(this.#context, this.#scope, part.where);
    return {
      plan: filtered(this.#plan, where === undefined ? [] : [where]),
      scope: this.#scope,
      start,
      end: this.#requireSlot(backwards ? first : last),
      edges: this.#met.slots,
      vertices: nodes.map(node => this.#requireSlot(node)).filter(slot => slot !== start),
    };
  }

  #name(name: string, variable: Variable): void {
    this.#scope = withVariables(this.#scope, [[name, variable]]);
  }

  #slotOf(node: NodePattern): Slot | undefined {
    if (node.name !== undefined) return this.#scope.variables.get(node.name.text)?.slot;
    return this.#unnamed.get(node);
  }

  #requireSlot(node: NodePattern): Slot {
    const slot = this.#slotOf(node);
    return slot ?? this.#context.refuse(node.at, 'UndefinedVariable', 'a node that is not bound');
  }

  #setSlot(node: NodePattern, slot: Slot): void {
    if (node.name === undefined) this.#unnamed.set(node, slot);
    else this.#name(node.name.text, {slot, kind: 'node'});
  }

  #bindStart(node: NodePattern): void {
    const known = this.#slotOf(node);
    if (known !== undefined) {
      this.#plan = filtered(this.#plan, this.#nodeTerms(node, known));
      return;
    }
    const context = this.#context;
    const slot = context.newSlot();
    const outer = this.#scope;
    this.#setSlot(node, slot);
    const terms = this.#nodeTerms(node, slot, scannedLabel(context, node));
    const source = filtered(sourceOf(context, node, slot), terms);
    const isPlain = this.#plan.kind === 'unit' || this.#plan.kind === 'argument';
    const reads = terms.some(term => [...slotsOf(term)].some(read => read !== slot));
    if (isPlain) this.#plan = source;
    // What was written before must be there when the scan begins: a product reads its right first.
    else if (reads || hasSubplan(terms) || !isReadOnly(this.#plan)) {
      this.#plan = {kind: 'apply', mode: 'inner', input: this.#plan, plan: source, slots: [slot]};
    } else {
      const [left, right] = [this.#plan, source];
      this.#plan = {kind: 'join', mode: 'inner', left, right, on: [], rightSlots: [slot]};
    }
    if (node.name === undefined) this.#scope = outer;
  }

  #nodeTerms(node: NodePattern, slot: Slot, known?: string): readonly Expression[] {
    return nodeTerms(this.#context, this.#scope, node, slot, known);
  }

  /** @param backwards - Whether the hop is walked from its right end to its left one. */
  #bindHop(hop: PatternHop, from: NodePattern, backwards: boolean, left?: NodePattern): Slot {
    const to = backwards && left !== undefined ? left : hop.node;
    const start = this.#requireSlot(from);
    if (hop.kind === 'repeated') return this.#bindRepeated(hop, start, to, backwards);
    const {relationship} = hop;
    const direction = backwards ? reversed[relationship.direction] : relationship.direction;
    return relationship.length === undefined
      ? this.#single(relationship, direction, start, to)
      : this.#repeated({...hop, relationship}, direction, start, to, backwards);
  }

  /** `((a)-->(b)){1,3}`: outside, the names of the part are lists, an item a round. */
  #bindRepeated(hop: Repeated, from: Slot, node: NodePattern, backwards: boolean): Slot {
    const context = this.#context;
    requireRound(context, hop);
    // A round that ends where it began is walked as it is written, whoever asks.
    const turns = backwards && !isLoop(hop);
    const mode = this.#mode;
    requireBounds(context, mode, {min: hop.min, max: hop.max, at: hop.at});
    const argument: Bound = {plan: {kind: 'argument'}, scope: this.#scope};
    const inner = new PatternBinder(context, argument, this.#repeats);
    const round = inner.#bindRound(hop, mode, turns);
    const names = namesOf(hop).filter(
      ({name}, at, all) => all.findIndex(other => other.name.text === name.text) === at,
    );
    const lists = names.map(({name}) => ({
      from: round.scope.variables.get(name.text)?.slot ?? round.start,
      to: context.newSlot(),
    }));
    const [edges, to] = [context.newSlot(), context.newSlot()];
    this.#plan = {
      kind: 'chain',
      input: this.#plan,
      body: round.plan,
      from,
      start: round.start,
      end: round.end,
      depthMin: hop.min,
      depthMax: hop.max,
      mode,
      bodyEdges: round.edges,
      bodyVertices: round.vertices,
      to,
      edges,
      lists,
    };
    const [found = edges, ...values] = this.#inOrder([edges, ...lists.map(l => l.to)], turns);
    names.forEach(({name, kind}, at) => {
      const isEdges = kind === 'relationship';
      const slot = values[at] ?? edges;
      this.#name(name.text, {slot, kind: isEdges ? 'relationships' : 'list'});
    });
    this.#plan = filtered(this.#plan, [
      ...this.#met.addList(found, [], mode),
      ...this.#arrive(node, to),
    ]);
    return found;
  }

  /** Lists that were gathered backwards, turned around. */
  #inOrder(slots: readonly Slot[], backwards: boolean): readonly Slot[] {
    if (!backwards) return slots;
    const bind = slots.map(slot => ({
      slot: this.#context.newSlot(),
      value: {kind: 'call', name: 'std.reverse', args: [slotOf(slot)]} as const,
    }));
    this.#plan = {kind: 'extend', input: this.#plan, bind};
    return bind.map(({slot}) => slot);
  }

  /** What must hold of the node that a walk of some length ended at. */
  #arrive(node: NodePattern, to: Slot): readonly Expression[] {
    const known = this.#slotOf(node);
    if (known === undefined) this.#setSlot(node, to);
    const same = known === undefined ? [] : [operator('same', slotOf(to), slotOf(known))];
    return [...same, ...this.#nodeTerms(node, known ?? to)];
  }

  #single(
    relationship: RelationshipPattern,
    direction: RelationshipPattern['direction'],
    from: Slot,
    node: NodePattern,
  ): Slot {
    const context = this.#context;
    const named = relationship.name && this.#scope.variables.get(relationship.name.text);
    const edge = context.newSlot();
    const known = this.#slotOf(node);
    const to = known ?? context.newSlot();
    const types = relationshipTypes(context, relationship.types);
    const unlike = this.#met.others(types, this.#mode);
    const hop = {
      from,
      direction,
      types: types ?? [],
      to,
      edge,
      loops: 'once',
      ...(unlike.single.length > 0 && {unlike: unlike.single}),
    } as const;
    const input = types === undefined ? nothing(this.#plan) : this.#plan;
    this.#plan =
      known === undefined ? {kind: 'follow', input, ...hop} : {kind: 'connect', input, ...hop};
    if (known === undefined) this.#setSlot(node, to);
    const terms: Expression[] = [];
    if (named !== undefined) terms.push(operator('same', slotOf(edge), slotOf(named.slot)));
    else if (relationship.name !== undefined) {
      this.#name(relationship.name.text, {slot: edge, kind: 'relationship'});
    }
    const value = slotOf(edge);
    if (relationship.types !== undefined && plainTypes(relationship.types) === undefined) {
      terms.push(labelTest(value, relationship.types));
    }
    terms.push(
      ...propertyTerms(context, this.#scope, relationship, value),
      ...whereTerms(context, this.#scope, relationship),
    );
    for (const list of unlike.lists) terms.push(operator('disjoint', slotOf(edge), slotOf(list)));
    this.#met.add({slot: edge, isList: false, types}, this.#mode);
    terms.push(...this.#nodeTerms(node, to));
    this.#plan = filtered(this.#plan, terms);
    return edge;
  }

  #repeated(
    {relationship}: Hop,
    direction: RelationshipPattern['direction'],
    from: Slot,
    node: NodePattern,
    backwards: boolean,
  ): Slot {
    const context = this.#context;
    const {length, name} = relationship;
    const bound = name && this.#scope.variables.get(name.text);
    const [edges, to, edge] = [context.newSlot(), context.newSlot(), context.newSlot()];
    const mode = this.#mode;
    if (!this.#isNearest) requireBounds(context, mode, {...length, at: relationship.at});
    const types = relationshipTypes(context, relationship.types);
    this.#plan = {
      kind: 'walk',
      input: this.#plan,
      from,
      direction,
      types: types ?? [],
      depthMin: length?.min ?? 1,
      depthMax: length?.max,
      mode: this.#isNearest ? 'reach' : mode,
      to,
      edges,
      path: undefined,
      depth: undefined,
      edge,
      condition: stepCondition(context, this.#scope, relationship, edge, types === undefined),
    };
    const [found = edges] = this.#inOrder([edges], backwards);
    const terms: Expression[] = [...this.#met.addList(found, types, mode)];
    if (bound !== undefined) terms.push(operator('same', slotOf(found), slotOf(bound.slot)));
    else if (name !== undefined) this.#name(name.text, {slot: found, kind: 'relationships'});
    this.#plan = filtered(this.#plan, [...terms, ...this.#arrive(node, to)]);
    return found;
  }

  #bindShortest(pattern: Pattern, all: boolean): void {
    const context = this.#context;
    const [hop, ...more] = pattern.hops;
    if (hop === undefined || hop.kind !== 'hop' || more.length > 0) {
      return context.refuse(pattern.at, 'UnexpectedSyntax', 'a shortest path has one relationship');
    }
    this.#bindStart(pattern.start);
    this.#bindStart(hop.node);
    const {relationship} = hop;
    const types = relationshipTypes(context, relationship.types);
    const [path, edge] = [context.newSlot(), context.newSlot()];
    const from = slotOf(this.#requireSlot(pattern.start));
    const to = slotOf(this.#requireSlot(hop.node));
    const isNone = types === undefined;
    const condition = stepCondition(context, this.#scope, relationship, edge, isNone);
    this.#plan = {
      kind: 'shortest',
      input: this.#plan,
      from,
      to,
      direction: relationship.direction,
      types: types ?? [],
      depthMax: relationship.length === undefined ? 1 : relationship.length.max,
      all,
      path,
      ...(condition && {edge, condition}),
    };
    // A path of no step to the node itself is asked for by a least length of nothing alone.
    const isLongEnough =
      pattern.selector !== undefined && relationship.length?.min !== 0
        ? [operator('differs', from, to)]
        : [];
    const found: Expression = {kind: 'not', of: {kind: 'is-null', of: slotOf(path)}};
    this.#plan = filtered(this.#plan, [...isLongEnough, found]);
    if (pattern.name !== undefined) this.#name(pattern.name.text, {slot: path, kind: 'path'});
    if (relationship.name !== undefined) {
      const slot = context.newSlot();
      const value: Expression = {kind: 'call', name: 'std.relationships', args: [slotOf(path)]};
      this.#plan = {kind: 'extend', input: this.#plan, bind: [{slot, value}]};
      this.#name(relationship.name.text, {slot, kind: 'relationships'});
    }
  }
}
