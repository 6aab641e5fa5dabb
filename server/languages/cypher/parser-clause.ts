/** The clauses of a single query. */
import type {Expression} from './ast-expression.ts';
import type {
  CallClause,
  Clause,
  DeleteClause,
  ForeachClause,
  LoadCsvClause,
  MatchClause,
  MergeClause,
  ProjectionClause,
  ProjectionItem,
  RemoveItem,
  SetItem,
  SortItem,
  SubqueryBatches,
  SubqueryClause,
  Name,
  YieldItem,
} from './ast.ts';
import type {Cursor} from './cursor.ts';
import type {Keyword} from './keyword.ts';
import {parseList} from './parser-atom.ts';
import {parseExpression, parseOperand} from './parser-expression.ts';
import {parsePattern, parsePatterns} from './parser-pattern.ts';

/** The clause that stands here, or undefined. */
export function parseClause(cursor: Cursor): Clause | undefined {
  const {at} = cursor;
  if (cursor.is('MATCH') || cursor.isPair('OPTIONAL', 'MATCH')) return parseMatch(cursor);
  if (cursor.accept('UNWIND')) return parseUnwind(cursor, at);
  if (cursor.accept('FOR')) return parseFor(cursor, at);
  if (cursor.accept('LET')) return everything(at, {items: parseLets(cursor)});
  if (cursor.accept('FILTER')) return parseFilter(cursor, at);
  if (cursor.accept('USE')) return {kind: 'use', name: cursor.name('a database'), at};
  if (cursor.accept('WITH')) return parseProjection(cursor, 'with', at);
  if (cursor.accept('RETURN')) return parseProjection(cursor, 'return', at);
  if (cursor.acceptPair('OPTIONAL', 'CALL')) return parseCallOrSubquery(cursor, true, at);
  if (cursor.accept('CALL')) return parseCallOrSubquery(cursor, false, at);
  if (cursor.accept('SHOW')) return parseShow(cursor, at);
  if (cursor.acceptPair('LOAD', 'CSV')) return parseLoadCsv(cursor, at);
  return parseUpdate(cursor);
}

/** A clause that FOREACH may hold. */
function parseUpdate(cursor: Cursor): Clause | undefined {
  const {at} = cursor;
  if (cursor.accept('CREATE') || cursor.accept('INSERT')) {
    return {kind: 'create', patterns: parsePatterns(cursor), at};
  }
  if (cursor.accept('MERGE')) return parseMerge(cursor, at);
  if (cursor.accept('SET')) return {kind: 'set', items: parseSetItems(cursor), at};
  if (cursor.accept('REMOVE')) return {kind: 'remove', items: parseRemoveItems(cursor), at};
  if (cursor.acceptPair('DETACH', 'DELETE')) return parseDelete(cursor, true, at);
  if (cursor.acceptPair('NODETACH', 'DELETE')) return parseDelete(cursor, false, at);
  if (cursor.accept('DELETE')) return parseDelete(cursor, false, at);
  if (cursor.accept('FOREACH')) return parseForeach(cursor, at);
  return undefined;
}

function parseMatch(cursor: Cursor): MatchClause {
  const {at} = cursor;
  const optional = cursor.accept('OPTIONAL');
  cursor.expect('MATCH');
  const repeats =
    cursor.acceptPair('REPEATABLE', 'ELEMENTS') || cursor.acceptPair('REPEATABLE', 'ELEMENT');
  if (!repeats && !cursor.acceptPair('DIFFERENT', 'RELATIONSHIPS')) {
    cursor.acceptPair('DIFFERENT', 'RELATIONSHIP');
  }
  const patterns = parsePatterns(cursor);
  return {kind: 'match', optional, repeats, patterns, where: parseWhere(cursor), at};
}

function parseWhere(cursor: Cursor): Expression | undefined {
  return cursor.accept('WHERE') ? parseExpression(cursor) : undefined;
}

function parseUnwind(cursor: Cursor, at: number): Clause {
  const list = parseExpression(cursor);
  cursor.expect('AS');
  return {kind: 'unwind', list, name: cursor.name('a variable'), at};
}

/** `FOR x IN list`: UNWIND in other words. */
function parseFor(cursor: Cursor, at: number): Clause {
  const name = cursor.name('a variable');
  cursor.expect('IN');
  return {kind: 'unwind', list: parseExpression(cursor), name, at};
}

/** `a = 1, b = 2`: columns beside every other. */
function parseLets(cursor: Cursor): readonly ProjectionItem[] {
  const items: ProjectionItem[] = [];
  do {
    const alias = cursor.name('a variable');
    cursor.expect('=');
    const {at} = cursor;
    const value = parseExpression(cursor);
    items.push({value, alias, text: cursor.text.slice(at, cursor.endBefore)});
  } while (cursor.acceptAnother(',', items.length));
  return items;
}

function parseFilter(cursor: Cursor, at: number): ProjectionClause {
  cursor.accept('WHERE');
  return everything(at, {where: parseExpression(cursor)});
}

/** A WITH that keeps every variable. */
export function everything(
  at: number,
  {items = [], where}: {readonly items?: readonly ProjectionItem[]; readonly where?: Expression},
): ProjectionClause {
  return {
    kind: 'with',
    distinct: false,
    star: true,
    items,
    orderBy: [],
    skip: undefined,
    limit: undefined,
    where,
    at,
  };
}

function parseProjection(cursor: Cursor, kind: 'with' | 'return', at: number): ProjectionClause {
  const distinct = cursor.accept('DISTINCT');
  const star = cursor.accept('*');
  const items: ProjectionItem[] = [];
  if (!star || cursor.accept(',')) {
    do items.push(parseProjectionItem(cursor));
    while (cursor.acceptAnother(',', items.length));
  }
  const orderBy = cursor.acceptPair('ORDER', 'BY') ? parseSortItems(cursor) : [];
  const skip =
    cursor.accept('SKIP') || cursor.accept('OFFSET') ? parseExpression(cursor) : undefined;
  const limit = cursor.accept('LIMIT') ? parseExpression(cursor) : undefined;
  const where = kind === 'with' ? parseWhere(cursor) : undefined;
  return {kind, distinct, star, items, orderBy, skip, limit, where, at};
}

function parseProjectionItem(cursor: Cursor): ProjectionItem {
  const {at} = cursor;
  const value = parseExpression(cursor);
  const text = cursor.text.slice(at, cursor.endBefore);
  const alias = cursor.accept('AS') ? cursor.name('a name') : undefined;
  return {value, alias, text};
}

function parseSortItems(cursor: Cursor): readonly SortItem[] {
  const items: SortItem[] = [];
  do {
    const value = parseExpression(cursor);
    const descending = cursor.accept('DESC') || cursor.accept('DESCENDING');
    if (!descending && !cursor.accept('ASC')) cursor.accept('ASCENDING');
    items.push({value, descending});
  } while (cursor.acceptAnother(',', items.length));
  return items;
}

function parseCallOrSubquery(
  cursor: Cursor,
  optional: boolean,
  at: number,
): CallClause | SubqueryClause {
  if (cursor.is('{') || cursor.is('(')) return parseSubquery(cursor, optional, at);
  return {...parseCall(cursor, at), optional};
}

function parseSubquery(cursor: Cursor, optional: boolean, at: number): SubqueryClause {
  const imports = cursor.accept('(') ? parseImports(cursor) : undefined;
  cursor.expect('{');
  const query = cursor.queryRule(cursor);
  cursor.expect('}');
  const batches = parseBatches(cursor);
  return {kind: 'subquery', query, imports, optional, ...(batches && {batches}), at};
}

/** `IN TRANSACTIONS OF 100 ROWS ON ERROR CONTINUE REPORT STATUS AS s`. */
function parseBatches(cursor: Cursor): SubqueryBatches | undefined {
  const {at} = cursor;
  if (!cursor.acceptPair('IN', 'TRANSACTIONS')) return undefined;
  const size = cursor.accept('OF') ? parseExpression(cursor) : undefined;
  if (size !== undefined && !cursor.accept('ROWS')) cursor.expect('ROW');
  const {onError, retry} = cursor.acceptPair('ON', 'ERROR') ? parseOnError(cursor) : failing;
  const reports = cursor.acceptWords('REPORT', 'STATUS', 'AS');
  const status = reports ? cursor.name('a variable') : undefined;
  return {size, onError, retry, status, at};
}

const failing = {onError: 'fail', retry: undefined} as const;
/** The default time limit of RETRY. */
const retrySeconds = 30;

function parseOnError(cursor: Cursor): Pick<SubqueryBatches, 'onError' | 'retry'> {
  const {at} = cursor;
  if (!cursor.accept('RETRY')) return {onError: parseFailure(cursor), retry: undefined};
  let retry: Expression = {kind: 'literal', value: retrySeconds, isFloat: false, at};
  if (cursor.accept('FOR')) {
    retry = parseExpression(cursor);
    for (const unit of ['SECONDS', 'SECOND', 'SEC'] as const) if (cursor.accept(unit)) break;
  }
  return {onError: cursor.accept('THEN') ? parseFailure(cursor) : 'fail', retry};
}

function parseFailure(cursor: Cursor): SubqueryBatches['onError'] {
  if (cursor.accept('CONTINUE')) return 'continue';
  if (cursor.accept('BREAK')) return 'break';
  cursor.expect('FAIL');
  return 'fail';
}

function parseImports(cursor: Cursor): readonly Name[] | 'star' {
  if (cursor.accept('*')) {
    cursor.expect(')');
    return 'star';
  }
  const names: Name[] = [];
  if (cursor.accept(')')) return names;
  do names.push(cursor.name('a variable'));
  while (cursor.accept(','));
  cursor.expect(')');
  return names;
}

function parseCall(cursor: Cursor, at: number): Omit<CallClause, 'optional'> {
  const start = cursor.at;
  let text = cursor.name('a procedure').text;
  while (cursor.accept('.')) text += `.${cursor.name('a procedure').text}`;
  const args = cursor.accept('(') ? parseList(cursor, ')') : undefined;
  const procedure = {text, at: start};
  const yields = acceptYields(cursor);
  if (yields === undefined) {
    return {kind: 'call', procedure, args, yields, where: undefined, at};
  }
  return {kind: 'call', procedure, args, yields, where: parseWhere(cursor), at};
}

const shown: readonly (readonly [procedure: string, ...words: readonly Keyword[]])[] = [
  ['show.currentUser', 'CURRENT', 'USER'],
  ['show.indexes', 'INDEXES'],
  ['show.indexes', 'INDEX'],
  ['show.constraints', 'CONSTRAINTS'],
  ['show.constraints', 'CONSTRAINT'],
  ['show.users', 'USERS'],
  ['show.users', 'USER'],
  ['show.transactions', 'TRANSACTIONS'],
  ['show.transactions', 'TRANSACTION'],
];

/** SHOW is a call of the table that it shows; a condition alone is asked of every column. */
function parseShow(cursor: Cursor, at: number): CallClause {
  cursor.accept('ALL');
  const start = cursor.at;
  const found = shown.find(([, ...words]) => cursor.acceptWords(...words));
  if (found === undefined) return cursor.fail();
  const [text] = found;
  const call = {kind: 'call', procedure: {text, at: start}, args: [], optional: false, at} as const;
  const yields = acceptYields(cursor);
  const where = parseWhere(cursor);
  return {...call, yields: where === undefined ? yields : (yields ?? 'star'), where};
}

function acceptYields(cursor: Cursor): CallClause['yields'] {
  if (!cursor.accept('YIELD')) return undefined;
  if (cursor.accept('*')) return 'star';
  const yields: YieldItem[] = [];
  if (cursor.accept('-')) return yields;
  do {
    const column = cursor.name('a column');
    const alias = cursor.accept('AS') ? cursor.name('a variable') : undefined;
    yields.push({column, alias});
  } while (cursor.accept(','));
  return yields;
}

function parseLoadCsv(cursor: Cursor, at: number): LoadCsvClause {
  const withHeaders = cursor.acceptPair('WITH', 'HEADERS');
  cursor.expect('FROM');
  const from = parseExpression(cursor);
  cursor.expect('AS');
  const name = cursor.name('a variable');
  const separator = cursor.accept('FIELDTERMINATOR') ? parseExpression(cursor) : undefined;
  return {kind: 'load-csv', withHeaders, from, name, separator, at};
}

function parseMerge(cursor: Cursor, at: number): MergeClause {
  const pattern = parsePattern(cursor);
  const onCreate: SetItem[] = [];
  const onMatch: SetItem[] = [];
  for (;;) {
    if (cursor.acceptWords('ON', 'CREATE', 'SET')) onCreate.push(...parseSetItems(cursor));
    else if (cursor.acceptWords('ON', 'MATCH', 'SET')) onMatch.push(...parseSetItems(cursor));
    else return {kind: 'merge', pattern, onCreate, onMatch, at};
  }
}

function parseSetItems(cursor: Cursor): readonly SetItem[] {
  const items: SetItem[] = [];
  do items.push(parseSetItem(cursor));
  while (cursor.acceptAnother(',', items.length));
  return items;
}

function parseSetItem(cursor: Cursor): SetItem {
  const {at} = cursor;
  if (cursor.isName()) {
    const next = cursor.lexemeAhead(1);
    if (next === ':' || next === 'IS') {
      return {kind: 'labels', name: cursor.name('a variable'), labels: parseLabelNames(cursor), at};
    }
    if (next === '=' || next === '+=') {
      const name = cursor.name('a variable');
      const adds = cursor.lexeme === '+=';
      cursor.advance();
      return {kind: 'properties', name, value: parseExpression(cursor), adds, at};
    }
  }
  const target = parseTarget(cursor);
  cursor.expect('=');
  return {kind: 'property', ...target, value: parseExpression(cursor), at};
}

/** `n.name`, `(n).name`, `n['name']`: read as an expression whose last step is assigned to. */
function parseTarget(cursor: Cursor): {
  readonly of: Expression;
  readonly name: Name | Expression;
} {
  const {at} = cursor;
  const {made: target} = cursor.measured(() => parseOperand(cursor));
  if (target.kind === 'property') return {of: target.of, name: target.name};
  if (target.kind === 'item') return {of: target.of, name: target.key};
  return cursor.refuse(at, 'UnexpectedSyntax', 'a property is needed to assign to');
}

function parseLabelNames(cursor: Cursor): readonly Name[] {
  const labels: Name[] = [];
  if (cursor.accept('IS')) labels.push(cursor.name('a label'));
  while (cursor.accept(':')) labels.push(cursor.name('a label'));
  return labels;
}

function parseRemoveItems(cursor: Cursor): readonly RemoveItem[] {
  const items: RemoveItem[] = [];
  do {
    const {at} = cursor;
    if (cursor.isName() && cursor.lexemeAhead(1) === ':') {
      const name = cursor.name('a variable');
      items.push({kind: 'labels', name, labels: parseLabelNames(cursor), at});
    } else items.push({kind: 'property', ...parseTarget(cursor), at});
  } while (cursor.acceptAnother(',', items.length));
  return items;
}

function parseDelete(cursor: Cursor, detach: boolean, at: number): DeleteClause {
  const values: Expression[] = [];
  do values.push(parseExpression(cursor));
  while (cursor.accept(','));
  return {kind: 'delete', detach, values, at};
}

function parseForeach(cursor: Cursor, at: number): ForeachClause {
  cursor.enter();
  cursor.expect('(');
  const name = cursor.name('a variable');
  cursor.expect('IN');
  const list = parseExpression(cursor);
  cursor.expect('|');
  const clauses: Clause[] = [];
  for (;;) {
    const clause = parseUpdate(cursor);
    if (clause === undefined) break;
    clauses.push(clause);
  }
  if (clauses.length === 0) cursor.fail();
  cursor.expect(')');
  cursor.leave();
  return {kind: 'foreach', name, list, clauses, at};
}
