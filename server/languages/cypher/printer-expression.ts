/**
 * Syntax tree to Cypher: expressions and patterns. Clauses are in printer.ts, which hands itself in
 * for sub-queries.
 *
 * Invariant: the text parses to an equal tree but for offsets. Operands that are operators
 * themselves stand in parentheses; a label test stands in two, for in one it would be a node.
 */
import {unreachable} from '#server/base/assert.ts';
import type {Expression, Literal, MapLiteral, Parameter} from './ast-expression.ts';
import type {
  LabelExpression,
  Name,
  NodePattern,
  PathSelector,
  Pattern,
  PatternHop,
  Query,
  RelationshipPattern,
} from './ast.ts';
import {isReserved} from './parser-atom.ts';

/** Prints a query inside an expression. */
export type QueryPrinter = (query: Query) => string;

export function nameText(name: string): string {
  const isPlain = /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !isReserved(name.toUpperCase());
  return isPlain ? name : `\`${name.replaceAll('`', '``')}\``;
}

function dotted(name: string): string {
  return name.split('.').map(nameText).join('.');
}

export class ExpressionPrinter {
  readonly #query: QueryPrinter;

  constructor(query: QueryPrinter) {
    this.#query = query;
  }

  readonly print = (e: Expression): string => {
    switch (e.kind) {
      case 'literal':
        return literalText(e);
      case 'parameter':
        return parameterText(e);
      case 'variable':
        return nameText(e.name);
      case 'list':
        return `[${e.items.map(this.#operand).join(', ')}]`;
      case 'map':
        return this.map(e);
      case 'property':
        return `${this.#base(e.of)}.${nameText(e.name.text)}`;
      case 'item':
        return `${this.#base(e.of)}[${this.print(e.key)}]`;
      case 'slice':
        return `${this.#base(e.of)}[${this.#optional(e.from)}..${this.#optional(e.to)}]`;
      case 'call': {
        const args = e.args.map(this.print).join(', ');
        return `${dotted(e.name)}(${e.distinct ? 'DISTINCT ' : ''}${args})`;
      }
      case 'count-star':
        return 'count(*)';
      case 'unary':
        return e.operator === 'not'
          ? `NOT ${this.#operand(e.of)}`
          : `${e.operator}${this.#signed(e.of)}`;
      case 'binary':
        return `${this.#operand(e.left)} ${signs[e.operator]} ${this.#operand(e.right)}`;
      case 'comparison': {
        const rest = e.rest.map(({operator, value}) => `${operator} ${this.#operand(value)}`);
        return [this.#operand(e.first), ...rest].join(' ');
      }
      case 'has-labels':
        return `${this.#base(e.of)}:${labelText(e.labels)}`;
      case 'is-null':
        return `${this.#operand(e.of)} IS ${e.negated ? 'NOT ' : ''}NULL`;
      default:
        return this.#construct(e);
    }
  };

  #construct(e: Construct): string {
    switch (e.kind) {
      case 'case':
        return this.#case(e);
      case 'list-comprehension': {
        const yields = e.yields === undefined ? '' : ` | ${this.print(e.yields)}`;
        return `[${this.#filter(e)}${yields}]`;
      }
      case 'quantifier':
        return `${e.mode}(${this.#filter(e)})`;
      case 'reduce': {
        const start = `${nameText(e.accumulator.text)} = ${this.print(e.initial)}`;
        const items = `${nameText(e.item.text)} IN ${this.print(e.list)}`;
        return `reduce(${start}, ${items} | ${this.print(e.step)})`;
      }
      case 'pattern-comprehension': {
        const where = this.where(e.where);
        return `[${this.pattern(e.pattern)}${where} | ${this.print(e.yields)}]`;
      }
      case 'map-projection': {
        const entries = e.entries.map(entry => {
          if (entry.kind === 'all') return '.*';
          const name = nameText(entry.name.text);
          if (entry.kind === 'property') return `.${name}`;
          return entry.kind === 'variable' ? name : `${name}: ${this.print(entry.value)}`;
        });
        return `${nameText(e.of.text)} {${entries.join(', ')}}`;
      }
      case 'pattern':
        return this.pattern(e.pattern);
      case 'subquery':
        return `${e.mode.toUpperCase()} { ${this.#query(e.query)} }`;
      default:
        return unreachable(e);
    }
  }

  #case(e: Extract<Expression, {kind: 'case'}>): string {
    const value = e.value === undefined ? '' : ` ${this.print(e.value)}`;
    const branches = e.branches.map(
      ({when, then}) => ` WHEN ${this.print(when)} THEN ${this.print(then)}`,
    );
    const otherwise = e.otherwise === undefined ? '' : ` ELSE ${this.print(e.otherwise)}`;
    return `CASE${value}${branches.join('')}${otherwise} END`;
  }

  #filter(e: {
    readonly item: Name;
    readonly list: Expression;
    readonly where: Expression | undefined;
  }): string {
    return `${nameText(e.item.text)} IN ${this.print(e.list)}${this.where(e.where)}`;
  }

  #optional(e: Expression | undefined): string {
    return e === undefined ? '' : this.print(e);
  }

  /** Prints an operand: in parentheses when it is an operator itself. */
  readonly #operand = (e: Expression): string => {
    if (e.kind === 'has-labels') return `((${this.print(e)}))`;
    const isOperator = ['unary', 'binary', 'comparison', 'is-null'].includes(e.kind);
    return isOperator ? `(${this.print(e)})` : this.print(e);
  };

  /** Prints what follows a sign: a number would take the sign for its own. */
  #signed(e: Expression): string {
    return e.kind === 'literal' ? `(${this.print(e)})` : this.#operand(e);
  }

  /** The text as it stands in front of a dot or a bracket. */
  #base(e: Expression): string {
    const isNumber = e.kind === 'literal' && typeof e.value !== 'string';
    return isNumber || e.kind === 'case' ? `(${this.print(e)})` : this.#operand(e);
  }

  map(e: MapLiteral): string {
    const entries = e.entries.map(({key, value}) => `${nameText(key.text)}: ${this.print(value)}`);
    return `{${entries.join(', ')}}`;
  }

  where(condition: Expression | undefined): string {
    return condition === undefined ? '' : ` WHERE ${this.print(condition)}`;
  }

  pattern(pattern: Pattern): string {
    const {name, shortest, selector, mode, where} = pattern;
    const words = selectorWords(selector, mode);
    const chain = this.#chain(pattern);
    const path = where === undefined ? chain : `(${chain}${this.where(where)})`;
    const call = shortest === 'one' ? 'shortestPath' : 'allShortestPaths';
    const text = shortest === undefined ? [...words, path].join(' ') : `${call}(${path})`;
    return name === undefined ? text : `${nameText(name.text)} = ${text}`;
  }

  /** A chain that begins with a repeated part has no node before it. */
  #chain({start, hops}: Pick<Pattern, 'start' | 'hops'>): string {
    const isAny = hops[0]?.kind === 'repeated' && isAnyNode(start);
    return (isAny ? '' : this.#node(start)) + hops.map(hop => this.#hop(hop)).join('');
  }

  #hop(hop: PatternHop): string {
    if (hop.kind === 'hop') return this.#relationship(hop.relationship) + this.#node(hop.node);
    const inner = `(${this.#chain(hop)}${this.where(hop.where)})`;
    return `${inner}{${hop.min},${hop.max ?? ''}}${this.#node(hop.node)}`;
  }

  #node(node: NodePattern): string {
    return `(${this.#filler(node, node.labels)})`;
  }

  #filler(
    filler: Pick<NodePattern, 'name' | 'properties' | 'where'>,
    labels: LabelExpression | undefined,
    length = '',
  ): string {
    const name = filler.name === undefined ? '' : nameText(filler.name.text);
    const label = labels === undefined ? '' : `:${labelText(labels)}`;
    const {properties} = filler;
    const values =
      properties === undefined
        ? ''
        : ` ${properties.kind === 'map' ? this.map(properties) : parameterText(properties)}`;
    return `${name}${label}${length}${values}${this.where(filler.where)}`;
  }

  #relationship(edge: RelationshipPattern): string {
    const {length, direction} = edge;
    const isOne = length === undefined;
    const isAny = !isOne && length.min === undefined && length.max === undefined;
    const steps = isOne ? '' : isAny ? '*' : `*${length.min ?? ''}..${length.max ?? ''}`;
    const detail = `[${this.#filler(edge, edge.types, steps)}]`;
    return `${direction === 'in' ? '<' : ''}-${detail}-${direction === 'out' ? '>' : ''}`;
  }
}

function isAnyNode({name, labels, properties, where}: NodePattern): boolean {
  return name === undefined && labels === undefined && properties === undefined && !where;
}

function selectorWords(
  selector: PathSelector | undefined,
  mode: Pattern['mode'],
): readonly string[] {
  const words = mode === undefined ? [] : [mode.toUpperCase()];
  if (selector === undefined) return words;
  const {kind, count} = selector;
  if (kind === 'groups') return [`SHORTEST ${count}`, ...words, 'GROUPS'];
  return [`${kind === 'any' ? 'ANY' : 'SHORTEST'} ${count}`, ...words];
}

type Construct = Extract<
  Expression,
  {
    kind:
      | 'case'
      | 'list-comprehension'
      | 'quantifier'
      | 'reduce'
      | 'pattern-comprehension'
      | 'map-projection'
      | 'pattern'
      | 'subquery';
  }
>;

const signs = {
  or: 'OR',
  xor: 'XOR',
  and: 'AND',
  '+': '+',
  '-': '-',
  '*': '*',
  '/': '/',
  '%': '%',
  '^': '^',
  '||': '||',
  in: 'IN',
  'starts-with': 'STARTS WITH',
  'ends-with': 'ENDS WITH',
  contains: 'CONTAINS',
  '=~': '=~',
} as const;

function literalText({value, isFloat}: Literal): string {
  if (typeof value === 'string') return quoted(value);
  if (typeof value !== 'number' || !isFloat) return String(value).toUpperCase();
  return Number.isInteger(value) && Math.abs(value) < 1e21 ? `${value}.0` : String(value);
}

function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, character => `\\${character}`)}'`;
}

function parameterText({name}: Parameter): string {
  return /^[A-Za-z0-9_]+$/.test(name) ? `$${name}` : `$\`${name.replaceAll('`', '``')}\``;
}

/** Prints labels without the colon; a choice inside a conjunction stands in parentheses. */
export function labelText(labels: LabelExpression): string {
  switch (labels.kind) {
    case 'label':
      return nameText(labels.name.text);
    case 'any':
      return '%';
    case 'not':
      return `!${labelTerm(labels.of)}`;
    default:
      return labels.terms.map(labelTerm).join(labels.kind === 'and' ? '&' : '|');
  }
}

function labelTerm(labels: LabelExpression): string {
  const isPlain = labels.kind === 'label' || labels.kind === 'any' || labels.kind === 'not';
  return isPlain ? labelText(labels) : `(${labelText(labels)})`;
}
