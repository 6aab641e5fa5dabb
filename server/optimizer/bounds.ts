/** Terms that bound a property from below or above, whichever side of the sign it stands on. */
import type {Expression, Slot} from '#server/plan/expression.ts';

export interface Bound {
  readonly property: Expression & {readonly kind: 'property'};
  readonly side: 'low' | 'high';
  readonly value: Expression;
  readonly inclusive: boolean;
}

/** Bounds that values of other classes never meet. */
const strictNames = new Set(['op:before', 'op:notAfter', 'op:after', 'op:notBefore']);

const sides: ReadonlyMap<string, Pick<Bound, 'side' | 'inclusive'>> = new Map([
  ['op:greater', {side: 'low', inclusive: false}],
  ['op:after', {side: 'low', inclusive: false}],
  ['op:greaterOrEqual', {side: 'low', inclusive: true}],
  ['op:notBefore', {side: 'low', inclusive: true}],
  ['op:less', {side: 'high', inclusive: false}],
  ['op:before', {side: 'high', inclusive: false}],
  ['op:lessOrEqual', {side: 'high', inclusive: true}],
  ['op:notAfter', {side: 'high', inclusive: true}],
]);

/** The bounds that a term sets: two for BETWEEN, one on each side that is a property. */
export function boundsIn(term: Expression): readonly Bound[] {
  if (term.kind !== 'call') return [];
  const [left, right, high] = term.args;
  if (left === undefined || right === undefined) return [];
  if (term.name === 'op:between' && high !== undefined && left.kind === 'property') {
    return [
      {property: left, side: 'low', value: right, inclusive: true},
      {property: left, side: 'high', value: high, inclusive: true},
    ];
  }
  const sign = sides.get(term.name);
  if (sign === undefined) return [];
  const {side, inclusive} = sign;
  const turned = side === 'low' ? 'high' : 'low';
  return [
    ...(left.kind === 'property' ? [{property: left, side, value: right, inclusive}] : []),
    ...(right.kind === 'property'
      ? [{property: right, side: turned, value: left, inclusive} as const]
      : []),
  ];
}

/** Whether values of another class than the bound's are neither below nor above it. */
export function isStrict(term: Expression): boolean {
  return term.kind === 'call' && strictNames.has(term.name);
}

/** What the terms say together of one property of one slot. */
export interface Bounds {
  readonly slot: Slot;
  readonly name: string;
  low: Expression | undefined;
  high: Expression | undefined;
  readonly terms: Expression[];
}

/** The terms that bound a property by something else, each property once. */
export function boundsOf(terms: readonly Expression[]): readonly Bounds[] {
  const found = new Map<string, Bounds>();
  for (const term of terms) {
    const all = boundsIn(term);
    const [first] = all;
    if (first === undefined || all.some(bound => bound.property !== first.property)) continue;
    const {of, name} = first.property;
    if (of.kind !== 'slot') continue;
    const key = `${of.slot}.${name}`;
    const bounds = found.get(key) ?? {
      slot: of.slot,
      name,
      low: undefined,
      high: undefined,
      terms: [],
    };
    if (all.some(bound => bounds[bound.side] !== undefined)) continue;
    for (const {side, value} of all) bounds[side] = value;
    bounds.terms.push(term);
    found.set(key, bounds);
  }
  return [...found.values()];
}
