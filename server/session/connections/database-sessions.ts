/**
 * The databases in use here, a session state each, and who may use them.
 *
 * The state belongs to the database object: one dropped and created again is another.
 */
import {Refusal} from '#server/base/errors.ts';
import {viewsOf} from '#server/catalog/change-view.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {DatabaseAccess} from '#server/access/decide.ts';
import {rootName} from '#server/access/users.ts';
import type {IndexFolders} from '#server/caches/index-caches.ts';
import type {Database} from '#server/engine/database.ts';
import type {Engine} from '#server/engine/engine.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {Security} from '#server/security/security.ts';
import type {Principal} from '#server/security/principal.ts';
import type {DatabaseFiles} from '../database/database-check.ts';
import {type WorkProgress, withoutTypes} from '../database/work-progress.ts';
import {defaultEvaluator} from '../schema/default-values.ts';
import {type SearchIndexFigures, searchIndexFigures} from '../search/search-figures.ts';
import type {StatementContext} from '../statements/statement-context.ts';
import {DatabaseSession, type DatabaseSessionOptions} from './database-session.ts';

/** What all of them share. */
type SharedOptions = Pick<
  DatabaseSessionOptions,
  | 'families'
  | 'functions'
  | 'languages'
  | 'procedures'
  | 'javascript'
  | 'settings'
  | 'environment'
  | 'memory'
  | 'compactions'
  | 'cacheMemory'
  | 'scheduler'
  | 'admission'
>;

interface DatabaseSessionsOptions extends SharedOptions {
  readonly indexFiles?: IndexFolders | undefined;
  readonly engine: Engine;
  readonly security: Security;
  readonly logger: Logger;
}

export class DatabaseSessions {
  readonly #options: DatabaseSessionsOptions;
  readonly #sessions = new WeakMap<Database, DatabaseSession>();

  constructor(options: DatabaseSessionsOptions) {
    this.#options = options;
  }

  /**
   * What somebody may do in a database. One that does not exist and one that is not granted are
   * told apart for root only.
   *
   * @throws {Refusal} `security.denied`.
   */
  access(who: Principal, name: string): DatabaseAccess {
    const {security} = this.#options;
    const principal = security.current(who);
    const access = security.access(principal, name);
    if (access !== undefined) return access;
    throw new Refusal(
      'security.denied',
      `User '${principal.name}' has not access to database '${name.slice(0, 128)}'`,
    );
  }

  /** @throws {Refusal} `security.denied`, `database.not-found`. */
  openFor(who: Principal, name: string): DatabaseSession {
    this.access(who, name);
    return this.open(name);
  }

  /** @throws {Refusal} `database.not-found`. */
  open(name: string): DatabaseSession {
    const {engine} = this.#options;
    const database = engine.database(name);
    if (database !== undefined) return this.of(database);
    const closed = engine.status(name) === 'closed';
    throw new Refusal(
      'database.not-found',
      `Database '${name.slice(0, 128)}' ${closed ? 'is closed' : 'is not available'}`,
    );
  }

  /** The database, where it is open. */
  ifOpen(name: string): DatabaseSession | undefined {
    const {engine} = this.#options;
    const database = engine.status(name) === 'open' ? engine.database(name) : undefined;
    return database && this.of(database);
  }

  of(database: Database): DatabaseSession {
    const known = this.#sessions.get(database);
    if (known !== undefined) return known;
    const session = new DatabaseSession(database, this.#optionsOf(database));
    this.#sessions.set(database, session);
    this.#tellOwnersGone(session);
    return session;
  }

  /** A restored database may have triggers and views of users who are not here. */
  #tellOwnersGone({database: {name: database}, schema: {catalog}}: DatabaseSession): void {
    const owned = [
      ...catalog.triggers.map(({name, owner}) => ({what: `trigger '${name}'`, owner})),
      ...viewsOf(catalog).map(({type, view}) => ({what: `view '${type.name}'`, owner: view.owner})),
    ];
    for (const [owner, things] of Map.groupBy(owned, ({owner: user}) => user ?? rootName)) {
      try {
        this.#guardOf(owner, database);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        const reason = `${things.map(({what}) => what).join(', ')}: ${error.message}`;
        this.#options.logger.log('warn', 'database.owner-missing', {database, reason});
      }
    }
  }

  /** Its database goes away. */
  close(database: Database): void {
    this.#sessions.get(database)?.close();
  }

  /** Lists those of open databases that are in use; others begin when they are opened. */
  inUse(): readonly DatabaseSession[] {
    const {engine} = this.#options;
    return engine
      .databases()
      .filter(name => engine.status(name) === 'open')
      .flatMap(name => {
        const database = engine.database(name);
        return (database && this.#sessions.get(database)) ?? [];
      });
  }

  /** The search indexes of the databases in use here of which somebody may read every record. */
  searchFigures(who: Principal): ReadonlyMap<string, readonly SearchIndexFigures[]> {
    const {security} = this.#options;
    const principal = security.current(who);
    const found = this.inUse().map(({database, schema: {catalog}, kept}) => {
      const access = security.access(principal, database.name);
      const mayRead = (typeId: number): boolean =>
        access !== undefined &&
        (catalog.typeById(typeId)?.family ?? []).every(({name}) =>
          access.allowsOnType('readRecord', name),
        );
      return [database.name, searchIndexFigures(catalog, kept, mayRead)] as const;
    });
    return new Map(found.filter(([, figures]) => figures.length > 0));
  }

  /** Long work on a database. An import that makes it is asked about before it is there. */
  progress(who: Principal, name: string): readonly WorkProgress[] {
    const access = this.access(who, name);
    const session = this.ifOpen(name);
    if (session === undefined) return [];
    const {work, schema} = session;
    // Its figures count records of any type, and its steps name some.
    return [...schema.catalog.types].every(type => access.allowsOnType('readRecord', type.name))
      ? work.list()
      : work.list().map(withoutTypes);
  }

  #optionsOf({id, name}: Database): DatabaseSessionOptions {
    const {settings, functions, environment} = this.#options;
    return {
      ...this.#options,
      indexFiles: this.#options.indexFiles?.of(id),
      limits: parseLimits(settings),
      recordBytesMax: settings().get('svc.recordSizeMax'),
      indexKeyBytesMax: settings().get('svc.indexKeySizeMax'),
      files: this.#filesOf(name),
      staleReadCheck: settings().get('svc.txStaleReadCheck'),
      patterns: {
        date: settings().get('svc.dateFormat'),
        dateTime: settings().get('svc.dateTimeFormat'),
      },
      guardOf: user => this.#guardOf(user, name),
      defaultsOf: catalog => defaultEvaluator(catalog, functions, environment),
    };
  }

  /** @throws {Refusal} `security.denied`. */
  #guardOf(user: string, database: string): StatementContext['guard'] {
    if (user === rootName) return undefined;
    const {security} = this.#options;
    const principal = security.principalOf(user);
    const access = principal && security.access(principal, database);
    if (access !== undefined) return {access, user};
    const message = `User '${user}', in whose name it runs, may not use database '${database}'`;
    throw new Refusal('security.denied', `${message}: have another user make it anew`);
  }

  #filesOf(name: string): DatabaseFiles {
    const {engine} = this.#options;
    return {
      unreferenced: () => engine.unreferencedFiles(name),
      remove: file => engine.removeUnreferencedFile(name, file),
      shortageFor: bytes => engine.shortageFor(bytes),
    };
  }
}

/** Reads the limits anew whenever they are asked for. */
function parseLimits(settings: () => Settings): DatabaseSessionOptions['limits'] {
  return {
    get depthMax() {
      return settings().get('svc.parser.depthMax');
    },
    get textLengthMax() {
      return settings().get('svc.parser.statementSizeMax');
    },
    get columnsMax() {
      return settings().get('svc.parser.columnsMax');
    },
  };
}
