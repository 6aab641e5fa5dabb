/**
 * The way from a plan to the tree of operators that runs it: a file of `operators/` per node kind.
 *
 * Prepared once a plan: expressions are compiled, functions looked up, slots whose records are
 * never read are found (they travel as ids). The result holds nothing of a run and may be kept
 * with the plan and used by many runs.
 */
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {ExpressionCompiler} from './expressions/compile.ts';
import type {Closure, Test} from './closure.ts';
import type {FunctionRegistry} from './function-registry.ts';
import {HotCompiler} from './generated/hot-closure.ts';
import {recordSlots} from './operators/hops/id-slots.ts';
import type {ColumnUse, Operator, Preparation} from './operator.ts';
import {prepareAggregate} from './operators/whole/aggregate.ts';
import {prepareApply} from './operators/apply.ts';
import {prepareArgument} from './operators/sources/argument.ts';
import {prepareBarrier} from './operators/barrier.ts';
import {prepareCall} from './operators/sources/call.ts';
import {prepareChain} from './operators/chain.ts';
import {prepareChange, prepareUpsert} from './operators/writes/change.ts';
import {prepareConnect} from './operators/writes/connect.ts';
import {prepareCreate} from './operators/writes/create.ts';
import {prepareDegree} from './operators/hops/degree.ts';
import {prepareDelete} from './operators/writes/delete.ts';
import {prepareErase} from './operators/writes/erase.ts';
import {prepareIntersect} from './operators/sources/intersect.ts';
import {prepareFallbackRows} from './operators/fallback-rows.ts';
import {prepareRetype} from './operators/writes/retype.ts';
import {prepareDistinct} from './operators/whole/distinct.ts';
import {prepareExtend} from './operators/extend.ts';
import {prepareFilter} from './operators/filter.ts';
import {prepareFuse} from './operators/whole/fuse.ts';
import {prepareFollow} from './operators/hops/follow.ts';
import {prepareFrontier} from './operators/hops/frontier.ts';
import {
  prepareIndexEntries,
  prepareIndexPoint,
  prepareIndexRange,
} from './operators/sources/index-rows.ts';
import {prepareJoin} from './operators/whole/join.ts';
import {prepareSelectPerGroup} from './operators/whole/select-per-group.ts';
import {prepareProject} from './operators/project.ts';
import {prepareRanked} from './operators/sources/ranked.ts';
import {prepareRecords} from './operators/sources/records.ts';
import {prepareRepeat} from './operators/hops/repeat.ts';
import {prepareScan} from './operators/sources/scan.ts';
import {prepareShortest} from './operators/hops/shortest.ts';
import {prepareLimit, prepareSkip} from './operators/skip-limit.ts';
import {prepareSort} from './operators/whole/sort.ts';
import {prepareTop} from './operators/whole/top.ts';
import {prepareUnion} from './operators/union.ts';
import {prepareUnit} from './operators/sources/unit.ts';
import {prepareUnnest} from './operators/unnest.ts';
import {prepareValues} from './operators/sources/values.ts';
import {prepareWalk} from './operators/hops/walk.ts';
import type {PlanProfile} from './profile.ts';

export interface PreparationOptions {
  /** Measures every node; the operators then belong to one run. */
  readonly profile?: PlanProfile;
  /** Evaluations of an expression before it becomes generated code. */
  readonly hotAfter?: number;
}

export class PlanPreparation implements Preparation {
  readonly functions: FunctionRegistry;
  /** Nodes whose rows come from columns where they are kept, as far as runs have shown. */
  readonly columnNodes = new Set<PlanNode>();
  readonly #compiler: HotCompiler;
  readonly #recordSlots: ReadonlySet<Slot>;
  readonly #profile: PlanProfile | undefined;

  /**
   * @param plan - The whole statement's plan: what is above a slot decides what it needs.
   */
  constructor(plan: PlanNode, functions: FunctionRegistry, options: PreparationOptions = {}) {
    this.functions = functions;
    this.#profile = options.profile;
    this.#compiler = new HotCompiler(new ExpressionCompiler(this), functions, options.hotAfter);
    this.#recordSlots = recordSlots(plan);
  }

  expression(expression: Expression): Closure {
    return this.#compiler.expression(expression);
  }

  condition(expression: Expression): Test {
    return this.#compiler.condition(expression);
  }

  idSuffices(slot: Slot): boolean {
    return !this.#recordSlots.has(slot);
  }

  readsColumns(node: PlanNode): ColumnUse {
    this.columnNodes.add(node);
    return {
      took: rows => this.#profile?.tookColumns(node, rows),
      hadNoEffect: () => this.columnNodes.delete(node),
    };
  }

  prepare(node: PlanNode): Operator {
    const prepareKind = preparers[node.kind] as Preparer<PlanNode['kind']>;
    const operator = prepareKind(node, this);
    return this.#profile === undefined ? operator : this.#profile.observe(node, operator);
  }
}

type Preparer<Kind extends PlanNode['kind']> = (
  node: PlanNode & {readonly kind: Kind},
  preparation: PlanPreparation,
) => Operator;

const preparers: {readonly [Kind in PlanNode['kind']]: Preparer<Kind>} = {
  unit: prepareUnit,
  argument: prepareArgument,
  values: prepareValues,
  'scan-type': prepareScan,
  'scan-bucket': prepareScan,
  records: prepareRecords,
  'index-point': prepareIndexPoint,
  'index-range': prepareIndexRange,
  'index-entries': prepareIndexEntries,
  ranked: prepareRanked,
  call: (node, preparation) => prepareCall(node, preparation, preparation.functions),
  filter: prepareFilter,
  extend: prepareExtend,
  project: prepareProject,
  unnest: prepareUnnest,
  follow: prepareFollow,
  connect: prepareConnect,
  degree: prepareDegree,
  frontier: prepareFrontier,
  walk: prepareWalk,
  chain: prepareChain,
  shortest: prepareShortest,
  join: prepareJoin,
  apply: prepareApply,
  union: prepareUnion,
  fuse: prepareFuse,
  intersect: prepareIntersect,
  fallback: prepareFallbackRows,
  repeat: prepareRepeat,
  aggregate: (node, preparation) => prepareAggregate(node, preparation, preparation.functions),
  distinct: prepareDistinct,
  'select-per-group': prepareSelectPerGroup,
  sort: prepareSort,
  top: prepareTop,
  skip: prepareSkip,
  limit: prepareLimit,
  barrier: prepareBarrier,
  create: prepareCreate,
  change: prepareChange,
  upsert: prepareUpsert,
  delete: prepareDelete,
  erase: prepareErase,
  retype: prepareRetype,
};
