/** What schema statements say literally: option values, counts, buckets, data types. */
import {Refusal} from '#server/base/errors.ts';
import {nearestNameHint} from '#server/catalog/nearest-name.ts';
import {type DataType, dataTypes, parseDataType} from '#server/model/data-type.ts';
import {makeDouble} from '#server/model/number.ts';
import type {Value} from '#server/model/value.ts';
import type * as Ast from './ast.ts';
import type * as Sql from './ast-statement.ts';
import type {BindContext} from './bind-context.ts';

export function printedKind(kind: string): string {
  return kind.replaceAll('-', ' ').toUpperCase();
}

/** A literal's value; a bare name or keyword is its text. */
export function constantOf(context: BindContext, ast: Ast.Expression): Value {
  switch (ast.kind) {
    case 'literal':
    case 'integer':
      return ast.value;
    case 'real':
      return makeDouble(ast.value);
    case 'name':
      return ast.name;
    case 'unary':
      if (ast.operator === '-' && ast.operand.kind === 'integer') {
        return typeof ast.operand.value === 'bigint' ? -ast.operand.value : -ast.operand.value;
      }
      if (ast.operator === '-' && ast.operand.kind === 'real') {
        return makeDouble(-ast.operand.value);
      }
      break;
    case 'list':
      return ast.items.map(item => constantOf(context, item));
    case 'map':
      return new Map(ast.entries.map(({key, value}) => [key, constantOf(context, value)]));
    default:
  }
  return context.refuse(ast.at, 'A literal value is expected here');
}

export function customOf(
  context: BindContext,
  items: readonly Sql.Option[],
): ReadonlyMap<string, Value> {
  return new Map(items.map(({name, value}) => [name, constantOf(context, value)]));
}

/** Works like `customOf`; null removes an entry. */
export function changedCustom(
  context: BindContext,
  items: readonly Sql.Option[],
): ReadonlyMap<string, Value | undefined> {
  return new Map(items.map(({name, value}) => [name, constantOf(context, value) ?? undefined]));
}

export function bucketName(context: BindContext, reference: Ast.BucketReference): string {
  if (!('kind' in reference)) return reference.text;
  if (reference.kind === 'parameter') {
    return context.refuse(reference.at, 'A schema statement names its buckets, not parameters');
  }
  const bucket = context.catalog.bucketById(Number(reference.value));
  return bucket?.name ?? String(reference.value);
}

/** A literal whole number that is not negative. */
export function countOf(context: BindContext, ast: Ast.Expression | undefined): number | undefined {
  if (ast === undefined) return undefined;
  const value = constantOf(context, ast);
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value;
  return context.refuse(ast.at, 'A whole number, not negative, is expected here');
}

export function dataTypeOf(context: BindContext, name: Ast.Name): DataType {
  const known = parseDataType(name.text);
  if (known !== undefined) return known;
  return context.located(name.at, () => {
    const hint = nearestNameHint(name.text, dataTypes);
    throw new Refusal('argument', `There is no data type '${name.text}'${hint}`);
  });
}

type FlagSetting = 'repartition' | 'lightweight' | 'unique';

/**
 * The settings behind WITH. How many records go into one transaction (`batchSize`) is the server's
 * own affair; the others are true or false.
 */
export function settingsOf(
  context: BindContext,
  {kind, settings, ...ast}: Sql.Rebuild | Sql.AlterType,
  known: readonly ('batchSize' | FlagSetting)[],
): {readonly [name in FlagSetting]?: boolean} {
  const flags: {[name in FlagSetting]?: boolean} = {};
  for (const {at, name, value} of settings) {
    const key = known.find(one => one.toLowerCase() === name.toLowerCase());
    if (key === undefined) {
      const statement = printedKind('what' in ast ? ast.what : kind);
      const hint = known.length === 0 ? '' : `: expected one of ${known.join(', ')}`;
      return context.syntax(at, `There is no setting '${name}' of ${statement}${hint}`);
    }
    if (key === 'batchSize') {
      if ((countOf(context, value) ?? 0) < 1) context.syntax(at, 'batchSize is at least 1');
      continue;
    }
    const flag = constantOf(context, value);
    if (typeof flag !== 'boolean') context.syntax(at, `${key} is true or false`);
    else flags[key] = flag;
  }
  return flags;
}
