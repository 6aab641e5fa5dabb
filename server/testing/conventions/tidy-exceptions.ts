/**
 * The files that may break a rule of tidy.ts, a reason each. The list may only shrink: an exception
 * that excuses nothing any more is itself a violation.
 */
import type {TidyException} from './tidy.ts';

/** An exception for each file of a circle of imports, so that no other one can join. */
function circle(
  rule: 'file-cycle' | 'type-cycle',
  folder: string,
  files: string,
  reason: string,
): readonly TidyException[] {
  return files.split(' ').map(name => ({rule, path: `${folder}/${name}.ts`, reason}));
}

export const tidyExceptions: readonly TidyException[] = [
  ...circle(
    'file-cycle',
    'server/languages/sql',
    'parser-expression parser-suffix',
    'recursive descent: what stands behind an expression may hold expressions',
  ),
  ...circle(
    'file-cycle',
    'server/languages/sql',
    'bind-expression bind-path',
    'recursive descent: a path may hold expressions, and an expression paths',
  ),
  ...circle(
    'file-cycle',
    'server/languages/cypher',
    'parser-atom parser-expression parser-pattern',
    'recursive descent: a pattern may hold expressions, and an expression patterns',
  ),
  ...circle(
    'file-cycle',
    'server/languages/cypher',
    'bind-expression bind-function bind-local-function bind-pattern bind-procedure ' +
      'bind-projection bind-query bind-subquery bind-terms bind-update',
    'recursive descent: an expression may hold a query, and a query expressions',
  ),
  ...circle(
    'file-cycle',
    'server/plan',
    'expression-text printer',
    'recursive descent: an expression may hold a plan, and a plan expressions',
  ),
  ...circle('type-cycle', 'server/plan', 'expression node', 'an expression may hold a plan'),
  ...circle('type-cycle', 'server/languages/sql', 'ast ast-statement', 'queries inside of others'),
  ...circle(
    'type-cycle',
    'server/languages/cypher',
    'ast ast-expression',
    'queries in expressions',
  ),
  ...circle('type-cycle', 'server/raft', 'membership message', 'an entry may hold a membership'),
  {
    rule: 'folder-size',
    path: 'server/languages/sql',
    reason: 'a language is one public folder; its parser and binder have a file for each statement',
  },
  {
    rule: 'folder-size',
    path: 'server/languages/cypher',
    reason:
      'a language is a single public folder, and its parser and binder have a file for each part',
  },
  {
    rule: 'function-length',
    path: 'server/plan/tree.ts',
    reason: 'one switch with a case of a line or two for each kind of node',
  },
  {
    rule: 'function-length',
    path: 'server/plan/map-expressions.ts',
    reason: 'one switch with a case of a line or two for each kind of expression',
  },
];
