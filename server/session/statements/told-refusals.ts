/**
 * Refusals as a user may be told them. That of a unique key names the record that has the key,
 * whose id tells of which type it is: who may not read that type learns only that the key is taken.
 * That of an unknown name guesses what was meant: not for whom the schema has types that he is not
 * told.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import {withoutHint} from '#server/catalog/nearest-name.ts';
import {parseRid} from '#server/model/rid.ts';
import {isShownTo, type TypeGuard} from '../type-guard.ts';

/** What a user is told of `error`; undefined as the guard: all of it. */
export function toldRefusal(
  error: unknown,
  guard: TypeGuard | undefined,
  catalog: Catalog,
): unknown {
  if (guard === undefined || !(error instanceof Refusal)) return error;
  if (error.code.startsWith('schema.unknown-')) return toldUnknown(error, guard, catalog);
  const rid = holderOf(error) ?? holderOf(error.cause);
  const bucket = rid === undefined ? undefined : parseRid(rid)?.bucket;
  if (rid === undefined || bucket === undefined) return error;
  const type = catalog.typeOfBucket(bucket);
  if (type !== undefined && guard.allowsAll('readRecord', [type.name])) return error;
  const {code, message, place, detail} = error;
  const {rid: _, args, ...told} = detail;
  return new Refusal(code, message.replaceAll(`record ${rid}`, 'another record'), {
    detail: {...told, ...(typeof args === 'string' && {args: args.replaceAll(rid, '')})},
    place,
  });
}

function toldUnknown(error: Refusal, {access}: TypeGuard, catalog: Catalog): Refusal {
  if ([...catalog.types].every(({name}) => isShownTo(access, name))) return error;
  const {code, message, place, detail} = error;
  return new Refusal(code, withoutHint(message), {detail, place});
}

function holderOf(error: unknown): string | undefined {
  if (!(error instanceof Refusal) || error.code !== 'commit.duplicate-key') return undefined;
  const {rid} = error.detail;
  return typeof rid === 'string' ? rid : undefined;
}
