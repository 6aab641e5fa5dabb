/**
 * What follows from a plan without running it: its effects, whether it may be repeated, the
 * order it guarantees.
 *
 * Effects are an upper bound: a plan touches no type that is not in them. `readsAny` and
 * `writesAny` stand for types that are known only when it runs (records by id, hops over every
 * edge type). Security, replicas and the executor's barriers rely on that.
 */
import {words} from '#server/base/words.ts';
import type {Expression} from './expression.ts';
import {functionSignature} from './function-table.ts';
import type {PlanNode, SortKey} from './node.ts';
import {
  expressionsOf,
  inputsOf,
  partsOf,
  runsPlan,
  slotsOf,
  visitExpression,
  visitPlan,
} from './tree.ts';

export interface Effects {
  /** Types by name, subtypes implied. */
  readonly reads: ReadonlySet<string>;
  readonly readsAny: boolean;
  readonly creates: ReadonlySet<string>;
  /** Creates records of types that are known only when it runs. */
  readonly createsAny: boolean;
  /** Changes or deletes records of types that are known only when it runs. */
  readonly changesAny: boolean;
  readonly deletesAny: boolean;
}

interface Draft {
  readonly reads: Set<string>;
  readsAny: boolean;
  readonly creates: Set<string>;
  createsAny: boolean;
  changesAny: boolean;
  deletesAny: boolean;
}

export function effectsOf(plan: PlanNode): Effects {
  const known = knownEffects.get(plan);
  if (known !== undefined) return known;
  const effects: Draft = {
    reads: new Set(),
    readsAny: false,
    creates: new Set(),
    createsAny: false,
    changesAny: false,
    deletesAny: false,
  };
  collectNode(plan, effects);
  for (const expression of expressionsOf(plan)) collectExpression(expression, effects);
  for (const input of inputsOf(plan)) add(effects, effectsOf(input));
  knownEffects.set(plan, effects);
  return effects;
}

/** What nodes do that were asked about: rules ask of each node of a long plan in turn. */
const knownEffects = new WeakMap<PlanNode, Effects>();

function add(to: Draft, more: Effects): void {
  for (const type of more.reads) to.reads.add(type);
  for (const type of more.creates) to.creates.add(type);
  to.readsAny ||= more.readsAny;
  to.createsAny ||= more.createsAny;
  to.changesAny ||= more.changesAny;
  to.deletesAny ||= more.deletesAny;
}

/** Whether a plan changes nothing: it may run on a replica and over a read-only route. */
export function isReadOnly(plan: PlanNode): boolean {
  const {creates, createsAny, changesAny, deletesAny} = effectsOf(plan);
  return creates.size === 0 && !createsAny && !changesAny && !deletesAny;
}

function collectNode(node: PlanNode, draft: Draft): void {
  switch (node.kind) {
    case 'scan-type':
      draft.reads.add(node.type);
      return;
    case 'scan-bucket':
    case 'records':
    case 'index-point':
    case 'index-range':
    case 'index-entries':
    case 'ranked':
    case 'fuse':
      draft.readsAny = true;
      return;
    case 'call':
      draft.readsAny = true;
      // What a procedure makes is known only when it runs.
      if (functionSignature(node.procedure)?.writes === true) {
        draft.createsAny = true;
        draft.changesAny = true;
        draft.deletesAny = true;
      }
      return;
    case 'follow':
    case 'connect':
    case 'degree':
    case 'walk':
    case 'shortest':
      // The other end may be of any type, whatever the edge is.
      for (const type of node.types) draft.reads.add(type);
      draft.readsAny = true;
      return;
    case 'frontier':
      draft.readsAny = true;
      for (const {types} of node.steps) for (const type of types) draft.reads.add(type);
      return;
    case 'create':
      if (node.type === undefined) {
        // The type is that of a bucket which is known only when it runs.
        draft.createsAny = true;
        return;
      }
      draft.creates.add(node.type);
      if (node.ifNotExists) draft.reads.add(node.type);
      return;
    case 'upsert':
      draft.creates.add(node.type);
      draft.changesAny = true;
      return;
    case 'change':
      draft.changesAny = true;
      return;
    case 'retype':
      draft.changesAny = true;
      return;
    case 'erase':
    case 'delete':
      draft.deletesAny = true;
      return;
    default:
  }
}

function collectExpression(expression: Expression, draft: Draft): void {
  if (expression.kind === 'subplan') add(draft, effectsOf(expression.plan));
  if (expression.kind === 'call') {
    const needs = functionSignature(expression.name)?.needs;
    if (needs === 'graph' || needs === 'database') draft.readsAny = true;
  }
  // What its body reads is known only where bodies are; see routinesOf.
  if (expression.kind === 'routine') draft.readsAny = true;
  for (const part of partsOf(expression)) collectExpression(part, draft);
}

/** Names of the database's own functions that the plan calls, sub-plans included. */
export function routinesOf(plan: PlanNode): ReadonlySet<string> {
  const names = new Set<string>();
  const collect = (expression: Expression): void =>
    visitExpression(expression, part => {
      if (part.kind === 'routine') names.add(part.name);
      if (part.kind === 'subplan') visit(part.plan);
    });
  const visit = (inner: PlanNode): void =>
    visitPlan(inner, node => expressionsOf(node).forEach(collect));
  visit(plan);
  return names;
}

/** Whether the same plan on the same data gives the same rows. */
export function isDeterministic(plan: PlanNode): boolean {
  return (
    expressionsOf(plan).every(isDeterministicExpression) && inputsOf(plan).every(isDeterministic)
  );
}

/** Whether the expression has one value for all rows of a run, and is quickly worked out. */
export function isSteady(expression: Expression): boolean {
  const isFree = slotsOf(expression).size === 0 && !runsPlan(expression);
  return isFree && isDeterministicExpression(expression);
}

function isDeterministicExpression(expression: Expression): boolean {
  if (expression.kind === 'routine') return false;
  if (expression.kind === 'call' && functionSignature(expression.name)?.deterministic === false) {
    return false;
  }
  if (expression.kind === 'subplan' && !isDeterministic(expression.plan)) return false;
  return partsOf(expression).every(isDeterministicExpression);
}

/** Whether it asks for more than records: the schema as rows, the server, a file or an address. */
export function needsServer(plan: PlanNode): boolean {
  const isServers = (name: string): boolean =>
    (functionSignature(name)?.needs ?? 'database') === 'database';
  if (plan.kind === 'call' && isServers(plan.procedure)) return true;
  const asks = (expression: Expression): boolean =>
    (expression.kind === 'call' && isServers(expression.name)) ||
    (expression.kind === 'subplan' && needsServer(expression.plan)) ||
    partsOf(expression).some(asks);
  return expressionsOf(plan).some(asks) || inputsOf(plan).some(needsServer);
}

/** Whether a plan asks a search index: by a source of its own, a predicate or a function. */
export function asksSearchIndex(plan: PlanNode): boolean {
  if (plan.kind === 'ranked') return true;
  if (plan.kind === 'call' && searches.has(plan.procedure)) return true;
  const asks = (expression: Expression): boolean =>
    (expression.kind === 'call' && searches.has(expression.name)) ||
    (expression.kind === 'subplan' && asksSearchIndex(expression.plan)) ||
    partsOf(expression).some(asks);
  return expressionsOf(plan).some(asks) || inputsOf(plan).some(asksSearchIndex);
}

const searches: ReadonlySet<string> = new Set([
  ...words('fulltext.searchIndex fulltext.searchFields fulltext.searchIndexMore'),
  ...words('fulltext.searchFieldsMore fulltext.containsText vector.neighbors'),
  ...words('vector.sparseNeighbors vector.recommend vector.discover vector.neighborNodes'),
  ...words('db.index.vector.queryNodes db.index.fulltext.queryNodes'),
  ...words('db.index.fulltext.queryRelationships'),
]);

/** The keys by which the rows certainly are sorted; empty when nothing is promised. */
export function orderOf(plan: PlanNode): readonly SortKey[] {
  switch (plan.kind) {
    case 'sort':
    case 'top':
      return plan.keys;
    case 'filter':
    case 'extend':
    case 'project':
    case 'distinct':
    case 'skip':
    case 'limit':
    case 'barrier':
      return orderOf(plan.input);
    default:
      return [];
  }
}
