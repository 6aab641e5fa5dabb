/**
 * How much work a plan is likely to be in all, for whoever decides on which thread it runs.
 *
 * In the steps of cost.ts. A cost compares plans of one statement and leaves out what all of them
 * do; the effort counts that too: sub-plans and dear functions in expressions, and walks without
 * an end, which may come by every edge there is. What a LIMIT never asks for does not count.
 */
import type {Catalog} from '#server/catalog/catalog.ts';
import type {Expression} from '#server/plan/expression.ts';
import {functionSignature} from '#server/plan/function-table.ts';
import type {PlanNode} from '#server/plan/node.ts';
import type {Statistics} from '#server/plan/statistics.ts';
import {expressionsOf, inputsOf, visitExpression} from '#server/plan/tree.ts';
import {cost} from './cost.ts';
import {countOf, Estimates} from './estimates.ts';

const nanosPerStep = 250;
/** A call of a function of the database's own: a plan begun, or a program in JavaScript. */
const routineSteps = 50;
/** Functions from this cost on look for something in the whole graph. */
const searchNanos = 1_000_000;
/** Deeper than this a walk is taken for one without an end. */
const boundedDepthMax = 3;

export function effortOf(plan: PlanNode, catalog: Catalog, statistics: Statistics): number {
  return new Efforts(catalog, new Estimates(catalog, statistics)).of(plan, 1);
}

type Call = Expression & {readonly kind: 'call'};

class Efforts {
  readonly #catalog: Catalog;
  readonly #estimates: Estimates;
  /** Edges of a vertex, of all types. */
  #degree: number | undefined;

  constructor(catalog: Catalog, estimates: Estimates) {
    this.#catalog = catalog;
    this.#estimates = estimates;
  }

  /** @param share - Part of the node's rows that is asked for. */
  of(node: PlanNode, share: number): number {
    const inputs = inputsOf(node);
    const below = inputs.map(input => this.#estimates.of(input));
    // Estimated first, so that a sub-plan's `argument` is known.
    const {cost: whole, rows} = this.#estimates.of(node);
    const rowsIn = Math.max(inputs.length === 0 ? whole : 0, ...below.map(input => input.rows));
    const own = Math.max(0, whole - below.reduce((sum, input) => sum + input.cost, 0));
    const wanted = node.kind === 'limit' ? Math.min(share, wantedShare(node, rowsIn, rows)) : share;
    const work = share * (own + this.#unbounded(node, rowsIn) + this.#within(node, rowsIn));
    return inputs.reduce((sum, input) => sum + this.of(input, gathers(node) ? 1 : wanted), work);
  }

  #unbounded(node: PlanNode, rowsIn: number): number {
    switch (node.kind) {
      case 'walk':
      case 'chain':
      case 'repeat':
      case 'shortest':
        return (node.depthMax ?? Number.POSITIVE_INFINITY) > boundedDepthMax
          ? rowsIn * this.#edges('types' in node ? node.types : []) * cost.edge
          : 0;
      default:
        return 0;
    }
  }

  /** What the node's expressions do for each row beyond a comparison or two. */
  #within(node: PlanNode, rowsIn: number): number {
    let once = 0;
    let eachRow = 0;
    const visit = (part: Expression): void => {
      if (part.kind === 'subplan') {
        const steps = this.of(part.plan, 1);
        if (part.correlated) eachRow += steps;
        else once += steps;
      } else if (part.kind === 'routine') eachRow += routineSteps;
      else if (part.kind === 'call') eachRow += this.#call(part);
    };
    for (const expression of expressionsOf(node)) visitExpression(expression, visit);
    return once + rowsIn * eachRow;
  }

  #call({name, args}: Call): number {
    const signature = functionSignature(name);
    const nanos = signature?.cost ?? 0;
    if (signature?.needs !== 'graph') return nanos / nanosPerStep;
    if (nanos >= searchNanos) return this.#edges([]) * cost.edge;
    return (nanos / nanosPerStep) * this.#reached(args[0]);
  }

  /** Records that hops from one have come to, as in `out().out()`. */
  #reached(expression: Expression | undefined): number {
    if (expression?.kind === 'property') return this.#reached(expression.of);
    if (expression?.kind !== 'call') return 1;
    const [from] = expression.args;
    if (functionSignature(expression.name)?.needs !== 'graph') return 1;
    this.#degree ??= this.#estimates.meanDegree();
    return this.#degree * this.#reached(from);
  }

  #edges(types: readonly string[]): number {
    const roots = [...this.#catalog.types].filter(
      ({kind, superTypes}) => kind === 'edge' && superTypes.length === 0,
    );
    const names = types.length > 0 ? types : roots.map(({name}) => name);
    return names.reduce((sum, name) => sum + this.#estimates.recordCount(name), 0);
  }
}

/** Part of its input's rows that a limit takes. */
function wantedShare(
  node: PlanNode & {readonly kind: 'limit'},
  rowsIn: number,
  rows: number,
): number {
  return (countOf(node.count) ?? rows) / Math.max(1, rowsIn);
}

/** Whether the node reads all of its input before its first row, however few are wanted. */
function gathers({kind}: PlanNode): boolean {
  return (
    kind === 'aggregate' ||
    kind === 'sort' ||
    kind === 'top' ||
    kind === 'select-per-group' ||
    kind === 'barrier' ||
    kind === 'join'
  );
}
