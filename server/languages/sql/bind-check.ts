/**
 * CHECK DATABASE: syntax tree to command (plan/statement.ts).
 *
 * DEEP asks for what every check does. What removes something says FIX as well, so that nobody
 * loses by a word what he wanted to be told of.
 */
import {Rid} from '#server/model/value.ts';
import type {CheckCommand} from '#server/plan/statement.ts';
import type * as Ast from './ast.ts';
import type * as Sql from './ast-statement.ts';
import type {BindContext} from './bind-context.ts';
import {bucketName} from './bind-constant.ts';

export function bindCheck(context: BindContext, ast: Sql.CheckDatabase): CheckCommand {
  if (ast.compress && ast.records.length > 0) {
    context.refuse(
      ast.at,
      'COMPRESS is about whole buckets, RECORD about single records: write two statements',
    );
  }
  if (ast.deleteOrphans && !ast.fix) {
    context.refuse(
      ast.at,
      'DELETE ORPHANS removes records: write CHECK DATABASE FIX DELETE ORPHANS. Without it they ' +
        'are reported',
    );
  }
  if (ast.reclaim && !ast.fix) {
    context.refuse(
      ast.at,
      'RECLAIM UNREFERENCED FILES removes files: write CHECK DATABASE FIX RECLAIM UNREFERENCED ' +
        'FILES. Without it they are reported',
    );
  }
  const types = ast.types.map(name =>
    context.located(name.at, () => context.catalog.requireType(name.text).name),
  );
  const buckets = ast.buckets.map(reference =>
    context.located(reference.at, () => {
      return context.catalog.requireBucket(bucketName(context, reference)).name;
    }),
  );
  return {
    kind: 'check-database',
    types,
    buckets,
    records: ast.records.map(record => ridOf(context, record)),
    fix: ast.fix,
    deleteOrphans: ast.deleteOrphans,
    reclaimFiles: ast.reclaim,
    compress: ast.compress,
  };
}

function ridOf(context: BindContext, ast: Ast.Expression): Rid {
  return ast.kind === 'rid'
    ? new Rid(ast.bucket, ast.position)
    : context.refuse(ast.at, 'The id of a record is expected here, such as #1:0');
}
