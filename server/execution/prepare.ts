/**
 * From a plan to the tree of operators that runs it: one node kind, one file of `operators/`.
 *
 * Prepared once a plan: expressions are compiled, functions looked up, slots whose records are
 * never read are found (they travel as ids). The result holds nothing of a run and may be kept
 * with the plan and used by many runs.
 */
import {unreachable} from '#server/base/assert.ts';
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
    const operator = this.#prepareNode(node);
    return this.#profile === undefined ? operator : this.#profile.observe(node, operator);
  }

  #prepareNode(node: PlanNode): Operator {
    switch (node.kind) {
      case 'unit':
        return prepareUnit();
      case 'argument':
        return prepareArgument();
      case 'values':
        return prepareValues(node, this);
      case 'scan-type':
      case 'scan-bucket':
        return prepareScan(node, this);
      case 'records':
        return prepareRecords(node, this);
      case 'index-point':
        return prepareIndexPoint(node, this);
      case 'index-range':
        return prepareIndexRange(node, this);
      case 'index-entries':
        return prepareIndexEntries(node, this);
      case 'ranked':
        return prepareRanked(node, this);
      case 'call':
        return prepareCall(node, this, this.functions);
      case 'filter':
        return prepareFilter(node, this);
      case 'extend':
        return prepareExtend(node, this);
      case 'project':
        return prepareProject(node, this);
      case 'unnest':
        return prepareUnnest(node, this);
      case 'follow':
        return prepareFollow(node, this);
      case 'connect':
        return prepareConnect(node, this);
      case 'degree':
        return prepareDegree(node, this);
      case 'frontier':
        return prepareFrontier(node, this);
      case 'walk':
        return prepareWalk(node, this);
      case 'chain':
        return prepareChain(node, this);
      case 'shortest':
        return prepareShortest(node, this);
      default:
        return this.#prepareWhole(node);
    }
  }

  #prepareWhole(node: Exclude<PlanNode, {kind: RowKind}>): Operator {
    switch (node.kind) {
      case 'join':
        return prepareJoin(node, this);
      case 'apply':
        return prepareApply(node, this);
      case 'union':
        return prepareUnion(node, this);
      case 'fuse':
        return prepareFuse(node, this);
      case 'intersect':
        return prepareIntersect(node, this);
      case 'fallback':
        return prepareFallbackRows(node, this);
      case 'repeat':
        return prepareRepeat(node, this);
      case 'aggregate':
        return prepareAggregate(node, this, this.functions);
      case 'distinct':
        return prepareDistinct(node, this);
      case 'select-per-group':
        return prepareSelectPerGroup(node, this);
      case 'sort':
        return prepareSort(node, this);
      case 'top':
        return prepareTop(node, this);
      case 'skip':
        return prepareSkip(node, this);
      case 'limit':
        return prepareLimit(node, this);
      case 'barrier':
        return prepareBarrier(node, this);
      case 'create':
        return prepareCreate(node, this);
      case 'change':
        return prepareChange(node, this);
      case 'upsert':
        return prepareUpsert(node, this);
      case 'delete':
        return prepareDelete(node, this);
      case 'erase':
        return prepareErase(node, this);
      case 'retype':
        return prepareRetype(node, this);
      default:
        return unreachable(node);
    }
  }
}

type RowKind =
  | 'unit'
  | 'argument'
  | 'values'
  | 'scan-type'
  | 'scan-bucket'
  | 'records'
  | 'index-point'
  | 'index-range'
  | 'index-entries'
  | 'ranked'
  | 'call'
  | 'filter'
  | 'extend'
  | 'project'
  | 'unnest'
  | 'follow'
  | 'connect'
  | 'degree'
  | 'frontier'
  | 'walk'
  | 'chain'
  | 'shortest';
