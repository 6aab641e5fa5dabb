/**
 * A session service over a real engine (RocksDB on disk, commits inline): statements in, rows
 * out, without a protocol and without threads.
 */
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {assert} from '#server/base/assert.ts';
import {resolveSettings} from '#server/base/setting-values.ts';
import type {Clock, Timers} from '#server/platform/clock.ts';
import {StoreCompactions} from '#server/node/compaction/store-compactions.ts';
import {createClock, createRandom, createTimers} from '#server/platform/real/clock.ts';
import {createDisk} from '#server/platform/real/disk.ts';
import {createMachine} from '#server/platform/real/machine.ts';
import type {JavaScriptEngine} from '#server/platform/javascript.ts';
import {loadJavaScript} from '#server/platform/real/javascript.ts';
import {createSourceReader} from '#server/platform/real/source-reader.ts';
import type {Cluster} from '#server/cluster/cluster.ts';
import {indexFamilies} from '#server/caches/index-families.ts';
import type {CachedFamilies} from '#server/caches/index-caches.ts';
import {Security} from '#server/security/security.ts';
import type {FrontEnds} from '#server/session/languages/front-ends.ts';
import type {CustomProcedure} from '#server/session/languages/custom-procedures.ts';
import {SessionService} from '#server/session/service.ts';
import type {Principal} from '#server/security/principal.ts';
import type {RunRequest} from '#server/session/session.ts';
import {statementRequest} from '#server/session/statement-request.ts';
import type {PlanThreads} from '#server/session/threads/plan-task.ts';
import type {Database} from '#server/engine/database.ts';
import type {Engine} from '#server/engine/engine.ts';
import {type InlineEngine, type InlineEngineOptions, openInlineEngine} from './inline-engine.ts';

export const root: Principal = {name: 'root', root: true, grants: new Map([['*', ['admin']]])};

export interface WorldOptions extends InlineEngineOptions {
  readonly procedures?: readonly CustomProcedure[];
  /** Languages beside the server's own. */
  readonly frontEnds?: FrontEnds;
  /** The families of indexes. Default: the server's own. */
  readonly families?: CachedFamilies;
  readonly timers?: Timers;
  /** The clock of the service; the engine's is real. Default: a real one. */
  readonly clock?: Clock;
  /** Default: a server alone. */
  readonly cluster?: Cluster;
  /** The threads of long reads; the world closes them. Default: none. */
  readonly threads?: PlanThreads;
}

export class ServiceWorld {
  readonly service: SessionService;
  readonly security: Security;
  readonly #inline: InlineEngine;
  readonly #makeService: (
    settings: Readonly<Record<string, string>>,
    threads?: PlanThreads,
    cluster?: Cluster,
  ) => SessionService;
  #databases = 0;

  private constructor(
    inline: InlineEngine,
    settings: Readonly<Record<string, string>>,
    {
      procedures = [],
      timers = createTimers(),
      clock = createClock(),
      families = indexFamilies,
      ...options
    }: WorldOptions,
    javascript: JavaScriptEngine,
  ) {
    this.#inline = inline;
    const {threads, cluster} = options;
    const random = createRandom();
    const resolved = resolveSettings([{name: 'test', values: settings}]).settings;
    const documents = new Map<string, Uint8Array>();
    this.security = new Security({
      store: {
        read: name => documents.get(name),
        write: (name, bytes) => {
          documents.set(name, bytes);
          return Promise.resolve();
        },
      },
      clock,
      random,
      timers,
      settings: () => resolved,
      endSessionsOf: (user, reason) => this.service.endSessionsOf(user, reason),
    });
    this.#makeService = (values, scanThreads, member = cluster) => {
      const own = resolveSettings([{name: 'test', values}]).settings;
      return new SessionService({
        engine: inline.engine,
        security: this.security,
        clock,
        random,
        timers,
        logger: {log: () => {}},
        sourceReader: createSourceReader(),
        machine: createMachine(),
        javascript,
        settings: () => own,
        procedures,
        frontEnds: options.frontEnds,
        cluster: member,
        compactions: new StoreCompactions(),
        families,
        temporary: {disk: createDisk(), directory: join(tmpdir(), 'svc-temporary')},
        ...(scanThreads && {threads: scanThreads}),
      });
    };
    this.service = this.#makeService(settings, threads);
  }

  /**
   * One more service over the same engine; close it before the world.
   *
   * @param cluster - What it knows of its cluster; absent: what the world knows.
   */
  another(settings: Readonly<Record<string, string>>, cluster?: Cluster): SessionService {
    return this.#makeService(settings, undefined, cluster);
  }

  get engine(): Engine {
    return this.#inline.engine;
  }

  static async open(
    settings: Readonly<Record<string, string>> = {},
    options: WorldOptions = {},
  ): Promise<ServiceWorld> {
    const inline = await openInlineEngine(options);
    return new ServiceWorld(inline, settings, options, await loadJavaScript());
  }

  /** A new database with the statements run in it. */
  async database(statements: readonly string[]): Promise<TestDatabase> {
    this.#databases += 1;
    const name = `db${this.#databases}`;
    await this.service.createDatabase(root, name);
    const database = new TestDatabase(this.service, name);
    for (const text of statements) await database.run(text);
    return database;
  }

  /** Where a database's data lies. */
  stored({name}: TestDatabase): Database {
    const database = this.#inline.engine.database(name);
    assert(database !== undefined, 'the database is there');
    return database;
  }

  async close(): Promise<void> {
    await this.service.close();
    await this.#inline.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

type Row = Readonly<Record<string, unknown>>;

export class TestDatabase {
  readonly service: SessionService;
  readonly name: string;

  constructor(service: SessionService, name: string) {
    this.service = service;
    this.name = name;
  }

  /** The rows of one statement. */
  async run(text: string, more: Partial<RunRequest> = {}, who: Principal = root): Promise<Row[]> {
    const cursor = await this.service.run(who, {...this.request(text), ...more});
    const pieces: string[] = [];
    try {
      for (let piece = await cursor.next(); piece; piece = await cursor.next()) {
        pieces.push(piece.toString('utf8'));
      }
    } finally {
      cursor.close();
    }
    return JSON.parse(`[${pieces.join('')}]`) as Row[];
  }

  /** The same database as another service serves it. */
  over(service: SessionService): TestDatabase {
    return new TestDatabase(service, this.name);
  }

  request(text: string): RunRequest {
    return statementRequest(this.name, text);
  }
}
