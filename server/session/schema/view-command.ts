/** Commands of materialized views as changes of the catalog; see schema-command.ts. */
import {Refusal} from '#server/base/errors.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import {
  createView,
  dropView,
  refreshModes,
  requireView,
  setViewRefresh,
  viewNamed,
} from '#server/catalog/change-view.ts';
import type {MapValue} from '#server/model/value.ts';
import type {SchemaCommand} from '#server/plan/statement.ts';
import {nothing, one, type PlannedChange, row} from '../preparation/planned-change.ts';

type Command<K extends SchemaCommand['kind']> = Extract<SchemaCommand, {readonly kind: K}>;

export function planCreateView(
  catalog: Catalog,
  {view, ifNotExists}: Command<'create-view'>,
): PlannedChange {
  const answer = (created: boolean): MapValue =>
    row({operation: 'create materialized view', name: view.name, created});
  if (ifNotExists && viewNamed(catalog, view.name) !== undefined) return nothing(answer(false));
  return one(createView(catalog, view), answer(true));
}

export function planAlterView(
  catalog: Catalog,
  {name, refresh, owner}: Command<'alter-view'>,
): PlannedChange {
  const refreshMode = refreshModes[refresh.kind];
  const answer = row({operation: 'alter materialized view', name, refreshMode});
  return one(setViewRefresh(catalog, name, {refresh, owner}), answer);
}

/** What is refreshed are records (materialized-views.ts): the schema stays as it is. */
export function planRefreshView(catalog: Catalog, {name}: Command<'refresh-view'>): PlannedChange {
  requireView(catalog, name);
  return nothing(row({operation: 'refresh materialized view', name}));
}

export function planDropView(
  catalog: Catalog,
  {name, ifExists}: Command<'drop-view'>,
): PlannedChange {
  const answer = (dropped: boolean): MapValue =>
    row({operation: 'drop materialized view', name, dropped});
  if (viewNamed(catalog, name) !== undefined) return one(dropView(catalog, name), answer(true));
  if (ifExists) return nothing(answer(false));
  throw new Refusal('query.execution', `Materialized view '${name}' does not exist`);
}
