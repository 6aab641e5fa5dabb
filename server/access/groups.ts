/**
 * The groups document as a value: what each group may do, by database (`*` is every one).
 *
 * Format of `config/server-groups.json`, version 2 (docs/http.md):
 * `{version, databases: {"<db>|*": {groups: {<name>: {access, resultSetLimit, readTimeout,
 * types: {"<type>|*": {access}}}}}}}`. A version 1 file knew no `updateDatabaseSettings`; its
 * group `admin` gains it when read.
 * Unknown rights in a file are kept out of the value: they can give nothing.
 */
import {reasonOf, Refusal} from '#server/base/errors.ts';
import {
  type DatabaseRight,
  databaseRights,
  isDatabaseRight,
  isRecordRight,
  type RecordRight,
  recordRights,
} from './rights.ts';

export interface Group {
  readonly access: ReadonlySet<DatabaseRight>;
  /** Most rows of one answer; -1 for no limit. */
  readonly resultSetLimit: number;
  /** Milliseconds a read may take; -1 for no limit. */
  readonly readTimeout: number;
  /** Type name (or `*`) to rights on its records. */
  readonly types: ReadonlyMap<string, ReadonlySet<RecordRight>>;
}

/** Database name (or `*`) to its groups by name. */
export type Groups = ReadonlyMap<string, ReadonlyMap<string, Group>>;

/** What a server without a file has: `admin`, `*` (nothing) and `readonly`, on every database. */
export const defaultGroups: Groups = new Map([
  [
    '*',
    new Map([
      ['admin', group(databaseRights, recordRights)],
      ['*', group([], [])],
      ['readonly', group([], ['readRecord'])],
    ]),
  ],
]);

function group(access: readonly DatabaseRight[], records: readonly RecordRight[]): Group {
  return {
    access: new Set(access),
    resultSetLimit: -1,
    readTimeout: -1,
    types: new Map([['*', new Set(records)]]),
  };
}

/**
 * Reads the document.
 *
 * @throws {Refusal} `json.invalid` for text that is no JSON, `argument` for a wrong shape.
 */
export function parseGroups(text: string): Groups {
  const document = parsedObject(text);
  const databases = objectAt(document, 'databases', 'the groups document');
  const result = new Map<string, ReadonlyMap<string, Group>>();
  for (const [database, entry] of Object.entries(databases)) {
    const place = `database '${database}'`;
    const named = objectAt(asObject(entry, place), 'groups', place);
    const groups = new Map<string, Group>();
    for (const [name, value] of Object.entries(named)) {
      groups.set(
        name,
        parseGroup(asObject(value, `group '${name}' of ${place}`), groupNamed(name)),
      );
    }
    result.set(database, groups);
  }
  return document['version'] === 1 ? withSettingsRight(result) : result;
}

/** The document's text, in the layout people edit. */
export function printGroups(groups: Groups): string {
  return `${JSON.stringify(plainGroups(groups), undefined, 2)}\n`;
}

/** The document as plain data, for an answer in JSON. */
export function plainGroups(groups: Groups): unknown {
  const databases = Object.fromEntries(
    Array.from(groups, ([database, named]) => [
      database,
      {groups: Object.fromEntries(Array.from(named, ([name, group]) => [name, plainGroup(group)]))},
    ]),
  );
  return {version: 2, databases};
}

/** The rules of a group as they were written, by a client or in a file. */
export interface GroupSource {
  readonly access?: unknown;
  readonly types?: unknown;
  readonly resultSetLimit?: unknown;
  readonly readTimeout?: unknown;
}

/** How messages name a group. */
export function groupNamed(name: string): string {
  return `group '${name}'`;
}

/**
 * A group as a client wrote it; unlike in a file, an unknown right is refused.
 *
 * @param place - What messages call it.
 * @throws {Refusal} `argument`.
 */
export function parseNewGroup(value: GroupSource, place: string): Group {
  const group = parseGroup(value, place);
  const types = Object.values(asObject(value.types ?? {}, `'types' of ${place}`));
  const given = types.flatMap(type => namesIn(asObject(type, 'a type')['access'], place));
  checkRights(namesIn(value.access, place), isDatabaseRight, databaseRights);
  checkRights(given, isRecordRight, recordRights);
  return group;
}

function checkRights(
  names: readonly string[],
  isRight: (name: string) => boolean,
  known: readonly string[],
): void {
  for (const name of names) {
    if (isRight(name)) continue;
    throw new Refusal('argument', `Unknown right '${name}': expected ${known.join(', ')}`);
  }
}

/**
 * A group as a file has it: rights that are not known are left out.
 *
 * @param place - What messages call it.
 * @throws {Refusal} `argument`.
 */
export function parseGroup(value: GroupSource, place: string): Group {
  const types = new Map<string, ReadonlySet<RecordRight>>();
  for (const [type, entry] of Object.entries(asObject(value.types ?? {}, `'types' of ${place}`))) {
    const access = asObject(entry, `type '${type}' of ${place}`)['access'];
    types.set(type, new Set(namesIn(access, place).filter(isRecordRight)));
  }
  return {
    access: new Set(namesIn(value.access, place).filter(isDatabaseRight)),
    resultSetLimit: limitIn(value.resultSetLimit, 'resultSetLimit', place),
    readTimeout: limitIn(value.readTimeout, 'readTimeout', place),
    types,
  };
}

function plainGroup(group: Group): unknown {
  return {
    access: [...group.access],
    resultSetLimit: group.resultSetLimit,
    readTimeout: group.readTimeout,
    types: Object.fromEntries(
      Array.from(group.types, ([type, access]) => [type, {access: [...access]}]),
    ),
  };
}

function withSettingsRight(groups: Groups): Groups {
  return new Map(
    Array.from(groups, ([database, named]) => {
      const admin = named.get('admin');
      if (!admin) return [database, named] as const;
      const access = new Set(admin.access).add('updateDatabaseSettings');
      return [database, new Map(named).set('admin', {...admin, access})] as const;
    }),
  );
}

function parsedObject(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Refusal('json.invalid', `The groups document is not valid JSON: ${reasonOf(error)}`);
  }
  return asObject(value, 'the groups document');
}

function objectAt(
  value: Readonly<Record<string, unknown>>,
  key: string,
  place: string,
): Readonly<Record<string, unknown>> {
  return asObject(value[key], `'${key}' of ${place}`);
}

function asObject(value: unknown, place: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Readonly<Record<string, unknown>>;
  }
  throw new Refusal('argument', `Expected a JSON object for ${place}`);
}

function namesIn(value: unknown, place: string): readonly string[] {
  if (value === undefined) return [];
  if (Array.isArray(value) && value.every(name => typeof name === 'string')) return value;
  throw new Refusal('argument', `'access' of ${place} must be a list of rights`);
}

function limitIn(value: unknown, key: string, place: string): number {
  if (value === undefined) return -1;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= -1) return value;
  throw new Refusal('argument', `'${key}' of ${place} must be a whole number from -1`);
}
