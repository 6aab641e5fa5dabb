/**
 * The filters of `path.*`: which relationships are walked, on which nodes a path may pass and end.
 *
 * Relationships: `KNOWS>|<LIKES|HAS`, a type with the direction it is walked in, `>` and `<` for
 * every type; empty for all. Labels: `+A` only these, `-A` none of these, `/A` a path ends there,
 * `>A` a path may end there and goes on; the first node is not asked.
 */
import type {RecordValue} from '#server/model/value.ts';
import type {Direction} from '#server/plan/node.ts';
import type {ExecutionContext} from '../context.ts';

export interface HopRule {
  readonly direction: Direction;
  /** Empty: every type. */
  readonly types: readonly string[];
}

/** One rule a direction. Types that do not exist are left out. */
export function hopRules(filter: string, context: ExecutionContext): readonly HopRule[] {
  const parts = filter
    .split('|')
    .map(part => part.trim())
    .filter(part => part !== '');
  if (parts.length === 0) return [{direction: 'both', types: []}];
  const byDirection = new Map<Direction, string[]>();
  const every = new Set<Direction>();
  for (const part of parts) {
    const isIn = part.startsWith('<');
    const isOut = part.endsWith('>');
    const direction = isIn === isOut ? 'both' : isIn ? 'in' : 'out';
    const name = part.replace(/^</, '').replace(/>$/, '').replace(/^:/, '');
    if (name === '') every.add(direction);
    else if (context.graph.typeExists(name)) {
      byDirection.set(direction, [...(byDirection.get(direction) ?? []), name]);
    }
  }
  for (const direction of every) byDirection.set(direction, []);
  return [...byDirection].map(([direction, types]) => ({direction, types}));
}

export class LabelFilter {
  readonly #context: ExecutionContext;
  readonly #only: readonly string[];
  readonly #never: readonly string[];
  readonly #last: readonly string[];
  readonly #ends: readonly string[];

  constructor(filter: string, context: ExecutionContext) {
    const parts = filter
      .split('|')
      .map(part => part.trim())
      .filter(part => part !== '');
    const of = (sign: string): readonly string[] =>
      parts.filter(part => part.startsWith(sign)).map(part => part.slice(1).replace(/^:/, ''));
    this.#context = context;
    this.#only = [...of('+'), ...parts.filter(part => !/^[-+/>]/.test(part))];
    this.#never = of('-');
    this.#last = of('/');
    this.#ends = of('>');
  }

  /** Whether a path may lead to the node. */
  admits(node: RecordValue): boolean {
    if (this.#has(node, this.#never)) return false;
    if (this.#only.length === 0) return true;
    return (
      this.#has(node, this.#only) || this.#has(node, this.#last) || this.#has(node, this.#ends)
    );
  }

  /** Whether a path that ends at the node is an answer. */
  mayEndAt(node: RecordValue): boolean {
    if (this.#last.length === 0 && this.#ends.length === 0) return true;
    return this.#has(node, this.#last) || this.#has(node, this.#ends);
  }

  /** Whether no path leads beyond the node. */
  stopsAt(node: RecordValue): boolean {
    return this.#has(node, this.#last);
  }

  #has({typeName}: RecordValue, labels: readonly string[]): boolean {
    return labels.some(label => this.#context.graph.isSubtype(typeName, label));
  }
}
