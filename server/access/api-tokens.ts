/**
 * The document of API tokens as a value, and the rules a token must keep.
 *
 * Format of `config/server-api-tokens.json` (docs/http.md): `{version: 1, tokens: [{tokenHash,
 * tokenSuffix, name, database, expiresAt, createdAt, permissions}]}`. Of a token's value only its
 * SHA-256 and last four characters are kept. What a token may do stands in it, not in groups:
 * permissions that are not given give nothing.
 */
import {reasonOf, Refusal} from '#server/base/errors.ts';
import {type Group, type GroupSource, parseGroup, parseNewGroup} from './groups.ts';

export interface ApiToken {
  /** SHA-256 of its value, in hexadecimal digits. */
  readonly tokenHash: string;
  readonly tokenSuffix: string;
  readonly name: string;
  /** The one database it opens, or `*`. */
  readonly database: string;
  /** Milliseconds since 1970; 0: never. */
  readonly expiresAt: number;
  readonly createdAt: number;
  readonly permissions: TokenPermissions;
}

export interface TokenPermissions {
  readonly types?: Readonly<Record<string, {readonly access: readonly string[]}>>;
  readonly database?: readonly string[];
}

/** The API tokens keyed by their hash, in the order of their creation. */
export type ApiTokens = ReadonlyMap<string, ApiToken>;

/** Names of principals begin with this where a token speaks, not a user. */
export const tokenPrincipalPrefix = 'apitoken:';

const nameLengthMax = 256;

/**
 * Reads the document.
 *
 * @throws {Refusal} `json.invalid` for text that is no JSON, `argument` for a wrong shape.
 */
export function parseApiTokens(text: string): ApiTokens {
  const tokens = new Map<string, ApiToken>();
  for (const [index, entry] of tokensIn(text).entries()) {
    const token = parseToken(entry, `token ${index + 1} of the API tokens`);
    tokens.set(token.tokenHash, token);
  }
  return tokens;
}

/** The document's text, in the layout people read. */
export function printApiTokens(tokens: ApiTokens): string {
  return `${JSON.stringify({version: 1, tokens: [...tokens.values()]}, undefined, 2)}\n`;
}

/** @throws {Refusal} `argument`. */
export function checkTokenName(name: string): void {
  if (name.length > nameLengthMax) {
    throw new Refusal('argument', `Token name too long (>${nameLengthMax} characters)`);
  }
  if (/[\u0000-\u001f\u007f]/.test(name)) {
    throw new Refusal('argument', 'Token name holds a control character');
  }
}

/**
 * Permissions as a client wrote them; an unknown field or right is refused.
 *
 * @throws {Refusal} `argument`.
 */
export function checkPermissions(value: unknown): TokenPermissions {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Refusal('argument', "'permissions' must be a JSON object");
  }
  for (const field of Object.keys(value)) {
    if (field === 'types' || field === 'database') continue;
    const message = `Unknown field '${field.slice(0, 80)}' of 'permissions'`;
    throw new Refusal('argument', `${message}: expected 'types', 'database'`);
  }
  const permissions = value as TokenPermissions;
  parseNewGroup(groupSource(permissions), 'the permissions');
  return permissions;
}

/** What the holder of a token may do in the databases that it opens. */
export function rightsOf({permissions, name}: ApiToken): Group {
  return parseGroup(groupSource(permissions), `API token '${name}'`);
}

/** Permissions are a group without limits, under other names. */
function groupSource({types, database}: TokenPermissions): GroupSource {
  return {access: database, types};
}

function tokensIn(text: string): readonly unknown[] {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (error) {
    throw new Refusal('json.invalid', `The API tokens are not valid JSON: ${reasonOf(error)}`);
  }
  const {tokens} = (document ?? {}) as {readonly tokens?: unknown};
  if (Array.isArray(tokens)) return tokens;
  throw new Refusal('argument', "Expected a list 'tokens' in the document of the API tokens");
}

function parseToken(entry: unknown, place: string): ApiToken {
  const token = (entry ?? {}) as Partial<ApiToken>;
  const {tokenHash, tokenSuffix = '', name, database = '*', permissions = {}} = token;
  const {expiresAt = 0, createdAt = 0} = token;
  if (typeof tokenHash !== 'string' || typeof name !== 'string' || typeof database !== 'string') {
    throw new Refusal('argument', `Expected texts 'tokenHash', 'name', 'database' in ${place}`);
  }
  if (!Number.isSafeInteger(expiresAt) || !Number.isSafeInteger(createdAt)) {
    throw new Refusal('argument', `Expected whole numbers for the times in ${place}`);
  }
  const known = {tokenHash, tokenSuffix, name, database, expiresAt, createdAt, permissions};
  rightsOf(known);
  return known;
}
