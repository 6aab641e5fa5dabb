/**
 * Plans as text: what tests compare and EXPLAIN shows.
 *
 * One node a line, its inputs below it, the last one under `└─`. Slots print as `$3`. The text
 * is stable: it depends on the plan alone. A sub-plan inside an expression prints on one line,
 * sources first, nodes joined by ` | `.
 */
import {unreachable} from '#server/base/assert.ts';
import type {Expression, Slot} from './expression.ts';
import type {Direction, IdBounds} from './node.ts';
import {expressionText} from './expression-text.ts';
import type {Assignment, IndexBound, Output, OutputColumn, PlanNode, SortKey} from './node.ts';
import {inputsOf} from './tree.ts';

export function planText(plan: PlanNode): string {
  return planLines(plan)
    .map(line => line.text)
    .join('\n');
}

/** A node's line of the text, with what shows its place in the tree. */
export interface PlanLine {
  readonly text: string;
  readonly node: PlanNode;
}

export function planLines(plan: PlanNode): readonly PlanLine[] {
  const lines: PlanLine[] = [];
  const add = (node: PlanNode, branch: string, before: string): void => {
    lines.push({text: branch + nodeText(node), node});
    const inputs = inputsOf(node);
    for (const [at, input] of inputs.entries()) {
      const last = at === inputs.length - 1;
      add(input, `${before}${last ? '└─' : '├─'} `, `${before}${last ? '  ' : '│ '} `);
    }
  };
  add(plan, '', '');
  return lines;
}

/** A plan on one line, sources first. */
export function planLine(plan: PlanNode): string {
  const inputs = inputsOf(plan);
  const [first] = inputs;
  if (first === undefined) return nodeText(plan);
  if (inputs.length === 1) return `${planLine(first)} | ${nodeText(plan)}`;
  return `(${inputs.map(planLine).join('; ')}) | ${nodeText(plan)}`;
}

/** One node without its inputs. */
export function nodeText(node: PlanNode): string {
  const text = texts[node.kind] as (node: PlanNode) => string;
  return text(node);
}

const texts: {
  readonly [Kind in PlanNode['kind']]: (node: PlanNode & {readonly kind: Kind}) => string;
} = {
  unit: node => node.kind,
  argument: node => node.kind,
  union: node => node.kind,
  barrier: node => node.kind,
  values: node => `values ${slots(node.slots)}: ${node.rows.length} rows`,
  'scan-type': node => {
    const only = node.polymorphic ? '' : ' only';
    return `scan ${node.type}${only}${into(node)}${where(node)}`;
  },
  'scan-bucket': node => {
    const buckets = [...node.buckets, ...(node.asked ?? []).map(expressionText)];
    return `scan buckets ${buckets.join(', ')}${into(node)}${where(node)}`;
  },
  records: node => {
    const loose = node.typeNames === true ? ' or type' : node.loose ? ' loosely' : '';
    return `records ${expressionText(node.ids)}${loose} as ${slotText(node.slot)}`;
  },
  ranked: node => {
    const only = node.only === undefined ? '' : ` of ${node.only}`;
    const best = node.count === undefined ? '' : ` best ${expressionText(node.count)}`;
    const into = `${slotText(node.slot)}, ${slotText(node.score)}`;
    const by = node.scoring === undefined ? '' : ` by ${node.scoring}`;
    const asked = `${node.index} for ${expressionText(node.query)}${only}${by}${best}`;
    return `search ${asked} as ${into}${where(node)}`;
  },
  'index-point': node => {
    const sign = node.each ? 'in' : node.strict === undefined ? '=' : '==';
    const keys = node.keys.map(expressionText).join(', ');
    return `index ${node.index} ${sign} ${keys} as ${slotText(node.slot)}`;
  },
  'index-range': node => {
    const range = `${bound(node.from, 'from')}${bound(node.to, 'to')}`;
    const read = node.parts?.flatMap((slot, at) =>
      slot === undefined ? [] : `${at}: ${slotText(slot)}`,
    );
    const parts = read === undefined ? '' : ` with parts ${read.join(', ')}`;
    return `index ${node.index}${range}${into(node)}${parts}`;
  },
  'index-entries': node =>
    `index entries ${node.index}${node.at ? ` = ${expressionText(node.at)}` : ''}` +
    `${reversed(node)} as ${slots([node.key, node.rid])}`,
  call: node => {
    const args = node.args.map(expressionText).join(', ');
    const outputs = node.outputs.map(o => `${o.name} as ${slotText(o.slot)}`).join(', ');
    return `call ${node.procedure}(${args}) ${outputs}`;
  },
  filter: node => `filter ${expressionText(node.condition)}`,
  extend: node => `extend ${node.bind.map(bindText).join(', ')}`,
  project: node => `project ${outputText(node.output)}`,
  unnest: node => {
    const keep = node.keepEmpty ? ' keeping empty' : '';
    return `unnest ${expressionText(node.list)} as ${slotText(node.slot)}${keep}`;
  },
  follow: node => {
    const edge = node.edge === undefined ? '' : ` by ${slotText(node.edge)}`;
    const where = node.where === undefined ? '' : ` where ${expressionText(node.where)}`;
    return `follow ${arrow(node.from, node, node.to)}${edge}${unlike(node)}${where}`;
  },
  connect: node => {
    const edge = node.edge === undefined ? '' : ` by ${slotText(node.edge)}`;
    return `connect ${arrow(node.from, node, node.to)}${edge}${unlike(node)}`;
  },
  degree: node => {
    const weight = node.weight === undefined ? '' : ` times ${slotText(node.weight)}`;
    const where = node.where === undefined ? '' : ` where ${expressionText(node.where)}`;
    const keep = node.keepEmpty === true ? ' keeping empty' : '';
    const hop = arrow(node.from, node, node.to);
    return `degree ${slotText(node.slot)} of ${hop}${weight}${keep}${where}`;
  },
  frontier: node => frontierText(node),
  walk: node => walkText(node),
  chain: node => chainText(node),
  shortest: node => {
    const ends = `${expressionText(node.from)} to ${expressionText(node.to)}`;
    const all = node.all ? 'all shortest' : 'shortest';
    const depth = node.depthMax === undefined ? '' : ` depth ..${node.depthMax}`;
    const by = `${node.direction}${types(node.types)}`;
    const when = node.condition === undefined ? '' : ` while ${expressionText(node.condition)}`;
    return `${all} ${ends} ${by}${depth} as ${slotText(node.path)}${when}`;
  },
  join: node => {
    const on = node.on.map(p => `${expressionText(p.left)} = ${expressionText(p.right)}`);
    return `join ${node.mode}${on.length === 0 ? '' : ` on ${on.join(', ')}`}`;
  },
  apply: node => {
    const {collect} = node;
    const binds = collect
      ? ` ${slotText(collect.from)} as ${slotText(collect.to)}`
      : node.slots.length === 0
        ? ''
        : ` binding ${slots(node.slots)}`;
    return `apply ${node.mode}${binds}`;
  },
  fallback: () => 'fallback',
  fuse: fuseText,
  intersect: node => `intersect ${slots(node.ids)} as ${slotText(node.slot)}`,
  repeat: repeatText,
  aggregate: node => {
    const keys = node.keys.map(k => `${slotText(k.slot)} = ${expressionText(k.value)}`);
    const aggregates = node.aggregates.map(a => {
      const args = a.args.map(expressionText).join(', ');
      const weight = a.weight === undefined ? '' : ` of ${slotText(a.weight)} each`;
      return `${slotText(a.slot)} = ${a.name}(${a.distinct ? 'distinct ' : ''}${args})${weight}`;
    });
    const by = keys.length === 0 ? '' : ` by ${keys.join(', ')}`;
    return `aggregate ${aggregates.join(', ')}${by}`;
  },
  distinct: node => `distinct ${node.by.map(expressionText).join(', ')}`,
  'select-per-group': node => {
    const by = node.by.map(expressionText).join(', ');
    const ties = node.ties ? ' with ties' : '';
    return `pick ${node.count}${ties} of ${by} by ${expressionText(node.measure)}`;
  },
  sort: node => `sort ${sortText(node.keys)}`,
  top: node => {
    const skip = node.skip === undefined ? '' : ` skip ${expressionText(node.skip)}`;
    return `top ${expressionText(node.count)}${skip} by ${sortText(node.keys)}`;
  },
  skip: node => `${node.kind} ${expressionText(node.count)}`,
  limit: node => `${node.kind} ${expressionText(node.count)}`,
  create: node => {
    const from = node.from === undefined ? '' : ` from ${expressionText(node.from)}`;
    const to = node.to === undefined ? '' : ` to ${expressionText(node.to)}`;
    const unless = node.ifNotExists ? ' unless there' : '';
    const at = node.rid === undefined ? '' : ` at ${expressionText(node.rid)}`;
    const what = node.what === 'any' ? 'record' : node.what;
    const sets = assignmentsText(node.assignments);
    const asked = typeof node.bucket === 'object' ? ` in ${expressionText(node.bucket)}` : '';
    const ends = `${asked}${at}${from}${to}`;
    const type = node.type === undefined ? '' : ` ${node.type}`;
    return `create ${what}${type}${ends}${unless} as ${slotText(node.slot)}${sets}`;
  },
  change: node => {
    const before = node.before === undefined ? '' : ` before as ${slotText(node.before)}`;
    return `change ${slotText(node.slot)}${before}${assignmentsText(node.assignments)}`;
  },
  upsert: node => {
    const seed = node.seed.map(c => `${c.name} = ${expressionText(c.value)}`).join(', ');
    const sets = assignmentsText(node.assignments);
    return `upsert ${node.type} as ${slotText(node.slot)} seed ${seed}${sets}`;
  },
  delete: node => `delete ${node.only === undefined ? '' : `${node.only} `}${slotText(node.slot)}`,
  erase: node => {
    const values = node.values.map(expressionText).join(', ');
    return `erase ${node.detach ? 'with edges ' : ''}${values}`;
  },
  retype: node => {
    const labels = [
      ...node.add.map(label => `+${label}`),
      ...(node.remove === 'all' ? ['*'] : node.remove).map(label => `-${label}`),
    ];
    return `retype ${slotText(node.slot)} ${labels.join(' ')}`;
  },
};

function fuseText(node: Extract<PlanNode, {kind: 'fuse'}>): string {
  const legs = node.legs.map(({row, score, isDistance}) => {
    const by = score === undefined ? '' : ` by ${isDistance ? '-' : ''}${slotText(score)}`;
    return `${slotText(row)}${by}`;
  });
  const parts = [
    [' with', node.strategy],
    [' constant', node.constant],
    [' weights', node.weights],
    [' best', node.count],
  ] as const;
  const how = parts.map(([word, part]) => (part ? `${word} ${expressionText(part)}` : ''));
  const into = slots([node.slot, node.score]);
  return `fuse ${legs.join('; ')}${how.join('')} as ${into}`;
}

function slotText(slot: Slot): string {
  return `$${slot}`;
}

function slots(list: readonly Slot[]): string {
  return list.map(slotText).join(', ');
}

/** ` descending as $0`. */
function into(node: {readonly descending: boolean; readonly slot: Slot}): string {
  return `${reversed(node)} as ${slotText(node.slot)}`;
}

function bindText({slot, value}: {readonly slot: Slot; readonly value: Expression}): string {
  return `${slotText(slot)} = ${expressionText(value)}`;
}

function reversed(node: {readonly descending: boolean}): string {
  return node.descending ? ' descending' : '';
}

function where(node: {readonly where?: Expression; readonly ids?: IdBounds}): string {
  const {ids} = node;
  const range = ids === undefined ? '' : `${bound(ids.from, 'from')}${bound(ids.to, 'to')}`;
  return node.where === undefined ? range : `${range} where ${expressionText(node.where)}`;
}

function bound(limit: IndexBound | undefined, word: string): string {
  if (limit === undefined) return '';
  const values = limit.values.map(expressionText).join(', ');
  return ` ${word} ${values}${limit.inclusive ? '' : ' exclusive'}`;
}

function types(names: readonly string[]): string {
  return names.length === 0 ? '' : `:${names.join('|')}`;
}

function arrow(
  from: Slot,
  node: {readonly direction: Direction; readonly types: readonly string[]},
  to: Slot | undefined,
): string {
  const tail = node.direction === 'in' ? '<-' : '-';
  const head = node.direction === 'out' ? '->' : '-';
  const end = to === undefined ? '()' : slotText(to);
  return `${slotText(from)} ${tail}[${types(node.types)}]${head} ${end}`;
}

function frontierText({from, steps, to}: PlanNode & {readonly kind: 'frontier'}): string {
  const hops = steps.map(step => arrow(from, step, to).replace(/^\S+ | \S+$/g, ''));
  return `frontier ${slotText(from)} ${hops.join(' () ')} ${slotText(to)}`;
}

function unlike({unlike: edges}: {readonly unlike?: readonly Slot[]}): string {
  return edges === undefined ? '' : ` unlike ${slots(edges)}`;
}

function walkText(node: PlanNode & {readonly kind: 'walk'}): string {
  const bounds = `${node.depthMin}..${node.depthMax ?? ''}`;
  const extra = [
    ['edges', node.edges],
    ['path', node.path],
    ['depth', node.depth],
    ['edge', node.edge],
  ] as const;
  const binds = extra
    .filter(([, slot]) => slot !== undefined)
    .map(([word, slot]) => ` ${word} ${slotText(slot ?? 0)}`)
    .join('');
  const condition = node.condition === undefined ? '' : ` while ${expressionText(node.condition)}`;
  return `walk ${node.mode} ${bounds} ${arrow(node.from, node, node.to)}${binds}${condition}`;
}

function chainText(node: PlanNode & {readonly kind: 'chain'}): string {
  const bounds = `${node.depthMin}..${node.depthMax ?? ''}`;
  const ends = `${slotText(node.from)} to ${slotText(node.to)}`;
  const round = `${slotText(node.start)} to ${slotText(node.end)}`;
  const lists = node.lists.map(({from, to}) => `, ${slotText(from)} as ${slotText(to)}`).join('');
  return `chain ${node.mode} ${bounds} ${ends} of ${round} edges ${slotText(node.edges)}${lists}`;
}

function repeatText(node: PlanNode & {readonly kind: 'repeat'}): string {
  const bounds = `${node.depthMin}..${node.depthMax ?? ''}`;
  const path = node.path === undefined ? '' : ` path ${slotText(node.path)}`;
  const condition =
    node.whileCondition === undefined
      ? ''
      : ` while ${expressionText(node.whileCondition)}${node.emitOnFail ? ' emitting' : ''}`;
  const unique = node.unique === 'none' ? '' : ` unique ${node.unique}`;
  const loop = `${slotText(node.loop)} = ${slotText(node.next)} depth ${slotText(node.depth)}`;
  return `repeat ${node.order} ${bounds} ${loop}${path}${unique}${condition}`;
}

function sortText(keys: readonly SortKey[]): string {
  return keys
    .map(key => `${expressionText(key.by)}${key.descending ? ' desc' : ''} nulls ${key.nulls}`)
    .join(', ');
}

function outputText(output: Output): string {
  if (output.kind === 'element') return slotText(output.slot);
  return output.columns.map(columnText).join(', ');
}

function columnText(column: OutputColumn): string {
  if ('value' in column) return `${expressionText(column.value)} as ${column.name}`;
  const except = column.except === undefined ? '' : ` except ${column.except.join(', ')}`;
  return `...${expressionText(column.spread)}${except}`;
}

function assignmentsText(assignments: readonly Assignment[]): string {
  return assignments.map(assignment => ` ${assignmentText(assignment)}`).join(',');
}

function assignmentText(assignment: Assignment): string {
  switch (assignment.kind) {
    case 'set':
      return `set ${assignment.name} = ${expressionText(assignment.value)}`;
    case 'set-inside':
      return `set ${pathText(assignment.path)} = ${expressionText(assignment.value)}`;
    case 'content': {
      const word = assignment.replace ? 'content' : 'merge';
      return `${word} ${expressionText(assignment.value)}`;
    }
    case 'remove':
      return `remove ${assignment.name}`;
    case 'remove-inside': {
      const value = assignment.value === undefined ? '' : ` = ${expressionText(assignment.value)}`;
      return `remove ${pathText(assignment.path)}${value}`;
    }
    default:
      return unreachable(assignment);
  }
}

function pathText(path: readonly (string | Expression)[]): string {
  return path
    .map((part, at) => {
      if (typeof part === 'string') return at === 0 ? part : `.${part}`;
      return `[${expressionText(part)}]`;
    })
    .join('');
}
