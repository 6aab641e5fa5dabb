/**
 * Changes of materialized views: a view is a document type with the query of its records. Pure;
 * see change.ts.
 *
 * A view has the name of its type. Neither it nor a type that its query names can be dropped or
 * renamed as a type, because the text of a query names types.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Catalog} from './catalog.ts';
import type {CatalogType} from './catalog-type.ts';
import {change, conflictRefusal, existsRefusal, type SchemaChange, withType} from './change.ts';
import {createType, dropType} from './change-type.ts';
import type {ViewDefinition, ViewRefresh} from './definition.ts';
import {nearestNameHint} from './nearest-name.ts';

/** A type that is a view. */
export interface ViewType {
  readonly type: CatalogType;
  readonly view: ViewDefinition;
}

export interface NewView extends Omit<ViewDefinition, 'sourceTypeIds'> {
  readonly name: string;
  readonly sources: readonly string[];
  readonly bucketCount: number | undefined;
}

/** The words that rows use for the ways to come up to date. */
export const refreshModes: Readonly<Record<ViewRefresh['kind'], string>> = {
  manual: 'MANUAL',
  incremental: 'INCREMENTAL',
  periodic: 'PERIODIC',
};

/** All views, in order of creation. */
export function viewsOf(catalog: Catalog): readonly ViewType[] {
  return [...catalog.types].flatMap(type => {
    const {view} = type.definition;
    return view === undefined ? [] : [{type, view}];
  });
}

/** The view of that name; undefined when there is none, or a type that is no view. */
export function viewNamed(catalog: Catalog, name: string): ViewType | undefined {
  return viewsOf(catalog).find(({type}) => type.name === name);
}

/** @throws {Refusal} `schema.unknown-type`, with the nearest name. */
export function requireView(catalog: Catalog, name: string): ViewType {
  const found = viewNamed(catalog, name);
  if (found !== undefined) return found;
  const names = viewsOf(catalog).map(({type}) => type.name);
  const hint = nearestNameHint(name, names);
  throw new Refusal('schema.unknown-type', `Materialized view '${name}' was not found${hint}`, {
    detail: {type: name},
  });
}

export function createView(catalog: Catalog, requested: NewView): SchemaChange {
  const {name, sources, bucketCount, ...definition} = requested;
  if (viewNamed(catalog, name) !== undefined) throw existsRefusal('MATERIALIZED_VIEW', name);
  const sourceTypeIds = sources.map(source => catalog.requireType(source).id);
  return createType(catalog, {
    name,
    kind: 'document',
    view: {...definition, sourceTypeIds},
    ...(bucketCount === undefined ? {} : {bucketCount}),
  });
}

/** @param owner - In whose name it is refreshed from now on; absent: whose it was. */
export function setViewRefresh(
  catalog: Catalog,
  name: string,
  {refresh, owner}: {readonly refresh: ViewRefresh; readonly owner?: string | undefined},
): SchemaChange {
  const {type, view} = requireView(catalog, name);
  const next = {...view, refresh, ...(owner !== undefined && {owner})};
  return change(catalog, {types: withType(catalog, type.id, {view: next})});
}

/** The view with its type and records. */
export function dropView(catalog: Catalog, name: string): SchemaChange {
  const {type} = requireView(catalog, name);
  requireNoViewOn(catalog, type, 'dropped');
  return dropType(catalog, type.name, {hasRecords: true});
}

/** Refuses what would take the type from a view. @throws {Refusal} `schema.conflict`. */
export function requireNoView(catalog: Catalog, name: string, done: 'dropped' | 'renamed'): void {
  const type = catalog.requireType(name);
  if (type.definition.view !== undefined) {
    throw conflictRefusal(
      `type '${name}' holds the records of a materialized view: DROP MATERIALIZED VIEW drops both`,
    );
  }
  requireNoViewOn(catalog, type, done);
}

function requireNoViewOn(catalog: Catalog, type: CatalogType, done: string): void {
  const above = viewsOf(catalog).find(({view}) => view.sourceTypeIds.includes(type.id));
  if (above === undefined) return;
  throw conflictRefusal(
    `type '${type.name}' cannot be ${done}: the materialized view '${above.type.name}' reads it`,
  );
}
