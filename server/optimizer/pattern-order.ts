/**
 * The cheapest order of a pattern that is found by looking one step ahead.
 *
 * Parts that hang together by edges are bound one after the other. In a part every node that can
 * be scanned is tried as the first; from there the step that leaves the fewest rows comes next: an
 * edge between bound vertices, else a hop over an edge in either direction. Conditions are tested
 * as soon as what they read is bound. Parts are joined: row by row where what is bound already
 * leads into an index of the next, by equal keys through a table, else as a product.
 */
import type {Expression, Slot} from '#server/plan/expression.ts';
import {type PlanNode, reversed} from '#server/plan/node.ts';
import {boundSlots, partsOf, slotsOf} from '#server/plan/tree.ts';
import {conjunction, conjunctsOf, filtered} from './conjuncts.ts';
import type {Estimate} from './estimates.ts';
import type {Pattern, PatternHop} from './pattern.ts';
import {PatternNodes, type Start} from './pattern-nodes.ts';
import type {RuleContext} from './rule.ts';
import {cheapestAccess} from './rules/choose-index.ts';

/** Beyond this the first nodes that promise most are tried, not all. */
const startsMax = 8;
/** Rows that a product or a table of keys keeps at most: they lie in memory. */
const keptRowsMax = 200_000;

/** A plan for some of the pattern, and what is left of it. */
interface Partial {
  readonly plan: PlanNode;
  /** Slots of the pattern that the plan binds. */
  readonly bound: ReadonlySet<Slot>;
  readonly hops: readonly PatternHop[];
  readonly terms: readonly Expression[];
}

export class PatternOrder {
  readonly #pattern: Pattern;
  readonly #context: RuleContext;
  readonly #nodes: PatternNodes;
  /** All slots that the pattern binds; others are of the row around it. */
  readonly #own: ReadonlySet<Slot>;

  constructor(pattern: Pattern, context: RuleContext) {
    this.#pattern = pattern;
    this.#context = context;
    this.#nodes = new PatternNodes(pattern, context);
    const {base, hops} = pattern;
    this.#own = new Set([
      ...(base === undefined ? [] : boundSlots(base)),
      ...this.#nodes.slots,
      ...hops.flatMap(({edge}) => (edge === undefined ? [] : [edge])),
    ]);
  }

  /** The whole pattern in its best order; undefined when a part of it cannot be begun. */
  plan(): PlanNode | undefined {
    const {base, hops} = this.#pattern;
    const terms = this.#nodes.terms;
    const first: Partial = {
      plan: base ?? {kind: 'unit'},
      bound: base === undefined ? new Set() : boundSlots(base),
      hops,
      terms,
    };
    let done = this.#grown(this.#tested(first));
    for (;;) {
      const open = this.#nodes.slots.filter(slot => !this.#isBound(slot, done));
      if (open.length === 0) return this.#isWhole(done) ? done.plan : undefined;
      const next = this.#cheapest(
        this.#partsOf(open, done).flatMap(part => this.#joined(done, part)),
      );
      if (next === undefined) return undefined;
      done = this.#grown(next);
    }
  }

  #isWhole({hops, terms}: Partial): boolean {
    return hops.length === 0 && terms.length === 0;
  }

  #isBound(slot: Slot, {bound}: Partial): boolean {
    return bound.has(slot) || !this.#own.has(slot);
  }

  #estimate(plan: PlanNode): Estimate {
    return this.#context.estimates.of(plan);
  }

  #cheapest(all: readonly Partial[]): Partial | undefined {
    let best: Partial | undefined;
    for (const each of all) {
      if (best === undefined || this.#estimate(each.plan).cost < this.#estimate(best.plan).cost) {
        best = each;
      }
    }
    return best;
  }

  /** Tests every condition that reads nothing but what is bound. */
  #tested(partial: Partial): Partial {
    const ready: Expression[] = [];
    const terms: Expression[] = [];
    for (const term of partial.terms) {
      const isReady = [...slotsOf(term)].every(slot => this.#isBound(slot, partial));
      (isReady ? ready : terms).push(term);
    }
    // What runs a plan for each row comes behind what only looks at it.
    const ordered = [...ready.filter(term => !hasPlan(term)), ...ready.filter(hasPlan)];
    return {...partial, plan: filtered(partial.plan, ordered), terms};
  }

  /** Follows edges from what is bound until none is left that begins there. */
  #grown(start: Partial): Partial {
    let done = start;
    for (;;) {
      const steps = done.hops.flatMap(hop => this.#step(done, hop) ?? []);
      let best: Partial | undefined;
      for (const step of steps) {
        const rows = this.#estimate(step.plan).rows;
        if (best === undefined || rows < this.#estimate(best.plan).rows) best = step;
      }
      if (best === undefined) return done;
      done = best;
    }
  }

  /** One edge more; undefined when it does not touch what is bound, or only its wrong end. */
  #step(done: Partial, hop: PatternHop): Partial | undefined {
    const [from, to] = [this.#isBound(hop.from, done), this.#isBound(hop.to, done)];
    const {direction, types, loops} = hop;
    const unlike = this.#unlike(done, hop);
    const more = {
      direction,
      types,
      ...(loops && {loops}),
      ...(unlike.length > 0 && {unlike}),
    };
    const input = done.plan;
    let plan: PlanNode;
    let bound: readonly (Slot | undefined)[];
    if (from && to) {
      const edge = hop.edge ?? this.#context.newSlot();
      plan = {kind: 'connect', input, from: hop.from, to: hop.to, ...more, edge};
      bound = [hop.edge];
    } else if (from && this.#nodes.isReached(hop.to)) {
      plan = {kind: 'follow', input, from: hop.from, to: hop.to, ...more, edge: hop.edge};
      bound = [hop.edge, hop.to];
    } else if (to && this.#nodes.isReached(hop.from) && this.#nodes.isReversible(hop)) {
      const turned = {...more, direction: reversed[direction]};
      plan = {kind: 'follow', input, from: hop.to, to: hop.from, ...turned, edge: hop.edge};
      bound = [hop.edge, hop.from];
    } else return undefined;
    return this.#tested({
      plan,
      bound: new Set([...done.bound, ...bound.filter(slot => slot !== undefined)]),
      hops: done.hops.filter(other => other !== hop),
      terms: done.terms,
    });
  }

  /** The later of two edges that must differ looks at the earlier one. */
  #unlike(done: Partial, hop: PatternHop): readonly Slot[] {
    const later = this.#pattern.hops.flatMap(({edge, unlike}) =>
      edge !== undefined && hop.edge !== undefined && unlike.includes(hop.edge) ? [edge] : [],
    );
    return [...hop.unlike, ...later].filter(edge => this.#isBound(edge, done));
  }

  /** The connected parts of what is open, as far as edges reach. */
  #partsOf(open: readonly Slot[], {hops}: Partial): readonly ReadonlySet<Slot>[] {
    const parts: Set<Slot>[] = [];
    for (const slot of open) {
      if (parts.some(part => part.has(slot))) continue;
      const part = new Set([slot]);
      for (let size = 0; size < part.size; ) {
        size = part.size;
        for (const {from, to} of hops) {
          if (part.has(from) && open.includes(to)) part.add(to);
          if (part.has(to) && open.includes(from)) part.add(from);
        }
      }
      parts.push(part);
    }
    return parts;
  }

  /** The ways to add a part to what is done. */
  #joined(done: Partial, part: ReadonlySet<Slot>): readonly Partial[] {
    const isFirst = done.plan.kind === 'unit' || done.plan.kind === 'argument';
    const alone = this.#begun(done, part, new Set());
    if (isFirst) return alone === undefined ? [] : [this.#rejoined(done, alone, alone.plan)];
    const found: Partial[] = [];
    if (alone !== undefined && this.#estimate(alone.plan).rows <= keptRowsMax) {
      found.push(this.#beside(done, alone));
    }
    const links = done.terms.some(term => {
      const slots = [...slotsOf(term)];
      return slots.some(slot => part.has(slot)) && slots.some(slot => done.bound.has(slot));
    });
    const within = links || found.length === 0 ? this.#begun(done, part, done.bound) : undefined;
    if (within !== undefined) found.push(this.#within(done, within));
    return found;
  }

  /** A plan for one part, from the first node from which it is cheapest. */
  #begun(done: Partial, part: ReadonlySet<Slot>, around: ReadonlySet<Slot>): Partial | undefined {
    const hops = done.hops.filter(({from, to}) => part.has(from) && part.has(to));
    const rest = {hops, terms: done.terms};
    const starts = [...part].flatMap(slot => this.#nodes.startOf(slot) ?? []);
    const begun = starts
      .map(start => this.#start(start, {...rest, plan: {kind: 'argument'}, bound: around}))
      .sort((a, b) => this.#estimate(a.plan).rows - this.#estimate(b.plan).rows);
    const all = begun
      .slice(0, startsMax)
      .map(first => this.#grown(first))
      .filter(grown => grown.hops.length === 0 && [...part].every(slot => grown.bound.has(slot)));
    return this.#cheapest(all);
  }

  /** The first node by its cheapest access, with all that may be asked of it. */
  #start({slot, source, known}: Start, rest: Partial): Partial {
    const bound = new Set([...rest.bound, slot]);
    const open = rest.terms.filter(term => term !== known);
    const {plan, terms} = this.#tested({...rest, plan: source, bound, terms: open});
    if (source.kind !== 'scan-type' || plan.kind !== 'filter') return {...rest, plan, bound, terms};
    const asked = conjunctsOf(plan.condition);
    const [above, own] = [asked.filter(hasPlan), asked.filter(term => !hasPlan(term))];
    const where = conjunction([...conjunctsOf(source.where), ...own]);
    const scan = where === undefined ? source : {...source, where};
    const access = where === undefined ? scan : cheapestAccess(scan, this.#context);
    return {...rest, plan: filtered(access, above), bound, terms};
  }

  /** Joins two parts by equal keys, else every pair. */
  #beside(done: Partial, part: Partial): Partial {
    const on = done.terms.flatMap(term => this.#nodes.keysOf(term, done.bound, part.bound) ?? []);
    // The smaller side is kept.
    const isSmaller = this.#estimate(part.plan).rows <= this.#estimate(done.plan).rows;
    const turns = !isSmaller && this.#pattern.base === undefined;
    const [left, right] = turns ? [part, done] : [done, part];
    const plan: PlanNode = {
      kind: 'join',
      mode: 'inner',
      left: left.plan,
      right: right.plan,
      on: turns ? on.map(pair => ({left: pair.right, right: pair.left})) : on,
      rightSlots: [...boundSlots(right.plan)],
    };
    return this.#rejoined(done, part, plan);
  }

  /** The part once for each row, which leads into an index. */
  #within(done: Partial, part: Partial): Partial {
    const slots = [...boundSlots(part.plan)].filter(slot => !done.bound.has(slot));
    const input = done.plan;
    const plan: PlanNode = {kind: 'apply', mode: 'inner', input, plan: part.plan, slots};
    return this.#rejoined(done, part, plan);
  }

  /** Both together, and what neither has done. */
  #rejoined(done: Partial, part: Partial, plan: PlanNode): Partial {
    const bound = new Set([...done.bound, ...part.bound]);
    const isNew = (slot: Slot): boolean => part.bound.has(slot) && !done.bound.has(slot);
    const hops = done.hops.filter(({from, to}) => !(isNew(from) && isNew(to)));
    const terms = done.terms.filter(term => part.terms.includes(term));
    return this.#tested({plan, bound, hops, terms});
  }
}

function hasPlan(term: Expression): boolean {
  return term.kind === 'subplan' || partsOf(term).some(hasPlan);
}
