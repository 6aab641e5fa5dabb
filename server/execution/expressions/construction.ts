/** Lists and maps built from expressions; a spread puts a whole map or record in place. */
import type {MapEntry, Expression} from '#server/plan/expression.ts';
import type {Value} from '#server/model/value.ts';
import {bounded, estimateValue} from './value-size.ts';
import {mapOf} from './access.ts';
import type {Closure, Compiler} from '../closure.ts';

/** Up to here a value is not worth counting. */
const smallBytes = 1_024;

export function compileList(items: readonly Expression[], compiler: Compiler): Closure {
  const constants = items.flatMap(item => (item.kind === 'literal' ? [item.value] : []));
  // Always the same list: who asks for its items twice may remember them.
  if (constants.length === items.length) return () => constants;
  const closures = items.map(item => compiler.expression(item));
  return cursor => {
    const values: Value[] = [];
    const {budget} = cursor.context;
    let bytes = 0;
    for (const closure of closures) {
      const value = closure(cursor);
      bytes += estimateValue(value, budget.valueBytesMax);
      if (bytes > budget.valueBytesMax) budget.made(bytes);
      values.push(value);
    }
    if (bytes > smallBytes) budget.made(bytes);
    return values;
  };
}

export function compileMap(entries: readonly MapEntry[], compiler: Compiler): Closure {
  const closures = entries.map(entry =>
    'value' in entry
      ? {key: entry.key, of: compiler.expression(entry.value)}
      : {key: undefined, of: compiler.expression(entry.spread), except: new Set(entry.except)},
  );
  return cursor => {
    const map = new Map<string, Value>();
    for (const entry of closures) {
      const value = entry.of(cursor);
      if (entry.key !== undefined) map.set(entry.key, value);
      else {
        for (const [name, property] of mapOf(value, cursor.context.graph) ?? []) {
          if (!entry.except.has(name)) map.set(name, property);
        }
      }
    }
    return bounded(map, cursor.context.budget);
  };
}
