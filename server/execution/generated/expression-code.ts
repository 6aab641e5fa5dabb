/**
 * JavaScript for an expression: one function instead of a closure an operator.
 *
 * What a closure does by calls into others the generated function does by itself: it reads columns
 * and properties, a property that occurs twice once; it adds and compares plain numbers and texts
 * in place, and keeps null and unknown as `expressions/` says. Every other case goes to the very
 * operation that the closures use (`operationOf`), and a kind of expression that is not written
 * here stays a closure that the code calls.
 *
 * Invariant: the text is made of this file's own words and of whole numbers. Literals, names,
 * places and functions are bound: the code knows them as `b[0]`, `b[1]`, ...
 */
import type {Expression, Slot} from '#server/plan/expression.ts';
import {visitExpression} from '#server/plan/tree.ts';
import type {Closure, Compiler} from '../closure.ts';
import {propertyOf} from '../expressions/access.ts';
import {negation} from '../expressions/compile.ts';
import {type Call, type Operation, operationOf} from '../expressions/operation.ts';
import type {FunctionRegistry} from '../function-registry.ts';
import {fastPath} from './fast-path.ts';

export interface CodeParts {
  readonly compiler: Compiler;
  readonly functions: FunctionRegistry;
}

/** The body of a function of `b` and `fail` that answers the closure, and what `b` holds. */
export interface ExpressionCode {
  readonly body: string;
  readonly bound: readonly unknown[];
}

/** Compiles an expression that no enclosing one binds a slot for. */
export function valueCode(expression: Expression, parts: CodeParts): ExpressionCode {
  const writer = new CodeWriter(expression, parts);
  return writer.function(writer.value(expression));
}

/** Works like `valueCode`, for a condition: true only for true. */
export function testCode(expression: Expression, parts: CodeParts): ExpressionCode {
  const writer = new CodeWriter(expression, parts);
  return writer.function(writer.test(expression));
}

class CodeWriter {
  readonly #parts: CodeParts;
  readonly #bound: unknown[] = [];
  readonly #columns = new Set<Slot>();
  /** Variables of properties that are read more than once, by slot and name. */
  readonly #properties: ReadonlyMap<string, string>;
  #temporaries = 0;
  /** The innermost call around that has a place in the text, by its number in `b`. */
  #place = -1;

  constructor(expression: Expression, parts: CodeParts) {
    this.#parts = parts;
    this.#properties = repeatedProperties(expression);
  }

  function(answer: string): ExpressionCode {
    const lines = [...this.#columns].map(slot => `const c${slot} = cursor.columns[${slot}];`);
    lines.push('const context = cursor.context, row = cursor.row;', 'let at = -1;');
    const variables = [
      ...this.#properties.values(),
      ...Array.from({length: this.#temporaries}, (_, at) => `t${at}`),
    ];
    if (variables.length > 0) lines.push(`let ${variables.join(', ')};`);
    lines.push(`try { return ${answer}; } catch (error) { throw fail(error, b[at]); }`);
    return {body: `return cursor => {\n${lines.join('\n')}\n};`, bound: this.#bound};
  }

  /** A JavaScript expression for the value. */
  value(expression: Expression): string {
    switch (expression.kind) {
      case 'literal':
        return this.#literal(expression.value);
      case 'parameter':
        return `(context.parameters.get(${this.#bind(expression.name)}) ?? null)`;
      case 'slot':
        this.#columns.add(expression.slot);
        return `(c${expression.slot} === undefined ? null : c${expression.slot}[row])`;
      case 'property':
        return expression.each ? this.#closure(expression) : this.#property(expression);
      case 'not':
        return this.#applied(negation, expression.of);
      case 'is-null':
        return `(${this.value(expression.of)} === null)`;
      case 'call':
        return this.#call(expression);
      case 'and':
      case 'or':
        return this.#terms(expression.kind === 'or', expression.terms);
      case 'case':
        return this.#cases(expression);
      default:
        return this.#closure(expression);
    }
  }

  /** A JavaScript expression that is true or false. */
  test(expression: Expression): string {
    if (expression.kind === 'and' || expression.kind === 'or') {
      const sign = expression.kind === 'and' ? ' && ' : ' || ';
      return `(${expression.terms.map(term => this.test(term)).join(sign)})`;
    }
    return `(${this.value(expression)} === true)`;
  }

  #bind(value: unknown): string {
    return `b[${this.#bound.push(value) - 1}]`;
  }

  #temporary(): string {
    return `t${this.#temporaries++}`;
  }

  #literal(value: unknown): string {
    return value === null || typeof value === 'boolean' ? String(value) : this.#bind(value);
  }

  #closure(expression: Expression): string {
    const closure: Closure = this.#parts.compiler.expression(expression);
    return this.#within(`${this.#bind(closure)}(cursor)`);
  }

  /** Something that may be refused, with the place that it is refused at. */
  #within(code: string): string {
    return `(at = ${this.#place}, ${code})`;
  }

  /** The operand first: what it refuses has a place of its own. */
  #applied(run: unknown, operand: Expression, more = ''): string {
    const value = this.#temporary();
    const call = this.#within(`${this.#bind(run)}(${value}${more})`);
    return `(${value} = ${this.value(operand)}, ${call})`;
  }

  #property({of, name}: Expression & {readonly kind: 'property'}): string {
    const known = of.kind === 'slot' ? this.#properties.get(propertyKey(of.slot, name)) : undefined;
    const read = this.#applied(propertyOf, of, `, ${this.#bind(name)}, context.graph`);
    if (known === undefined) return `(${read} ?? null)`;
    return `(${known} === undefined ? (${known} = ${read} ?? null) : ${known})`;
  }

  #call(call: Call): string {
    const operation = operationOf(call, this.#parts.functions);
    const outer = this.#place;
    if (call.place !== undefined) this.#place = this.#bound.push(call) - 1;
    const code = this.#operation(call, operation);
    this.#place = outer;
    return code;
  }

  #operation(call: Call, {operands, propagatesNull, arity, run}: Operation): string {
    const values = operands.map(operand => {
      const isKnown = operand.kind === 'literal' && operand.value !== null;
      const code = this.value(operand);
      return {code, isKnown, name: isKnown ? code : this.#temporary()};
    });
    const names = values.map(({name}) => name);
    const given = arity === 'any' ? `[${names.join(', ')}]` : names.join(', ');
    const slow = this.#within(`${this.#bind(run)}(${given}, context)`);
    const constant = arity === 1 ? call.args[1] : undefined;
    const second = constant === undefined ? names[1] : this.#constant(constant);
    const temporary = (): string => this.#temporary();
    const answer = fastPath(call, {left: names[0], right: second, slow, temporary}) ?? slow;
    return `(${values.reduceRight((inner, {code, name, isKnown}) => {
      if (isKnown) return inner;
      if (propagatesNull) return `(${name} = ${code}) === null ? null : ${inner}`;
      return `(${name} = ${code}, ${inner})`;
    }, answer)})`;
  }

  #constant(expression: Expression): string | undefined {
    return expression.kind === 'literal' ? this.#literal(expression.value) : undefined;
  }

  /** Left to right up to the first term that decides; unknown when none does and one is. */
  #terms(decisive: boolean, terms: readonly Expression[]): string {
    const unknown = this.#temporary();
    const found = this.#temporary();
    const steps = terms.map(
      term =>
        `(${found} = ${this.value(term)}) === ${decisive} || ` +
        `(${unknown} ||= ${found} !== ${!decisive}, false)`,
    );
    const undecided = `${unknown} ? null : ${!decisive}`;
    return `(${unknown} = false, (${steps.join(' || ')}) ? ${decisive} : ${undecided})`;
  }

  #cases({branches, otherwise}: Expression & {readonly kind: 'case'}): string {
    const end = otherwise === undefined ? 'null' : this.value(otherwise);
    return `(${branches.reduceRight(
      (rest, {when, then}) => `${this.test(when)} ? ${this.value(then)} : ${rest}`,
      end,
    )})`;
  }
}

function propertyKey(slot: Slot, name: string): string {
  return `${slot} ${name}`;
}

/** A function of the database's own may change the records between two readings of one. */
function repeatedProperties(expression: Expression): ReadonlyMap<string, string> {
  const times = new Map<string, number>();
  let mayWrite = false;
  visitExpression(expression, part => {
    mayWrite ||= part.kind === 'routine';
    if (part.kind !== 'property' || part.each || part.of.kind !== 'slot') return;
    const key = propertyKey(part.of.slot, part.name);
    times.set(key, (times.get(key) ?? 0) + 1);
  });
  if (mayWrite) return new Map();
  const repeated = [...times].filter(([, count]) => count > 1);
  return new Map(repeated.map(([key], at) => [key, `p${at}`]));
}
