/**
 * `expand(vector.fuse(...))` becomes `fuse`: its sources become inputs of the plan, so that what is
 * done for a search (its index, its LIMIT, ids in the place of records) is done for each leg, and
 * records are read of what the answer has alone.
 *
 * Options must be known by name; those that group records read them all, so the function stays.
 */
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {FusedLeg, PlanNode} from '#server/plan/node.ts';
import type {Rule, RuleContext} from '../../rule.ts';

type Unnest = Extract<PlanNode, {kind: 'unnest'}>;
type Call = Extract<Expression, {kind: 'call'}>;
type Subplan = Extract<Expression, {kind: 'subplan'}>;
type Options = ReadonlyMap<string, Expression>;

const optionNames: ReadonlySet<string> = new Set(['fusion', 'k', 'weights', 'limit']);

export const fuseRankings: Rule = {
  name: 'fuse-rankings',
  about: ['unnest'],
  apply: (node, context) => {
    if (node.kind !== 'unnest' || node.keepEmpty) return node;
    const {list, input} = node;
    if (list.kind !== 'call' || list.name !== 'vector.fuse') return node;
    if (input.kind !== 'unit' && input.kind !== 'argument') return node;
    return fused(node, list, context) ?? node;
  },
};

function fused({slot, input}: Unnest, {args}: Call, context: RuleContext): PlanNode | undefined {
  const last = args.at(-1);
  const options = last?.kind === 'map' ? optionsOf(last) : new Map<string, Expression>();
  const sources = last?.kind === 'map' ? args.slice(0, -1) : args;
  if (options === undefined || sources.length < 2) return undefined;
  if (!sources.every(source => isSource(source))) return undefined;
  const legs = sources.map(source => legOf(source, input, context));
  const record = context.newSlot();
  const score = context.newSlot();
  return {
    kind: 'extend',
    input: {
      kind: 'fuse',
      inputs: legs.map(({plan}) => plan),
      legs: legs.map(({leg}) => leg),
      strategy: options.get('fusion'),
      constant: options.get('k'),
      weights: options.get('weights'),
      count: options.get('limit'),
      slot: record,
      score,
    },
    bind: [{slot, value: rowOf(record, score)}],
  };
}

/** What the function answers for a record. */
function rowOf(record: Slot, score: Slot): Expression {
  const of: Expression = {kind: 'slot', slot: record};
  return {
    kind: 'map',
    entries: [
      {key: 'record', value: of},
      {spread: of},
      {key: '@rid', value: {kind: 'attribute', of, attribute: 'rid'}},
      {key: '@type', value: {kind: 'attribute', of, attribute: 'type'}},
      {key: 'score', value: {kind: 'slot', slot: score}},
    ],
  };
}

function optionsOf(map: Expression & {readonly kind: 'map'}): Options | undefined {
  const options = new Map<string, Expression>();
  for (const entry of map.entries) {
    if (!('value' in entry) || !optionNames.has(entry.key)) return undefined;
    options.set(entry.key, entry.value);
  }
  return options;
}

/** A sub-query that is the same for all rows, or a list that is at hand. */
function isSource(source: Expression): boolean {
  if (source.kind === 'subplan') return source.mode === 'collect' && !source.correlated;
  return source.kind === 'slot';
}

interface PlannedLeg {
  readonly plan: PlanNode;
  readonly leg: FusedLeg;
}

function legOf(source: Expression, input: PlanNode, context: RuleContext): PlannedLeg {
  const found = source.kind === 'subplan' ? rankedColumns(source, context) : undefined;
  if (found !== undefined) return found;
  const slot = context.newSlot();
  return {
    plan: {kind: 'unnest', input, list: source, slot, keepEmpty: false},
    leg: {row: slot, score: undefined, isDistance: false},
  };
}

/** Rows that are maps, of which one entry says the record and one the score. */
function rankedColumns({plan, slot}: Subplan, context: RuleContext): PlannedLeg | undefined {
  if (plan.kind !== 'extend' || plan.bind.length !== 1) return undefined;
  const [bind] = plan.bind;
  if (bind?.slot !== slot || bind.value.kind !== 'map') return undefined;
  const columns = new Map<string, Expression>();
  for (const entry of bind.value.entries) {
    if (!('value' in entry)) return undefined;
    columns.set(entry.key, entry.value);
  }
  const row = columns.get('@rid') ?? columns.get('rid');
  if (row?.kind !== 'attribute' || row.attribute !== 'rid' || row.of.kind !== 'slot') {
    return undefined;
  }
  // A score that is null may be told by another column.
  const scores = ['score', '$score', 'distance'].filter(name => columns.has(name));
  const [name = ''] = scores;
  const score = columns.get(name);
  if (score === undefined || scores.length > 1) return undefined;
  const own = context.newSlot();
  return {
    plan: {kind: 'extend', input: plan.input, bind: [{slot: own, value: score}]},
    leg: {row: row.of.slot, score: own, isDistance: name === 'distance'},
  };
}
