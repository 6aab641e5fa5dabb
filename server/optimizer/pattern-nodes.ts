/** The vertices of a pattern: where each may be begun, what it must be, and which edges turn. */
import {hasExactKeys} from '#server/model/data-type.ts';
import type {Expression, Slot} from '#server/plan/expression.ts';
import {slotsOf} from '#server/plan/tree.ts';
import {conjunctsOf} from './conjuncts.ts';
import type {Pattern, PatternHop, PatternSource} from './pattern.ts';
import type {RuleContext} from './rule.ts';
import {typeTestOf} from '#server/plan/type-test.ts';

/** A vertex that can be found without another. */
export interface Start {
  readonly slot: Slot;
  readonly source: PatternSource;
  /** The condition that every record of the source meets. */
  readonly known: Expression | undefined;
}

export class PatternNodes {
  /** The slots of all vertices that the pattern binds itself. */
  readonly slots: readonly Slot[];
  /** All conditions, those included that only say of what type a scanned vertex is. */
  readonly terms: readonly Expression[];
  readonly #context: RuleContext;
  readonly #starts = new Map<Slot, Start>();
  /** Vertices that must be begun from: what their source is cannot be asked of a record. */
  readonly #fixed = new Set<Slot>();

  constructor(pattern: Pattern, context: RuleContext) {
    this.#context = context;
    this.slots = [...pattern.sources.keys(), ...pattern.reached];
    const terms = [...pattern.terms];
    for (const [slot, source] of pattern.sources) {
      const known = this.#testOf(slot, source);
      if (source.kind === 'scan-type') {
        terms.push(...conjunctsOf(source.where));
        const {where: _, ...bare} = source;
        this.#starts.set(slot, {slot, source: bare, known});
      } else this.#starts.set(slot, {slot, source, known});
      if (known !== undefined) terms.unshift(known);
      else if (!this.#isEveryVertex(source)) this.#fixed.add(slot);
    }
    for (const slot of pattern.reached) {
      const start = this.#typedStart(slot, pattern.terms);
      if (start !== undefined) this.#starts.set(slot, start);
    }
    this.terms = terms;
  }

  startOf(slot: Slot): Start | undefined {
    return this.#starts.get(slot);
  }

  /** Whether a hop may bind the vertex. */
  isReached(slot: Slot): boolean {
    return !this.#fixed.has(slot);
  }

  /** Whether the far end knows of the edge. */
  isReversible({types}: PatternHop): boolean {
    const {catalog} = this.#context;
    const walked =
      types.length === 0
        ? [...catalog.types]
        : types.flatMap(name => catalog.type(name)?.family ?? []);
    return !walked.some(type => type.edge.unidirectional);
  }

  /** The two sides of an equality between what is in `left` and what is in `right`. */
  keysOf(
    term: Expression,
    left: ReadonlySet<Slot>,
    right: ReadonlySet<Slot>,
  ): {readonly left: Expression; readonly right: Expression} | undefined {
    if (term.kind !== 'call') return undefined;
    const [one, other] = term.args;
    if (one === undefined || other === undefined) return undefined;
    // What converts finds more than equal keys, unless both are of one form.
    const isSame = term.name === 'op:same';
    if (!isSame && !(term.name === 'op:equal' && this.#isOneForm(one, other))) return undefined;
    if (isWithin(one, left) && isWithin(other, right)) return {left: one, right: other};
    if (isWithin(other, left) && isWithin(one, right)) return {left: other, right: one};
    return undefined;
  }

  #isOneForm(one: Expression, other: Expression): boolean {
    const type = this.#declaredType(one);
    return hasExactKeys(type) && type === this.#declaredType(other);
  }

  #declaredType(expression: Expression) {
    if (expression.kind !== 'property' || expression.of.kind !== 'slot') return undefined;
    const source = this.#starts.get(expression.of.slot)?.source;
    if (source?.kind !== 'scan-type') return undefined;
    return this.#context.catalog.type(source.type)?.properties.get(expression.name)?.type;
  }

  /** What tells the records of a source from others that an edge may lead to. */
  #testOf(slot: Slot, source: PatternSource): Expression | undefined {
    if (source.kind !== 'scan-type') return undefined;
    const of: Expression = {kind: 'slot', slot};
    const type: Expression = {kind: 'literal', value: source.type};
    if (source.polymorphic) return {kind: 'call', name: 'op:instanceOf', args: [of, type]};
    const own: Expression = {kind: 'attribute', of, attribute: 'type'};
    return {kind: 'call', name: 'op:equal', args: [own, type]};
  }

  /** Scans that together give every vertex there is. */
  #isEveryVertex(source: PatternSource): boolean {
    if (source.kind !== 'union') return false;
    const {catalog} = this.#context;
    const scanned = new Set<number>();
    for (const scan of source.inputs) {
      if (scan.kind !== 'scan-type' || scan.where !== undefined) return false;
      const type = catalog.requireType(scan.type);
      for (const id of scan.polymorphic ? type.familyIds : [type.id]) scanned.add(id);
    }
    return [...catalog.types].every(({kind, id}) => kind !== 'vertex' || scanned.has(id));
  }

  /** A vertex that only edges lead to, by a type that it must be of. */
  #typedStart(slot: Slot, terms: readonly Expression[]): Start | undefined {
    const {catalog, estimates} = this.#context;
    let best: (Start & {readonly count: number}) | undefined;
    for (const known of terms) {
      const test = typeTestOf(known);
      if (test?.slot !== slot) continue;
      const type = catalog.type(test.type);
      if (type?.kind !== 'vertex' || (test.isLabel && type.name !== test.type)) continue;
      const count = estimates.recordCount(type.name);
      if (best !== undefined && best.count <= count) continue;
      const source: PatternSource = {
        kind: 'scan-type',
        type: type.name,
        polymorphic: true,
        slot,
        descending: false,
      };
      best = {slot, source, known, count};
    }
    return best;
  }
}

function isWithin(expression: Expression, slots: ReadonlySet<Slot>): boolean {
  const read = [...slotsOf(expression)];
  return read.length > 0 && read.every(slot => slots.has(slot));
}
