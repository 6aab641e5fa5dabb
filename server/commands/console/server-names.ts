/**
 * The names that completion offers, asked of the server when they are first wanted: words of the
 * languages once, databases and types again after every statement that may have changed them.
 *
 * A server that does not answer, or refuses, is no reason to disturb who types: there is then
 * nothing to offer.
 */
import type {Client, LanguageWords, Row} from '#server/client/client.ts';

/** A type of the database. */
export interface TypeNames {
  readonly name: string;
  readonly parents: readonly string[];
  readonly properties: readonly string[];
}

/** What a database adds to the words of the languages. */
export interface SchemaNames {
  readonly types: readonly TypeNames[];
  /** Names of functions that users have defined, with their namespaces. */
  readonly functions: readonly string[];
}

/** Properties that no type declares are known from the rows seen; at most so many. */
const seenMax = 1_000;

export class ServerNames {
  readonly #client: Client;
  #languages: Promise<readonly LanguageWords[]> | undefined;
  #databases: Promise<readonly string[]> | undefined;
  readonly #schemas = new Map<string, Promise<SchemaNames>>();
  readonly #seen = new Set<string>();

  constructor(client: Client) {
    this.#client = client;
  }

  /** Names of columns that rows have had. */
  get seen(): ReadonlySet<string> {
    return this.#seen;
  }

  /** Remembers the columns of rows, and that the statement may have changed the schema. */
  ran(rows: readonly Row[]): void {
    this.#databases = undefined;
    this.#schemas.clear();
    for (const row of rows.slice(0, 100)) {
      for (const name of Object.keys(row)) {
        if (/^[A-Za-z_]\w*$/.test(name) && this.#seen.size < seenMax) this.#seen.add(name);
      }
    }
  }

  /** Every name by which a statement's language may be asked for. */
  async languages(): Promise<readonly string[]> {
    return (await this.#words()).flatMap(({languages}) => languages);
  }

  async words(language: string): Promise<LanguageWords | undefined> {
    return (await this.#words()).find(({languages}) => languages.includes(language));
  }

  databases(): Promise<readonly string[]> {
    this.#databases ??= this.#client.databases().catch(() => []);
    return this.#databases;
  }

  schema(database: string): Promise<SchemaNames> {
    const known = this.#schemas.get(database) ?? this.#askSchema(database);
    this.#schemas.set(database, known);
    return known;
  }

  #words(): Promise<readonly LanguageWords[]> {
    this.#languages ??= this.#client.languages().catch(() => {
      this.#languages = undefined;
      return [];
    });
    return this.#languages;
  }

  async #askSchema(database: string): Promise<SchemaNames> {
    const [types, functions] = await Promise.all([
      this.#ask(
        database,
        'SELECT name, parentTypes AS parents, properties.name AS properties FROM schema:types',
      ),
      this.#ask(database, 'SELECT name FROM schema:functions'),
    ]);
    return {
      types: types.map(row => ({
        name: String(row['name']),
        parents: textsOf(row['parents']),
        properties: textsOf(row['properties']),
      })),
      functions: functions.map(row => String(row['name'])),
    };
  }

  async #ask(database: string, statement: string): Promise<readonly Row[]> {
    try {
      return (await this.#client.query(database, statement, {limit: -1})).result;
    } catch {
      return [];
    }
  }
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
