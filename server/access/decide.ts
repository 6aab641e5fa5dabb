/**
 * Who may do what: the one decision of access control, from values alone.
 *
 * Rules (docs/http.md): root may do everything. A user's groups on a database are those granted
 * on its very name, else those granted on `*`; no grant at all means no access. A group's rules
 * are those of the database, else those that `*` defines under the same name. Rights of several
 * groups add up; a type's own rights stand in for the group's rights on type `*`. When none of the
 * granted groups exists, group `*` speaks. Of limits the smallest counts. Rights of its own, which
 * an API token has, stand in for all groups.
 * Invariant A1: an unknown database, group or type name never gives a right.
 */
import type {Group, Groups} from './groups.ts';
import {type DatabaseRight, databaseRights, type RecordRight, recordRights} from './rights.ts';
import type {Grants} from './users.ts';

/** The part of a principal that a decision depends on. */
export interface Subject {
  readonly root: boolean;
  readonly grants: Grants;
  /** What it may do in each database that it was granted, in place of groups. */
  readonly rights?: Group;
}

/** `open`: see that the database exists and run something in it at all. */
export type Action =
  | {readonly kind: 'open'}
  | {readonly kind: 'database'; readonly right: DatabaseRight}
  | {readonly kind: 'record'; readonly right: RecordRight; readonly type: string};

/** One principal's rights on one database; valid as long as groups and grants do not change. */
export class DatabaseAccess {
  readonly #everything: boolean;
  /** Plain data, by which another thread decides alike. */
  readonly groups: readonly Group[];

  constructor(everything: boolean, groups: readonly Group[]) {
    this.#everything = everything;
    this.groups = groups;
  }

  allows(right: DatabaseRight): boolean {
    return this.#everything || this.groups.some(group => group.access.has(right));
  }

  allowsOnType(right: RecordRight, type: string): boolean {
    if (this.#everything) return true;
    return this.groups.some(({types}) => (types.get(type) ?? types.get('*'))?.has(right) === true);
  }

  /** Most rows of one answer; -1 for no limit. */
  get resultSetLimit(): number {
    return smallest(this.groups.map(group => group.resultSetLimit));
  }

  /** Milliseconds a read may take; -1 for no limit. */
  get readTimeout(): number {
    return smallest(this.groups.map(group => group.readTimeout));
  }
}

/**
 * Whether somebody may do less than before: of what was allowed, something is not any more.
 *
 * @param before - Undefined: nothing was granted.
 */
export function hasLost(
  before: DatabaseAccess | undefined,
  after: DatabaseAccess | undefined,
): boolean {
  if (before === undefined || after === before) return false;
  if (after === undefined) return true;
  if (databaseRights.some(right => before.allows(right) && !after.allows(right))) return true;
  const named = [...before.groups, ...after.groups].flatMap(({types}) => [...types.keys()]);
  // `*` as a name stands for every type that no group names.
  return ['*', ...named].some(type =>
    recordRights.some(
      right => before.allowsOnType(right, type) && !after.allowsOnType(right, type),
    ),
  );
}

const full = new DatabaseAccess(true, []);

/** The rights of `subject` on `database`; undefined when it was granted nothing there. */
export function accessTo(
  groups: Groups,
  subject: Subject,
  database: string,
): DatabaseAccess | undefined {
  if (subject.root) return full;
  const names = subject.grants.get(database) ?? subject.grants.get('*');
  if (names === undefined) return undefined;
  if (subject.rights !== undefined) return new DatabaseAccess(false, [subject.rights]);
  const own = groups.get(database);
  const shared = groups.get('*');
  const named = names.flatMap(name => own?.get(name) ?? shared?.get(name) ?? []);
  const fallback = named.length > 0 ? [] : [own?.get('*') ?? shared?.get('*') ?? []].flat();
  return new DatabaseAccess(false, [...named, ...fallback]);
}

/** Whether `subject` may do `action` in `database`. */
export function may(groups: Groups, subject: Subject, database: string, action: Action): boolean {
  const access = accessTo(groups, subject, database);
  if (access === undefined) return false;
  switch (action.kind) {
    case 'open':
      return true;
    case 'database':
      return access.allows(action.right);
    case 'record':
      return access.allowsOnType(action.right, action.type);
  }
}

function smallest(limits: readonly number[]): number {
  return limits.reduce((least, limit) => {
    if (limit < 0) return least;
    return least < 0 ? limit : Math.min(least, limit);
  }, -1);
}
