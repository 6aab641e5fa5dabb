/**
 * A text that is the same for expressions that say the same, wherever they stand: by it a
 * grouping key or a projected value is known again.
 */
import type {Expression} from './ast-expression.ts';

export function syntaxKey(ast: Expression): string {
  return JSON.stringify(ast, (key, value: unknown) => {
    if (key === 'at' || key === 'text') return key === 'text' ? value : undefined;
    return typeof value === 'bigint' ? `${value}n` : value;
  });
}

/** Calls `visit` for the expression and what it is made of, until it answers false. */
export function visitSyntax(ast: Expression, visit: (ast: Expression) => boolean): void {
  if (!visit(ast)) return;
  for (const value of Object.values(ast)) visitValue(value, visit);
}

function visitValue(value: unknown, visit: (ast: Expression) => boolean): void {
  if (Array.isArray(value)) for (const item of value) visitValue(item, visit);
  else if (typeof value === 'object' && value !== null) {
    if ('kind' in value && 'at' in value) visitSyntax(value as Expression, visit);
    else for (const inner of Object.values(value)) visitValue(inner, visit);
  }
}
