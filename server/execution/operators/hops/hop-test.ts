/**
 * The condition of a hop, decided before rows are made.
 *
 * Terms that read the far end alone are decided once for each vertex met, however many hops
 * lead to it; the others once a hop. Records are loaded for a portion of hops at once, ends only
 * where nothing is known of them yet.
 */
import {rootType} from '#server/model/labels.ts';
import type {RecordValue, Rid, Value} from '#server/model/value.ts';
import type {Expression, Slot} from '#server/plan/expression.ts';
import {type TypeTest, typeTestOf} from '#server/plan/type-test.ts';
import {slotsOf} from '#server/plan/tree.ts';
import {Batch, type Column} from '../../batch.ts';
import {RowCursor, type Test} from '../../closure.ts';
import type {ExecutionContext} from '../../context.ts';
import type {Hop} from '../../graph.ts';
import type {Preparation} from '../../operator.ts';
import type {HopFilter} from './hop-fan-out.ts';
import type {RecordMemo} from '../writes/record-memo.ts';
import {type RidKey, ridKey} from './vertex-ids.ts';

/** What is known of vertices is forgotten beyond. */
const verdictsMax = 100_000;

interface HopSlots {
  readonly to: Slot | undefined;
  readonly edge: Slot | undefined;
  readonly where?: Expression;
}

/** What is asked of the hops of one run. */
export interface RunHopTest {
  /** Buckets in which far ends may lie; what the filter asks comes on top. */
  readonly ends: ((bucket: number) => boolean) | undefined;
  readonly filter: HopFilter | undefined;
}

/** Tests for the runs of one node. */
export function prepareHopTest(
  node: HopSlots,
  preparation: Preparation,
): (context: ExecutionContext, memo: RecordMemo) => RunHopTest {
  const {where, to} = node;
  const terms = where?.kind === 'and' ? where.terms : where === undefined ? [] : [where];
  const typeOf = (term: Expression): TypeTest | undefined => {
    const test = typeTestOf(term);
    return test?.slot === to ? test : undefined;
  };
  const types = terms.flatMap(term => typeOf(term) ?? []);
  const whole = prepareFilter(terms, node, preparation);
  const others = prepareFilter(
    terms.filter(term => typeOf(term) === undefined),
    node,
    preparation,
  );
  return (context, memo) => {
    const ends = types.length === 0 ? undefined : endsOfTypes(types, context);
    const filter = ends === undefined ? whole : others;
    return {ends, filter: filter?.(context, memo)};
  };
}

function prepareFilter(
  terms: readonly Expression[],
  {to, edge}: HopSlots,
  preparation: Preparation,
): ((context: ExecutionContext, memo: RecordMemo) => HopFilter) | undefined {
  if (terms.length === 0) return undefined;
  const readsEdge = (term: Expression): boolean => edge !== undefined && slotsOf(term).has(edge);
  const compiled = (chosen: readonly Expression[]): Test | undefined =>
    chosen.length === 0 ? undefined : preparation.condition({kind: 'and', terms: chosen});
  const endTest = compiled(terms.filter(term => !readsEdge(term)));
  const hopTerms = terms.filter(readsEdge);
  const hopTest = compiled(hopTerms);
  const ends = to !== undefined && hopTerms.some(term => slotsOf(term).has(to));
  return (context, memo) => {
    const byEnd = endTest && endFilter(endTest, to, {context, memo});
    const byHop = hopTest && hopFilter(hopTest, {to, edge, ends}, {context, memo});
    return (all, vertices) => {
      const some = byEnd === undefined ? all : byEnd(all);
      return byHop === undefined ? some : byHop(some, vertices);
    };
  };
}

/**
 * Where records of all the types lie, so that no record is looked at; undefined where only the
 * records tell, and in a run that may give them other types.
 */
export function endsOfTypes(
  tests: readonly TypeTest[],
  {graph, writes}: ExecutionContext,
): ((bucket: number) => boolean) | undefined {
  const typeOf = writes === undefined ? graph.typesByBucket() : undefined;
  if (typeOf === undefined) return undefined;
  const verdicts = new Map<number, boolean>();
  return bucket => {
    let verdict = verdicts.get(bucket);
    if (verdict === undefined) {
      const name = typeOf(bucket);
      verdict =
        name !== undefined &&
        tests.every(({type, isLabel}) =>
          isLabel && type === '' ? name === rootType : graph.isSubtype(name, type),
        );
      verdicts.set(bucket, verdict);
    }
    return verdict;
  };
}

interface Run {
  readonly context: ExecutionContext;
  readonly memo: RecordMemo;
}

function endFilter(test: Test, to: Slot | undefined, {context, memo}: Run) {
  const verdicts = new Map<RidKey, boolean>();
  const {cursor, cells} = oneRow(context, [to]);
  const [end] = cells as [Value[]];
  return (hops: readonly Hop[]): readonly Hop[] => {
    if (context.writes !== undefined || verdicts.size > verdictsMax) verdicts.clear();
    const unknown = new Map<RidKey, Rid>();
    const keys = hops.map(({other}) => {
      const key = ridKey(other);
      if (!verdicts.has(key)) unknown.set(key, other);
      return key;
    });
    const records = memo.records([...unknown.values()]);
    let at = 0;
    for (const key of unknown.keys()) {
      const record = records[at++];
      end[0] = record ?? null;
      verdicts.set(key, record !== undefined && test(cursor));
    }
    context.budget.spend(hops.length + unknown.size);
    return hops.filter((_hop, index) => verdicts.get(keys[index] as RidKey) === true);
  };
}

function hopFilter(
  test: Test,
  reads: {readonly to: Slot | undefined; readonly edge: Slot | undefined; readonly ends: boolean},
  {context, memo}: Run,
): HopFilter {
  const {cursor, cells} = oneRow(context, [reads.to, reads.edge]);
  const [endCell, edgeCell] = cells as [Value[], Value[]];
  return (hops, vertices) => {
    const edges = context.graph.hopEdges(hops, vertices);
    const ends = reads.ends ? memo.records(hops.map(hop => hop.other)) : undefined;
    context.budget.spend(hops.length);
    return hops.filter((hop, index) => {
      const edge = edges[index];
      const end: RecordValue | Rid | undefined = ends === undefined ? hop.other : ends[index];
      if (edge === undefined || end === undefined) return false;
      endCell[0] = end;
      edgeCell[0] = edge;
      return test(cursor);
    });
  };
}

/** A row of which only the cells of `slots` change; what is tested keeps nothing of it. */
function oneRow(
  context: ExecutionContext,
  slots: readonly (Slot | undefined)[],
): {readonly cursor: RowCursor; readonly cells: readonly Value[][]} {
  const columns: (Column | undefined)[] = [];
  const cells = slots.map(slot => {
    const cell: Value[] = [null];
    if (slot !== undefined) {
      while (columns.length < slot) columns.push(undefined);
      columns[slot] = cell;
    }
    return cell;
  });
  return {cursor: new RowCursor(context, new Batch(columns, 1)), cells};
}
