/**
 * The document that says who may use the agent tool server, and for what: a value, read from JSON,
 * changed by a partial document, and printed again.
 *
 * Without a document nobody may: `enabled` is false until an administrator says otherwise, then
 * root may read. A change is checked as a whole before any of it is in force. Invariant P1: an
 * override of a database, or an entry for a principal, never permits what the server as a whole
 * does not.
 */
import type {Permission} from './permissions.ts';
import type {ToolProfile} from './tool.ts';

export type Profile = 'all' | ToolProfile;

/** The name in the document of each permission. */
export const flagNames = {
  allowReads: 'read',
  allowInsert: 'insert',
  allowUpdate: 'update',
  allowDelete: 'delete',
  allowSchemaChange: 'schema',
  allowAdmin: 'admin',
} as const satisfies Readonly<Record<string, Permission>>;

type FlagName = keyof typeof flagNames;

/** An absent field says what the server as a whole says. */
export type DatabaseOverride = Readonly<Partial<Record<FlagName, boolean>>> & {
  /** Also needed, beside being admitted to the server. */
  readonly allowedUsers?: readonly string[];
};

export interface Configuration extends Readonly<Record<FlagName, boolean>> {
  readonly enabled: boolean;
  readonly profile: Profile;
  /** Names of users and of API tokens; `*` admits everybody who is authenticated. */
  readonly allowedUsers: readonly string[];
  readonly allowedOrigins: readonly string[];
  readonly principalProfiles: ReadonlyMap<string, Profile>;
  readonly databases: ReadonlyMap<string, DatabaseOverride>;
}

export const defaultConfiguration: Configuration = {
  enabled: false,
  allowReads: true,
  allowInsert: false,
  allowUpdate: false,
  allowDelete: false,
  allowSchemaChange: false,
  allowAdmin: false,
  profile: 'all',
  allowedUsers: ['root'],
  allowedOrigins: [],
  principalProfiles: new Map(),
  databases: new Map(),
};

export const profiles: readonly Profile[] = ['all', 'rag', 'admin'];
const flags = Object.keys(flagNames) as readonly FlagName[];
const lists = ['allowedUsers', 'allowedOrigins'] as const;

/** A document that cannot be used; the message says which field and what is allowed. */
export class ConfigurationFault extends Error {
  override readonly name = 'ConfigurationFault';
}

type Document = Readonly<Record<string, unknown>>;

/** Reads a whole document; a field that is absent has its default. @throws {ConfigurationFault} */
export function parseConfiguration(text: string): Configuration {
  return changed(defaultConfiguration, text);
}

/**
 * Merges a partial document: principals and databases are merged by their names, everything else is
 * replaced. Null removes an entry, and all entries where it stands in place of the map.
 *
 * @throws {ConfigurationFault}
 */
export function changed(before: Configuration, text: string): Configuration {
  const given = documentOf(text);
  const fields: Record<string, unknown> = {};
  for (const name of ['enabled', ...flags]) {
    if (given[name] !== undefined) fields[name] = flagOf(given[name], name);
  }
  for (const name of lists) {
    if (given[name] !== undefined) fields[name] = namesOf(given[name], name);
  }
  if (given['profile'] !== undefined) fields['profile'] = profileOf(given['profile']);
  return {
    ...before,
    ...(fields as Partial<Configuration>),
    principalProfiles: merged(before.principalProfiles, given, 'principalProfiles', profileOf),
    databases: merged(before.databases, given, 'databases', overrideOf),
  };
}

/** Fields of a document that are none of the configuration. */
export function unknownFields(text: string): readonly string[] {
  const known = Object.keys(defaultConfiguration);
  return Object.keys(documentOf(text)).filter(name => !known.includes(name));
}

/** The document as people read it; maps without entries are left out. */
export function printConfiguration(configuration: Configuration, indent?: number): string {
  const {principalProfiles, databases, ...rest} = configuration;
  const document = {
    ...rest,
    ...(principalProfiles.size > 0 && {principalProfiles: Object.fromEntries(principalProfiles)}),
    ...(databases.size > 0 && {databases: Object.fromEntries(databases)}),
  };
  return JSON.stringify(document, undefined, indent);
}

function documentOf(text: string): Document {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    throw new ConfigurationFault('The MCP configuration is not valid JSON');
  }
  if (isObject(document)) return document;
  throw new ConfigurationFault('The MCP configuration must be a JSON object');
}

function merged<T>(
  before: ReadonlyMap<string, T>,
  given: Document,
  field: string,
  read: (value: unknown) => T,
): ReadonlyMap<string, T> {
  const entries = given[field];
  if (entries === undefined) return before;
  if (entries === null) return new Map();
  if (!isObject(entries)) throw fault(field, 'an object');
  const after = new Map(before);
  for (const [name, entry] of Object.entries(entries)) {
    if (name.trim() === '') throw new ConfigurationFault(`A name in '${field}' is blank`);
    if (entry === null) after.delete(name);
    else after.set(name, read(entry));
  }
  return after;
}

function overrideOf(value: unknown): DatabaseOverride {
  if (!isObject(value)) throw fault('databases', 'an object of objects');
  const override: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value)) {
    if (name === 'allowedUsers') {
      if (field !== null) override[name] = namesOf(field, name);
    } else if (Object.hasOwn(flagNames, name)) override[name] = flagOf(field, name);
    else throw new ConfigurationFault(`Unknown MCP database override setting '${name}'`);
  }
  return override;
}

function profileOf(value: unknown): Profile {
  if (typeof value !== 'string') throw fault('profile', 'a string');
  const found = profiles.find(profile => profile === value.toLowerCase());
  if (found !== undefined) return found;
  const known = profiles.join(', ');
  throw new ConfigurationFault(
    `Unknown MCP tool profile '${value.slice(0, 80)}'. Expected one of: ${known}`,
  );
}

function flagOf(value: unknown, name: string): boolean {
  if (typeof value === 'boolean') return value;
  throw fault(name, 'a boolean');
}

function namesOf(value: unknown, name: string): readonly string[] {
  if (!Array.isArray(value)) throw fault(name, 'an array of strings');
  return value.map((entry: unknown) => {
    if (typeof entry === 'string' && entry.trim() !== '') return entry;
    throw fault(name, 'an array of strings that are not blank');
  });
}

function isObject(value: unknown): value is Document {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function fault(field: string, what: string): ConfigurationFault {
  return new ConfigurationFault(`MCP configuration field '${field}' must be ${what}`);
}
