/**
 * Statements that shape the schema: syntax tree to commands (plan/statement.ts).
 *
 * Option values are literals (or parameters are refused: a schema says what it says). What is
 * documented but belongs to a model that is not here yet is refused by its name.
 */
import {unreachable} from '#server/base/assert.ts';
import {words} from '#server/base/words.ts';
import type {SchemaCommand} from '#server/plan/statement.ts';
import type * as Sql from './ast-statement.ts';
import type {BindContext} from './bind-context.ts';
import {bindCreateTrigger, bindDefineFunction, functionName} from './bind-routine.ts';
import {bindCreateView, bindRefresh} from './bind-view.ts';
import {changedCustom, constantOf, printedKind, settingsOf} from './bind-constant.ts';
import {bindAlterProperty, bindAlterType, bindCreateProperty, bindCreateType} from './bind-type.ts';
import {bindCreateIndex} from './bind-index.ts';

const schemaKinds: ReadonlySet<string> = new Set<Sql.SchemaStatement['kind']>([
  ...words('create-type alter-type create-property alter-property create-index create-bucket'),
  ...words('alter-bucket drop truncate rebuild create-trigger create-view create-timeseries'),
  ...words('alter-timeseries create-graph-view alter-view refresh-view define-function'),
  ...words('drop-function'),
]);

export function isSchemaStatement(ast: Sql.Statement): ast is Sql.SchemaStatement {
  return schemaKinds.has(ast.kind);
}

export function bindSchema(context: BindContext, ast: Sql.SchemaStatement): SchemaCommand {
  switch (ast.kind) {
    case 'create-type':
      return bindCreateType(context, ast);
    case 'alter-type':
      return bindAlterType(context, ast);
    case 'create-property':
      return bindCreateProperty(context, ast);
    case 'alter-property':
      return bindAlterProperty(context, ast);
    case 'create-index':
      return bindCreateIndex(context, ast);
    case 'create-bucket':
      return {kind: 'create-bucket', name: ast.name.text, ifNotExists: ast.ifNotExists};
    case 'alter-bucket':
      return bindAlterBucket(context, ast);
    case 'drop':
      return bindDrop(context, ast);
    case 'truncate':
      return bindTruncate(ast);
    case 'rebuild':
      return bindRebuild(context, ast);
    case 'create-trigger':
      return bindCreateTrigger(context, ast);
    case 'create-view':
      if (ast.what === 'materialized-view') return bindCreateView(context, ast);
      return context.notAvailable(ast.at, `CREATE ${printedKind(ast.what)}`);
    case 'create-timeseries':
    case 'alter-timeseries':
      return context.notAvailable(ast.at, 'TIMESERIES TYPE');
    case 'create-graph-view':
      return context.notAvailable(ast.at, 'CREATE GRAPH ANALYTICAL VIEW');
    case 'alter-view':
      if (ast.what !== 'materialized-view') {
        return context.notAvailable(ast.at, `ALTER ${printedKind(ast.what)}`);
      }
      return {
        kind: 'alter-view',
        name: ast.name.text,
        refresh: bindRefresh(context, ast.refresh),
      };
    case 'refresh-view':
      if (ast.what === 'materialized-view') return {kind: 'refresh-view', name: ast.name.text};
      return context.notAvailable(ast.at, `REFRESH ${printedKind(ast.what)}`);
    case 'define-function':
      return bindDefineFunction(context, ast);
    case 'drop-function':
      return {kind: 'drop-function', name: functionName(ast)};
    default:
      return unreachable(ast);
  }
}

function bindAlterBucket(context: BindContext, ast: Sql.AlterBucket): SchemaCommand {
  const renames = ast.options.filter(option => option.name.toLowerCase() === 'name');
  const custom = ast.options.filter(option => !renames.includes(option));
  const [rename] = renames;
  const newName = rename && constantOf(context, rename.value);
  if (rename !== undefined && typeof newName !== 'string') {
    return context.refuse(rename.at, 'The new name of a bucket is a name');
  }
  return {
    kind: 'alter-bucket',
    name: ast.name.text,
    ...(typeof newName === 'string' && {newName}),
    ...(custom.length > 0 && {custom: changedCustom(context, custom)}),
  };
}

function bindDrop(context: BindContext, ast: Sql.Drop): SchemaCommand {
  const name = ast.name?.text ?? '*';
  const {ifExists} = ast;
  switch (ast.what) {
    case 'type':
      return {kind: 'drop-type', name, ifExists, unsafe: ast.unsafe};
    case 'property':
      return {
        kind: 'drop-property',
        type: name,
        name: ast.property?.text ?? '',
        ifExists,
        force: ast.force,
      };
    case 'index':
      return {kind: 'drop-index', name, ifExists};
    case 'bucket':
      return {kind: 'drop-bucket', name, ifExists};
    case 'trigger':
      return {kind: 'drop-trigger', name, ifExists};
    case 'materialized-view':
      return {kind: 'drop-view', name, ifExists};
    case 'continuous-aggregate':
    case 'graph-analytical-view':
    case 'timeseries-type':
      return context.notAvailable(ast.at, `DROP ${printedKind(ast.what)}`);
    default:
      return unreachable(ast.what);
  }
}

function bindTruncate(ast: Sql.Truncate): SchemaCommand {
  const name = ast.name.text;
  switch (ast.what) {
    case 'type':
      return {kind: 'truncate-type', name, polymorphic: ast.polymorphic, unsafe: ast.unsafe};
    case 'bucket':
      return {kind: 'truncate-bucket', name, unsafe: ast.unsafe};
    default:
      return unreachable(ast.what);
  }
}

function bindRebuild(context: BindContext, ast: Sql.Rebuild): SchemaCommand {
  const name = ast.name?.text ?? '*';
  switch (ast.what) {
    case 'rebuild-index':
      settingsOf(context, ast, ['batchSize']);
      return {kind: 'rebuild-index', name};
    case 'compact-index':
      settingsOf(context, ast, []);
      return {kind: 'compact-index', name};
    case 'rebuild-type': {
      const {repartition = false} = settingsOf(context, ast, ['batchSize', 'repartition']);
      return {kind: 'rebuild-type', name, polymorphic: ast.polymorphic, repartition};
    }
    case 'rebuild-graph-view':
      return context.notAvailable(ast.at, printedKind(ast.what));
    default:
      return unreachable(ast.what);
  }
}
