/**
 * Patterns that are searched: from the bound or the most selective node outwards, hop by hop.
 *
 * Within one MATCH no relationship is met twice. A node or relationship that is bound already is
 * a condition. What a row's earlier values decide about a first node makes its scan a part of the
 * row (`apply`), so that an index can serve it; a first node of its own is a product.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {isReadOnly} from '#server/plan/properties.ts';
import {slotsOf, visitExpression} from '#server/plan/tree.ts';
import type {Name, NodePattern, Pattern, PatternHop, RelationshipPattern} from './ast.ts';
import {
  type BindContext,
  type Bound,
  type Kind,
  filtered,
  literal,
  nothing,
  operator,
  type Scope,
  slotOf,
  type Variable,
  withVariables,
} from './bind-context.ts';
import {bindExpression} from './bind-expression.ts';
import {edgeTypes, labelTest, plainLabels, plainTypes} from './bind-label.ts';

type Hop = Extract<PatternHop, {kind: 'hop'}>;

/** What a path is made of: nodes, and between them a relationship or a list of them. */
type PathPart = Slot;

export class PatternBinder {
  readonly #context: BindContext;
  #scope: Scope;
  #plan: PlanNode;
  /** Relationships of this MATCH so far. */
  readonly #edges: {readonly slot: Slot; readonly isList: boolean}[] = [];
  /** Slots of nodes without a name, by the pattern they stand in. */
  readonly #unnamed = new Map<NodePattern, Slot>();
  /** What the names of this MATCH itself stand for. */
  readonly #kinds = new Map<string, Kind>();

  constructor(context: BindContext, bound: Bound) {
    this.#context = context;
    this.#plan = bound.plan;
    this.#scope = bound.scope;
  }

  get bound(): Bound {
    return {plan: this.#plan, scope: this.#scope};
  }

  /** Those that hang on something bound come first: they cost least. */
  bindAll(patterns: readonly Pattern[]): void {
    for (const pattern of patterns) this.#checkNames(pattern);
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

  /** Names keep their meaning, as they are written: a node is no relationship, a path is new. */
  #checkNames(pattern: Pattern): void {
    for (const {name, kind} of namesOf(pattern)) {
      const {text, at} = name;
      const known = this.#kinds.get(text) ?? this.#scope.variables.get(text)?.kind;
      if (text === pattern.name?.text) this.#alreadyBound(at, text);
      if (known !== undefined && known !== kind && known !== 'any' && known !== 'null') {
        if (!(kind === 'relationships' && known === 'list')) this.#conflict(at, text);
      }
      const isEdge = kind === 'relationship' || kind === 'relationships';
      if (isEdge && this.#kinds.has(text)) {
        this.#context.refuse(
          at,
          'RelationshipUniquenessViolation',
          `the relationship '${text}' stands twice in one pattern`,
        );
      }
      this.#kinds.set(text, kind);
    }
    const {name} = pattern;
    if (name === undefined) return;
    if (this.#kinds.has(name.text) || this.#scope.variables.has(name.text)) {
      this.#alreadyBound(name.at, name.text);
    }
    this.#kinds.set(name.text, 'path');
  }

  #alreadyBound(at: number, name: string): never {
    return this.#context.refuse(at, 'VariableAlreadyBound', `'${name}' is bound already`);
  }

  #conflict(at: number, name: string): never {
    return this.#context.refuse(
      at,
      'VariableTypeConflict',
      `'${name}' stands for another kind of value already`,
    );
  }

  #bindPattern(pattern: Pattern): void {
    if (pattern.shortest !== undefined) return this.#bindShortest(pattern);
    const nodes = nodesOf(pattern);
    const start = this.#startOf(nodes);
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
    if (pattern.name !== undefined) {
      const parts = nodes.flatMap((node, at): PathPart[] => {
        const edge = edges[at];
        return edge === undefined ? [this.#requireSlot(node)] : [this.#requireSlot(node), edge];
      });
      this.#bindPath(pattern.name.text, parts);
    }
  }

  #bindPath(name: string, parts: readonly PathPart[]): void {
    const slot = this.#context.newSlot();
    const value = operator('path', ...parts.map(slotOf));
    this.#plan = {kind: 'extend', input: this.#plan, bind: [{slot, value}]};
    this.#name(name, {slot, kind: 'path'});
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

  /** A bound node; else one with properties, with labels, or the first. */
  #startOf(nodes: readonly NodePattern[]): number {
    const rank = (node: NodePattern): number => {
      if (this.#slotOf(node) !== undefined) return 3;
      if (node.labels === undefined) return 0;
      return node.properties === undefined && node.where === undefined ? 1 : 2;
    };
    let best = 0;
    nodes.forEach((node, at) => {
      if (rank(node) > rank(nodes[best] as NodePattern)) best = at;
    });
    return best;
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
    const terms = this.#nodeTerms(node, slot);
    const source = filtered(this.#source(node, slot), terms);
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

  #source(node: NodePattern, slot: Slot): PlanNode {
    const {catalog} = this.#context;
    const labels = plainLabels(node.labels);
    const first = labels?.[0]?.text;
    if (first !== undefined) {
      const type = catalog.type(first);
      if (type?.kind !== 'vertex') return nothing(scanOf([], slot));
      return scanOf([type.name], slot);
    }
    // Each type's own records: one of several labels would be met under each of them.
    const vertices = [...catalog.types].filter(type => type.kind === 'vertex');
    return scanOf(
      vertices.map(type => type.name),
      slot,
      false,
    );
  }

  /** What a node must be: its labels, its properties, its condition. */
  #nodeTerms(node: NodePattern, slot: Slot): readonly Expression[] {
    const value = slotOf(slot);
    const labels = node.labels === undefined ? [] : [labelTest(value, node.labels)];
    return [...labels, ...this.#propertyTerms(node, value), ...this.#whereTerms(node)];
  }

  #propertyTerms(
    {properties}: Pick<NodePattern, 'properties'>,
    value: Expression,
  ): readonly Expression[] {
    if (properties === undefined) return [];
    if (properties.kind === 'parameter') {
      return this.#context.refuse(
        properties.at,
        'InvalidParameterUse',
        'a parameter cannot stand for the properties of a pattern that is searched',
      );
    }
    return properties.entries.map(entry =>
      operator(
        'same',
        {kind: 'property', of: value, name: entry.key.text, each: false},
        bindExpression(this.#context, {...this.#scope, allowsPatterns: false}, entry.value),
      ),
    );
  }

  #whereTerms({where}: Pick<NodePattern, 'where'>): readonly Expression[] {
    return where === undefined ? [] : [bindExpression(this.#context, this.#scope, where)];
  }

  /** @param backwards - Whether the hop is walked from its right end to its left one. */
  #bindHop(hop: PatternHop, from: NodePattern, backwards: boolean, left?: NodePattern): Slot {
    if (hop.kind === 'repeated') {
      const what = 'a repeated part of a path is not available yet: use a length as in [:T*1..3]';
      throw new Refusal('not-available', what, {
        place: this.#context.place(hop.at),
        detail: {name: 'repeated parts of a path'},
      });
    }
    const to = backwards && left !== undefined ? left : hop.node;
    const {relationship} = hop;
    const direction = backwards ? reversed[relationship.direction] : relationship.direction;
    const start = this.#requireSlot(from);
    return relationship.length === undefined
      ? this.#single(relationship, direction, start, to)
      : this.#repeated({...hop, relationship}, direction, start, to, backwards);
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
    const types = this.#types(relationship);
    const hop = {from, direction, types: types ?? [], to, edge, loops: 'once'} as const;
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
    terms.push(...this.#propertyTerms(relationship, value), ...this.#whereTerms(relationship));
    terms.push(...this.#unlike(edge, false));
    if (known === undefined) terms.push(...this.#nodeTerms(node, to));
    else terms.push(...this.#nodeTerms(node, known));
    this.#plan = filtered(this.#plan, terms);
    return edge;
  }

  #types(relationship: RelationshipPattern): readonly string[] | undefined {
    const names = plainTypes(relationship.types);
    return names === undefined ? [] : edgeTypes(this.#context, names);
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
    const types = this.#types(relationship);
    const value = slotOf(edge);
    const conditions = [
      ...(types === undefined ? [literal(false)] : []),
      ...this.#propertyTerms(relationship, value),
    ];
    const condition: Expression | undefined =
      conditions.length === 0 ? undefined : {kind: 'and', terms: conditions};
    this.#plan = {
      kind: 'walk',
      input: this.#plan,
      from,
      direction,
      types: types ?? [],
      depthMin: length?.min ?? 1,
      depthMax: length?.max,
      mode: 'trail',
      to,
      edges,
      path: undefined,
      depth: undefined,
      edge,
      condition,
    };
    let found = edges;
    if (backwards) {
      found = context.newSlot();
      const reversedEdges: Expression = {kind: 'call', name: 'std.reverse', args: [slotOf(edges)]};
      this.#plan = {kind: 'extend', input: this.#plan, bind: [{slot: found, value: reversedEdges}]};
    }
    const terms: Expression[] = [...this.#unlike(found, true)];
    if (bound !== undefined) terms.push(operator('same', slotOf(found), slotOf(bound.slot)));
    else if (name !== undefined) this.#name(name.text, {slot: found, kind: 'relationships'});
    const known = this.#slotOf(node);
    if (known === undefined) this.#setSlot(node, to);
    else terms.push(operator('same', slotOf(to), slotOf(known)));
    terms.push(...this.#nodeTerms(node, known ?? to));
    this.#plan = filtered(this.#plan, terms);
    return found;
  }

  /** The relationship is none of those before it. */
  #unlike(slot: Slot, isList: boolean): readonly Expression[] {
    const terms = this.#edges.map(other => {
      if (!isList && !other.isList) return operator('differs', slotOf(slot), slotOf(other.slot));
      return operator('disjoint', slotOf(slot), slotOf(other.slot));
    });
    this.#edges.push({slot, isList});
    return terms;
  }

  #bindShortest(pattern: Pattern): void {
    const context = this.#context;
    const [hop, ...more] = pattern.hops;
    if (hop === undefined || hop.kind !== 'hop' || more.length > 0) {
      return context.refuse(pattern.at, 'UnexpectedSyntax', 'a shortest path has one relationship');
    }
    this.#bindStart(pattern.start);
    this.#bindStart(hop.node);
    const {relationship} = hop;
    const types = this.#types(relationship);
    const path = context.newSlot();
    const input = types === undefined ? nothing(this.#plan) : this.#plan;
    this.#plan = {
      kind: 'shortest',
      input,
      from: slotOf(this.#requireSlot(pattern.start)),
      to: slotOf(this.#requireSlot(hop.node)),
      direction: relationship.direction,
      types: types ?? [],
      depthMax: relationship.length === undefined ? 1 : relationship.length.max,
      all: pattern.shortest === 'all',
      path,
    };
    const found: Expression = {kind: 'not', of: {kind: 'is-null', of: slotOf(path)}};
    this.#plan = filtered(this.#plan, [found]);
    if (pattern.name !== undefined) this.#name(pattern.name.text, {slot: path, kind: 'path'});
    if (relationship.name !== undefined) {
      const slot = context.newSlot();
      const value: Expression = {kind: 'call', name: 'std.relationships', args: [slotOf(path)]};
      this.#plan = {kind: 'extend', input: this.#plan, bind: [{slot, value}]};
      this.#name(relationship.name.text, {slot, kind: 'relationships'});
    }
  }
}

/** The names of a pattern's nodes and relationships, as they are written. */
function namesOf(pattern: Pattern): readonly {readonly name: Name; readonly kind: Kind}[] {
  const names: {readonly name: Name; readonly kind: Kind}[] = [];
  const add = (name: Name | undefined, kind: Kind): void => {
    if (name !== undefined) names.push({name, kind});
  };
  add(pattern.start.name, 'node');
  for (const hop of pattern.hops) {
    if (hop.kind === 'hop') {
      const {name, length} = hop.relationship;
      add(name, length === undefined ? 'relationship' : 'relationships');
    }
    add(hop.node.name, 'node');
  }
  return names;
}

const reversed = {out: 'in', in: 'out', both: 'both'} as const;

export function nodesOf(pattern: Pattern): readonly NodePattern[] {
  return [pattern.start, ...pattern.hops.map(hop => hop.node)];
}

/** All records of the types; none without types. */
function scanOf(types: readonly string[], slot: Slot, polymorphic = true): PlanNode {
  const scans = types.map(
    (type): PlanNode => ({kind: 'scan-type', type, polymorphic, slot, descending: false}),
  );
  const [only, ...more] = scans;
  if (only === undefined) return {kind: 'values', slots: [slot], rows: []};
  return more.length === 0 ? only : {kind: 'union', inputs: scans};
}

function hasSubplan(terms: readonly Expression[]): boolean {
  let found = false;
  for (const term of terms) {
    visitExpression(term, part => {
      if (part.kind === 'subplan') found = true;
    });
  }
  return found;
}
