/**
 * Syntax tree to SQL: expressions, targets and the statements that read.
 *
 * Invariant: the text parses to an equal tree but for offsets. Parentheses stand only where the
 * precedence of parser-expression.ts wants them. Texts are made of what a query holds: names of
 * columns, keys of groups, the queries of views. Other statements are printed by tests alone, which
 * hand in what prints them (testing/property/print-sql.ts).
 */
import {unreachable} from '#server/base/assert.ts';
import {words} from '#server/base/words.ts';
import type {
  BucketReference,
  Expression,
  Match,
  MatchNode,
  MatchStep,
  Name,
  PathStep,
  ProjectionItem,
  Select,
  Selector,
  Tail,
  Target,
  Timeout,
  Traverse,
} from './ast.ts';
import type {Query, Statement} from './ast-statement.ts';
import type {Keyword} from './keyword.ts';
import {keywords} from './keyword.ts';
import {quoteString} from './literal.ts';
import {strengthOf} from './parser-expression.ts';

/** Prints a statement inside an expression. */
type StatementPrinter = (statement: Statement) => string;

// Levels of precedence; binary operators take comparisonLevel + their strength.
const orLevel = 1;
const andLevel = 2;
const notLevel = 3;
const comparisonLevel = 4;
const operandLevel = 5;
const signLevel = 13;
const collateLevel = 14;
const primaryLevel = 15;

function levelOf(e: Expression): number {
  switch (e.kind) {
    case 'or':
      return orLevel;
    case 'and':
      return andLevel;
    case 'not':
      return notLevel;
    case 'compare':
    case 'is':
    case 'between':
    case 'relation':
    case 'contains-where':
      return comparisonLevel;
    case 'binary':
      return comparisonLevel + strengthOf(e.operator);
    case 'unary':
      return signLevel;
    case 'collate':
      return collateLevel;
    default:
      return primaryLevel;
  }
}

/** Keywords that common columns are named by and that no rule takes for itself after an operand. */
const harmless: ReadonlySet<string> = new Set<Keyword>([
  ...words('NAME TYPE TYPES KEY VALUE COUNT RECORD INDEX DAY HOUR MINUTE SECOND PROPERTIES'),
  ...words('PROPERTY TAGS FIELDS CUSTOM BUCKETS MODE RID LANGUAGE TIMESTAMP ITEM DOCUMENT'),
  ...words('UNIQUE IF'),
]);
const quotedKeywords: ReadonlySet<string> = new Set(keywords.filter(word => !harmless.has(word)));

/** `text` as a name that reads back as itself. */
export function printName(text: string): string {
  const bare = /^[A-Za-z_][A-Za-z0-9_]*$/.test(text) && !quotedKeywords.has(text.toUpperCase());
  return bare ? text : `\`${text.replace(/[`\\]/g, found => `\\${found}`)}\``;
}

export function printNames(names: readonly Name[]): string {
  return names.map(name => printName(name.text)).join(', ');
}

export class ExpressionPrinter {
  readonly #statement: StatementPrinter;

  /** @param statement - Prints what is no query. Nothing that is bound holds such a statement. */
  constructor(statement: StatementPrinter = ({kind}) => kind) {
    this.#statement = statement;
  }

  /** A statement inside of another. */
  inBrackets(statement: Statement): string {
    return `(${this.statement(statement)})`;
  }

  statement(statement: Statement): string {
    switch (statement.kind) {
      case 'select':
        return this.select(statement);
      case 'traverse':
        return this.traverse(statement);
      case 'match':
        return this.match(statement);
      default:
        return this.#statement(statement);
    }
  }

  /** `e`, in parentheses if it binds less tightly than `levelMin`. */
  print(e: Expression, levelMin = 0): string {
    const text = this.#bare(e);
    return levelOf(e) < levelMin ? `(${text})` : text;
  }

  list(items: readonly Expression[]): string {
    return items.map(item => this.print(item)).join(', ');
  }

  /** An operand of a comparison, or of a clause that stops at AND, SET, TO and the like. */
  operand(e: Expression): string {
    return this.print(e, operandLevel);
  }

  #bare(e: Expression): string {
    switch (e.kind) {
      case 'literal':
        return typeof e.value === 'string' ? quoteString(e.value) : String(e.value);
      case 'integer':
        return `${e.value}${e.long ? 'L' : ''}`;
      case 'real':
        return `${printReal(e.value)}${e.single ? 'f' : ''}`;
      case 'rid':
        return `#${e.bucket}:${e.position}`;
      case 'parameter':
        return e.form === 'named' ? `:${printName(e.name)}` : `$${e.index + 1}`;
      case 'variable':
        return `$${e.name}`;
      case 'name':
        return printName(e.name);
      case 'attribute':
        return `@${e.name}`;
      case 'star':
        return '*';
      case 'list':
        return `[${this.list(e.items)}]`;
      case 'map':
        return this.#map(e.entries);
      case 'comprehension': {
        const where = e.where === undefined ? '' : ` WHERE ${this.print(e.where)}`;
        const head = `${this.print(e.item)} FOR ${printName(e.variable.text)}`;
        return `[${head} IN ${this.print(e.source)}${where}]`;
      }
      case 'call':
        return `${printName(e.name)}(${e.distinct ? 'DISTINCT ' : ''}${this.list(e.arguments)})`;
      case 'path':
        return this.print(e.base, primaryLevel) + e.steps.map(step => this.#step(step)).join('');
      case 'case':
        return this.#case(e);
      case 'subquery':
        return this.inBrackets(e.statement);
      default:
        return this.#operator(e);
    }
  }

  #operator(e: Exclude<Expression, {kind: PrimaryKind}>): string {
    switch (e.kind) {
      case 'or':
        return e.operands.map(each => this.print(each, andLevel)).join(' OR ');
      case 'and':
        return e.operands.map(each => this.print(each, notLevel)).join(' AND ');
      case 'not':
        return `NOT ${this.print(e.operand, notLevel)}`;
      case 'unary':
        return this.#unary(e.operator, e.operand);
      case 'binary': {
        const level = levelOf(e);
        return `${this.print(e.left, level)} ${e.operator} ${this.print(e.right, level + 1)}`;
      }
      case 'collate':
        return `${this.print(e.operand, primaryLevel)} COLLATE ${printName(e.collation.text)}`;
      default:
        return this.#comparison(e);
    }
  }

  #comparison(e: Extract<Expression, {kind: ComparisonKind}>): string {
    switch (e.kind) {
      case 'compare':
        return `${this.#left(e.left)} ${e.operator} ${this.operand(e.right)}`;
      case 'is':
        return `${this.#left(e.operand)} IS ${e.negated ? 'NOT ' : ''}${e.test.toUpperCase()}`;
      case 'between': {
        const bounds = `${this.operand(e.low)} AND ${this.operand(e.high)}`;
        return `${this.#left(e.operand)} ${e.negated ? 'NOT ' : ''}BETWEEN ${bounds}`;
      }
      case 'relation':
        return join(this.#left(e.left), e.negated && 'NOT', e.operator, this.operand(e.right));
      case 'contains-where': {
        const operator = `${e.negated ? 'NOT ' : ''}${e.operator}`;
        return `${this.#left(e.left)} ${operator} (${this.print(e.condition)})`;
      }
      default:
        return unreachable(e);
    }
  }

  #left(e: Expression): string {
    return this.print(e, comparisonLevel);
  }

  /** `-(5)` is the negation of a literal, `-5` is a literal. */
  #unary(operator: string, operand: Expression): string {
    const text = this.print(operand, signLevel);
    if (operator === '-' && /^[0-9]/.test(text)) return `-(${text})`;
    return operator === text.charAt(0) ? `${operator} ${text}` : `${operator}${text}`;
  }

  #map(entries: Extract<Expression, {kind: 'map'}>['entries']): string {
    const texts = entries.map(each => `${quoteString(each.key)}: ${this.print(each.value)}`);
    return `{${texts.join(', ')}}`;
  }

  #case(e: Extract<Expression, {kind: 'case'}>): string {
    const subject = e.subject === undefined ? '' : ` ${this.print(e.subject)}`;
    const branches = e.branches.map(
      ({when, then}) => ` WHEN ${this.print(when)} THEN ${this.print(then)}`,
    );
    const otherwise = e.otherwise === undefined ? '' : ` ELSE ${this.print(e.otherwise)}`;
    return `CASE${subject}${branches.join('')}${otherwise} END`;
  }

  #step(step: PathStep): string {
    switch (step.kind) {
      case 'field':
        return `.${printName(step.name)}`;
      case 'step-attribute':
        return `.@${step.name}`;
      case 'step-variable':
        return `.$${step.name}`;
      case 'method':
        return `.${printName(step.name)}(${this.list(step.arguments)})`;
      case 'select':
        return `[${step.selectors.map(each => this.#selector(each)).join(', ')}]`;
      case 'where':
        return `[${this.print(step.condition)}]`;
      case 'compare-elements':
        return `[${step.operator} ${this.operand(step.value)}]`;
      case 'nested':
        return `:{${this.projection(step.items)}}`;
      default:
        return unreachable(step);
    }
  }

  #selector(selector: Selector): string {
    if (selector.kind === 'item') {
      // A condition among several selectors would read as one if it stood alone.
      return this.print(selector.value);
    }
    const from = selector.from === undefined ? '' : this.print(selector.from);
    const to = selector.to === undefined ? '' : this.print(selector.to);
    return `${from}${selector.form}${to}`;
  }

  projection(items: readonly ProjectionItem[]): string {
    return items.map(item => this.#projectionItem(item)).join(', ');
  }

  #projectionItem(item: ProjectionItem): string {
    switch (item.kind) {
      case 'all':
        return '*';
      case 'exclude': {
        const name = item.name.startsWith('@') ? item.name : printName(item.name);
        return `!${name}${item.prefix ? '*' : ''}`;
      }
      case 'prefix':
        return `${printName(item.name)}*`;
      case 'item': {
        const text = this.print(item.expression);
        return item.alias === undefined ? text : `${text} AS ${printName(item.alias.text)}`;
      }
      default:
        return unreachable(item);
    }
  }

  target(target: Target): string {
    switch (target.kind) {
      case 'type-target':
        return printName(target.name);
      case 'bucket-target':
        return `bucket:${this.#buckets(target.buckets)}`;
      case 'index-target':
        return `${target.form}:${printName(target.name)}`;
      case 'schema-target': {
        const name = target.name === undefined ? '' : `:${printName(target.name.text)}`;
        return `schema:${printName(target.subject)}${name}`;
      }
      case 'expression-target':
        return this.print(target.expression);
      default:
        return unreachable(target);
    }
  }

  #buckets(buckets: readonly BucketReference[]): string {
    const [only, ...more] = buckets.map(each => this.bucket(each));
    return more.length === 0 ? (only ?? '') : `[${[only, ...more].join(', ')}]`;
  }

  bucket(bucket: BucketReference): string {
    return 'kind' in bucket ? this.print(bucket) : printName(bucket.text);
  }

  select(s: Select): string {
    return join(
      'SELECT',
      s.distinct && 'DISTINCT',
      this.projection(s.items),
      s.from !== undefined && `FROM ${this.target(s.from)}`,
      s.lets.length > 0 && `LET ${this.lets(s.lets)}`,
      this.clause('WHERE', s.where),
      this.#tail(s),
      s.parallel && 'PARALLEL',
    );
  }

  lets(items: Select['lets']): string {
    return items.map(item => `$${item.name} = ${this.print(item.value)}`).join(', ');
  }

  /** `word e`, or nothing without `e`. */
  clause(word: string, e: Expression | undefined): string {
    return e === undefined ? '' : `${word} ${this.print(e)}`;
  }

  #tail(s: Tail): string {
    const order = s.orderBy.map(({expression, direction}) => {
      const text = typeof direction === 'string' ? direction.toUpperCase() : this.print(direction);
      return `${this.print(expression)} ${text}`;
    });
    const unwind = s.unwind.map(({expression, alias}) =>
      alias === undefined
        ? this.print(expression)
        : `${this.print(expression)} AS ${printName(alias.text)}`,
    );
    return join(
      s.groupBy.length > 0 && `GROUP BY ${this.list(s.groupBy)}`,
      this.clause('HAVING', s.having),
      order.length > 0 && `ORDER BY ${order.join(', ')}`,
      unwind.length > 0 && `UNWIND ${unwind.join(', ')}`,
      this.clause('SKIP', s.skip),
      this.clause('LIMIT', s.limit),
      this.timeout(s.timeout),
    );
  }

  timeout(timeout: Timeout | undefined): string {
    if (timeout === undefined) return '';
    const text = `TIMEOUT ${this.print(timeout.milliseconds)}`;
    return timeout.strategy === 'return' ? `${text} RETURN` : text;
  }

  traverse(s: Traverse): string {
    return join(
      'TRAVERSE',
      s.items.length === 0 ? '*' : this.list(s.items),
      `FROM ${this.target(s.from)}`,
      this.clause('MAXDEPTH', s.maxDepth),
      this.clause('WHILE', s.while),
      this.clause('LIMIT', s.limit),
      s.strategy === 'breadth-first' && 'STRATEGY BREADTH_FIRST',
      this.timeout(s.timeout),
    );
  }

  match(s: Match): string {
    const patterns = s.patterns.map(({negated, first, steps}) => {
      const text = this.#node(first) + steps.map(step => this.#hop(step)).join('');
      return negated ? `NOT ${text}` : text;
    });
    return join(
      `MATCH ${patterns.join(', ')} RETURN`,
      s.distinct && 'DISTINCT',
      this.projection(s.items),
      this.#tail(s),
    );
  }

  #hop(step: MatchStep): string {
    const node = this.#node(step.node);
    if (step.kind === 'block') {
      return `.(${step.steps.map(each => this.#hop(each)).join('')})${node}`;
    }
    if (!step.arrow) return `.${step.method}(${this.list(step.types)})${node}`;
    const [type] = step.types;
    const name = type?.kind === 'literal' ? printName(String(type.value)) : '';
    if (step.method === 'in') return `<-${name}-${node}`;
    return step.method === 'out' ? `-${name}->${node}` : `-${name}-${node}`;
  }

  #node(node: MatchNode): string {
    const [type, ...moreTypes] = node.types;
    const keys = [
      type !== undefined && moreTypes.length === 0 && `type: ${printName(type.text)}`,
      moreTypes.length > 0 && `types: [${printNames(node.types)}]`,
      node.bucket !== undefined && `bucket: ${this.bucket(node.bucket)}`,
      node.rid !== undefined && `rid: ${this.print(node.rid)}`,
      node.as !== undefined && `as: ${printName(node.as.text)}`,
      node.where !== undefined && `where: (${this.print(node.where)})`,
      node.while !== undefined && `while: (${this.print(node.while)})`,
      node.maxDepth !== undefined && `maxDepth: ${this.print(node.maxDepth)}`,
      node.depthAlias !== undefined && `depthAlias: ${printName(node.depthAlias.text)}`,
      node.pathAlias !== undefined && `pathAlias: ${printName(node.pathAlias.text)}`,
      node.optional && 'optional: true',
    ];
    return `{${keys.filter(key => key !== false).join(', ')}}`;
  }
}

type ComparisonKind = 'compare' | 'is' | 'between' | 'relation' | 'contains-where';
type PrimaryKind =
  | 'literal'
  | 'integer'
  | 'real'
  | 'rid'
  | 'parameter'
  | 'variable'
  | 'name'
  | 'attribute'
  | 'star'
  | 'list'
  | 'map'
  | 'comprehension'
  | 'call'
  | 'path'
  | 'case'
  | 'subquery';

function printReal(value: number): string {
  if (Object.is(value, -0)) return '-0.0';
  const text = String(value);
  return /[.e]/.test(text) ? text : `${text}.0`;
}

/** The parts that are there, with a blank between. */
export function join(...parts: readonly (string | false)[]): string {
  return parts.filter(part => part !== false && part !== '').join(' ');
}

const plain = new ExpressionPrinter();

/** `expression` as text that parses to an equal tree. */
export function printExpression(expression: Expression): string {
  return plain.print(expression);
}

/** `query` as text that parses to an equal tree. */
export function printQuery(query: Query): string {
  return plain.statement(query);
}
