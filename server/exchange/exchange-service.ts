/**
 * Imports and exports that somebody asks a server for, in every protocol; and BACKUP DATABASE, the
 * third statement about whole databases.
 *
 * Callers have checked that the principal may ask; what he may read and write is asked here, type
 * by type. Files that an export writes lie in `exports/`; an import reads what he may read with
 * LOAD CSV, or what was sent to it.
 */
import {mkdirSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {readBackupOptions} from '#server/backup/backup-options.ts';
import type {ArchiveManifest} from '#server/backup/archive-manifest.ts';
import type {BackupService} from '#server/backup/backup-service.ts';
import {namesIn} from '#server/backup/directory.ts';
import type {RestoreProgress, RestoreRequest} from '#server/backup/restores.ts';
import {assert} from '#server/base/assert.ts';
import {reasonOf, Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import {checkDatabaseName} from '#server/engine/database-name.ts';
import type {Engine} from '#server/engine/engine.ts';
import type {Value} from '#server/model/value.ts';
import type {TransferCommand} from '#server/plan/statement.ts';
import type {Clock, Random, Timers} from '#server/platform/clock.ts';
import type {Disk} from '#server/platform/disk.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {SourceReader} from '#server/platform/source-reader.ts';
import type {Principal} from '#server/security/principal.ts';
import {BulkIds} from '#server/session/bulk-ids.ts';
import {SpilledIds} from '#server/session/bulk-ids-disk.ts';
import type {ImportSession} from '#server/session/import-session.ts';
import type {KeptHolder} from '#server/session/kept-memory.ts';
import {RequestSources} from '#server/session/request-sources.ts';
import type {Transfers} from '#server/session/transfers.ts';
import type {ExportFormat} from './export-order.ts';
import {type ExportReport, exportDatabase, exportFormats} from './exports.ts';
import type {ImportOptions} from './import-options.ts';
import {type ImportPart, importParts} from './import-parts.ts';
import {
  importInto,
  type ImportProgress,
  type ImportReport,
  probe,
  type ProbeReport,
} from './imports.ts';
import {copyAddress, type ImportSource, openAddress, openSent} from './source.ts';

export interface ExchangeOptions {
  readonly rootPath: string;
  readonly release: string;
  readonly engine: Pick<
    Engine,
    'createHiddenDatabase' | 'dropDatabase' | 'renameDatabase' | 'status' | 'hiddenDatabases'
  >;
  /** The database as somebody may use it; hidden ones too. */
  readonly sessionOf: (who: Principal, database: string) => ImportSession;
  /** Where what was fetched for somebody counts. */
  readonly keep: (who: Principal) => KeptHolder;
  /** Takes a place of loads and answers how to leave it. @throws {Refusal} `admission.full`. */
  readonly enterLoad: (who: Principal) => () => void;
  readonly settings: () => Settings;
  readonly sourceReader: SourceReader;
  readonly backups: BackupService;
  readonly disk: Disk;
  readonly clock: Clock;
  readonly random: Random;
  readonly timers: Timers;
  readonly logger: Logger;
}

export interface ImportRequest {
  /**
   * An address or a file of the server; or one that was sent, at `path`. Undefined: the options
   * name them.
   */
  readonly from: string | SentFile | undefined;
  readonly options: ReadonlyMap<string, Value>;
}

export interface SentFile {
  readonly name: string;
  readonly path: string;
}

export type ImportAnswer =
  | ({readonly kind: 'imported'} & ImportReport)
  | ({readonly kind: 'probed'} & ProbeReport);

type Part = ImportPart<SentFile>;

type Tell = (progress: ImportProgress) => void;

interface ImportOrder {
  readonly who: Principal;
  /** Undefined when nothing but probes are asked. */
  readonly database: string | undefined;
  readonly tell: Tell;
  /** A command of root makes the database, and no statement fills it. */
  readonly isCommand: boolean;
}

/** Entries of about this size are committed; smaller when the log takes less. */
const entryBytesDefault = 400 << 10;
const exportOptions = new Set(['format', 'overwrite']);

export class ExchangeService implements Transfers {
  readonly #options: ExchangeOptions;
  /** Hidden databases of imports that are under way here. */
  readonly #own = new Set<string>();

  constructor(options: ExchangeOptions) {
    this.#options = options;
  }

  async run(
    who: Principal,
    database: string,
    {what, url, settings}: TransferCommand,
  ): Promise<ReadonlyMap<string, Value>> {
    const head = [['operation', `${what} database`]] as const;
    if (what === 'backup') {
      const {backups} = this.#options;
      const {fileName} = await backups.make(database, readBackupOptions(settings, url));
      return new Map<string, Value>([
        ...head,
        ['target', url ?? fileName],
        ['result', 'OK'],
        ['backupFile', fileName],
      ]);
    }
    if (what === 'export') {
      const {clock} = this.#options;
      const begunAt = clock.monotonic();
      const {path, ...report} = await this.export(who, database, url, settings);
      const facts = {
        toUrl: url ?? path,
        path,
        result: 'OK',
        totalRecords: report.documents + report.vertices + report.edges,
        elapsedInSecs: Math.round((clock.monotonic() - begunAt) / 1_000),
        ...report,
      };
      return valuesOf([...head, ...Object.entries(facts)]);
    }
    const answer = await this.import(who, database, {from: url, options: settings}, () => {});
    const facts = Object.entries(answer).filter(([name]) => name !== 'kind');
    const from = url === undefined ? [] : [['fromUrl', url] as const];
    return valuesOf([...head, ...from, ['result', 'OK'], ...facts]);
  }

  /** Imports into a database that is there: what is committed before a failure stays. */
  async import(
    who: Principal,
    database: string,
    request: ImportRequest,
    tell: Tell,
  ): Promise<ImportAnswer> {
    const parts = importParts(request.from, request.options);
    const order = {who, database, tell, isCommand: false};
    return await this.#inPlace(order, request, () => this.#import(order, parts));
  }

  /** Imports into a new database, which gets its name when all of the sources are in it. */
  async importNew(
    who: Principal,
    database: string,
    request: ImportRequest,
    tell: Tell,
  ): Promise<ImportAnswer> {
    checkDatabaseName(database);
    const parts = importParts(request.from, request.options);
    const {engine} = this.#options;
    if (engine.status(database) !== undefined) {
      throw new Refusal('database.exists', `Database '${database}' already exists`);
    }
    const order = {who, tell, isCommand: true};
    const isProbe = parts.some(({options}) => options.probeOnly);
    return await this.#inPlace(order, request, () =>
      isProbe
        ? this.#import({...order, database: undefined}, parts)
        : this.#importHidden({...order, database}, parts),
    );
  }

  /** A file that was sent has its place already, from its first byte on. */
  async #inPlace<T>(
    {who}: Pick<ImportOrder, 'who'>,
    {from}: ImportRequest,
    work: () => Promise<T>,
  ): Promise<T> {
    return typeof from === 'object' ? await work() : await this.#inLoad(who, work);
  }

  /** Imports are loads, and share their places. */
  async #inLoad<T>(who: Principal, work: () => Promise<T>): Promise<T> {
    const leave = this.#options.enterLoad(who);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  /**
   * Takes a file that somebody sends, at a path where it lies until `work` is done with it.
   *
   * @throws {Refusal} `admission.full` before the first byte.
   */
  async receive<T>(who: Principal, work: (path: string) => Promise<T>): Promise<T> {
    return await this.#inLoad(who, async () => {
      const path = this.#newPath();
      try {
        return await work(path);
      } finally {
        rmSync(path, {force: true});
      }
    });
  }

  /**
   * Writes the database into a file of `exports/`.
   *
   * @param name - Of the file, without a directory; undefined: by database and moment.
   */
  async export(
    who: Principal,
    database: string,
    name: string | undefined,
    settings: ReadonlyMap<string, Value>,
  ): Promise<ExportReport> {
    const {rootPath, release, clock, sessionOf} = this.#options;
    for (const option of settings.keys()) {
      if (!exportOptions.has(option)) {
        throw new Refusal(
          'argument',
          `there is no option '${option}': format, overwrite are known`,
        );
      }
    }
    const format = formatIn(settings.get('format'));
    const moment = new Date(clock.now()).toISOString().replaceAll(/[-:.TZ]/g, '');
    const stamp = `${moment.slice(0, 8)}-${moment.slice(8, 17)}`;
    const fileName = plainName(name ?? `${database}-export-${stamp}.${format}.tgz`);
    const order = {database, format, release, path: join(rootPath, 'exports', fileName)};
    const overwrite = settings.get('overwrite') === true || settings.get('overwrite') === 'true';
    // The file may be of another database.
    if (overwrite && !who.root) {
      throw new Refusal('security.root-only', 'Only root user may overwrite what was exported');
    }
    const report = await exportDatabase(
      sessionOf(who, database),
      {...order, overwrite},
      this.#options,
    );
    this.#options.logger.log('info', 'export.done', {database, file: fileName});
    return report;
  }

  /** Restores an archive that lies at an address or is a file of the server. @throws {Refusal} */
  async restoreFrom(
    address: string,
    to: Omit<RestoreRequest, 'path'>,
    tell: RestoreProgress,
  ): Promise<ArchiveManifest> {
    const {backups} = this.#options;
    return await this.#withCopy(address, path => backups.restoreFile({...to, path}, tell));
  }

  /** Reads all of an archive that lies at an address, and changes nothing. */
  async verifyFrom(
    address: string,
    password: string | undefined,
    tell: RestoreProgress,
  ): Promise<ArchiveManifest> {
    const {backups} = this.#options;
    return await this.#withCopy(address, path => backups.verifyFile({path, password}, tell));
  }

  async #withCopy<T>(address: string, work: (path: string) => Promise<T>): Promise<T> {
    const {sourceReader, settings} = this.#options;
    const readsEverywhere = this.#commandsReadEverywhere;
    const asker = {mayReadFiles: true, isRoot: true, readsEverywhere};
    const path = this.#newPath();
    try {
      await copyAddress(address, new RequestSources(sourceReader, settings, asker), path);
      return await work(path);
    } finally {
      rmSync(path, {force: true});
    }
  }

  get #commandsReadEverywhere(): boolean {
    return this.#options.settings().get('svc.server.restoreImportAllowLocalUrls');
  }

  #newPath(): string {
    const {rootPath, random} = this.#options;
    const directory = join(rootPath, 'temporary');
    mkdirSync(directory, {recursive: true, mode: 0o700});
    return join(directory, `import-${hexOf(random)}`);
  }

  /** Removes what a process left that was killed. Call before anything else. */
  async start(takesCommits: boolean): Promise<void> {
    const {rootPath, logger} = this.#options;
    for (const [directory, pattern] of litter) {
      const path = join(rootPath, directory);
      for (const name of namesIn(path).filter(name => pattern.test(name))) {
        rmSync(join(path, name), {force: true});
        logger.log('info', 'exchange.swept', {path: join(path, name)});
      }
    }
    if (takesCommits) await this.sweep();
  }

  /** Removes hidden databases of imports that were killed: this server takes commits. */
  async sweep(): Promise<void> {
    const {engine} = this.#options;
    for (const name of engine.hiddenDatabases()) {
      if (importing.test(name) && !this.#own.has(name)) await engine.dropDatabase(name);
    }
  }

  /** One source after another. */
  async #import(order: ImportOrder, parts: readonly Part[]): Promise<ImportAnswer> {
    const answers: ImportAnswer[] = [];
    for (const part of parts) {
      const source = await this.#open(order, part.from);
      try {
        answers.push(await this.#importPart(order, source, part.options));
      } finally {
        source.close();
      }
    }
    const [first, ...more] = answers;
    assert(first !== undefined, 'an import has a source');
    return more.reduce(together, first);
  }

  async #importPart(
    {who, database, tell}: ImportOrder,
    source: ImportSource,
    options: ImportOptions,
  ): Promise<ImportAnswer> {
    const {clock, timers, settings, sessionOf, logger} = this.#options;
    const session = database === undefined ? undefined : sessionOf(who, database);
    if (options.probeOnly || session === undefined) {
      return {kind: 'probed', ...(await probe(source, options, session))};
    }
    const means = {
      clock,
      timers,
      makeIds: () => this.#makeIds(),
      entryBytesMax: () =>
        Math.min(entryBytesDefault, settings().get('svc.ha.appendBufferSize') / 2),
    };
    const report = await importInto(session, source, options, means, tell);
    logger.log('info', 'import.done', {database, ...report});
    return {kind: 'imported', ...report};
  }

  async #importHidden(
    {database, ...order}: ImportOrder & {readonly database: string},
    parts: readonly Part[],
  ): Promise<ImportAnswer> {
    const {engine, random, logger} = this.#options;
    const hidden = `.importing-${hexOf(random)}`;
    this.#own.add(hidden);
    try {
      await engine.createHiddenDatabase(hidden);
      const answer = await this.#import({...order, database: hidden}, parts);
      await engine.renameDatabase(hidden, database, false);
      return answer;
    } catch (error) {
      const reason = reasonOf(error);
      logger.log('warn', 'import.failed', {database, reason});
      if (engine.hiddenDatabases().includes(hidden)) {
        await engine.dropDatabase(hidden).catch((failure: unknown) => {
          logger.log('warn', 'import.not-swept', {database: hidden, reason: String(failure)});
        });
      }
      throw error;
    } finally {
      this.#own.delete(hidden);
    }
  }

  async #open({who, isCommand}: ImportOrder, from: Part['from']): Promise<ImportSource> {
    if (typeof from !== 'string') return await openSent(from.name, from.path);
    const {sourceReader, settings, keep} = this.#options;
    const readsEverywhere = isCommand && this.#commandsReadEverywhere;
    // Who imports may change security: whoever calls has asked.
    const asker = {mayReadFiles: true, isRoot: who.root, readsEverywhere, keep: () => keep(who)};
    const sources = new RequestSources(sourceReader, settings, asker);
    try {
      const source = await openAddress(from, sources, this.#newPath());
      return {
        ...source,
        close() {
          source.close();
          sources.close();
        },
      };
    } catch (error) {
      sources.close();
      throw error;
    }
  }

  #makeIds(): BulkIds {
    const {rootPath, random, disk, settings} = this.#options;
    const name = `ids-${random.u32().toString(16)}-${random.u32().toString(16)}`;
    return new BulkIds({
      countMax: Math.max(1e9, settings().get('svc.batch.idMapMax')),
      memoryBytesMax: settings().get('svc.batch.idMapMemoryMax'),
      spill: new SpilledIds(disk, join(rootPath, 'temporary'), name),
      seed: random.u32(),
    });
  }
}

/** The answer of several sources. */
function together(all: ImportAnswer, part: ImportAnswer): ImportAnswer {
  if (all.kind === 'probed' && part.kind === 'probed') {
    const types = [...all.types, ...part.types];
    return {...part, entries: all.entries + part.entries, types};
  }
  assert(all.kind === 'imported' && part.kind === 'imported', 'a probe has no imports beside it');
  return {
    ...part,
    documents: all.documents + part.documents,
    vertices: all.vertices + part.vertices,
    edges: all.edges + part.edges,
    skipped: all.skipped + part.skipped,
    errors: [...all.errors, ...part.errors],
  };
}

/** What is unfinished of files that were sent or exported. */
const litter = [
  ['temporary', /^import-[0-9a-f]{16}(\.zip)?$/],
  ['exports', /^\..*\.part(\.[a-z]+)?$/],
] as const;
const importing = /^\.importing-[0-9a-f]{16}$/;

function hexOf(random: Random): string {
  const bytes = Buffer.alloc(8);
  random.fill(bytes);
  return bytes.toString('hex');
}

function formatIn(value: Value | undefined): ExportFormat {
  if (value === undefined) return 'jsonl';
  const format = exportFormats.find(known => known === value);
  if (format !== undefined) return format;
  throw new Refusal('argument', `the option 'format' must be ${exportFormats.join(' or ')}`);
}

/** The name of a file in `exports/`; `file://` before it changes nothing. */
function plainName(url: string): string {
  const name = url.startsWith('file://') ? url.slice('file://'.length) : url;
  if (/^[^/\\\0.][^/\\\0]{0,200}$/.test(name)) return name;
  throw new Refusal('argument', `'${url.slice(0, 100)}' is a path: exports lie in exports/`);
}

function valuesOf(entries: readonly (readonly [string, unknown])[]): ReadonlyMap<string, Value> {
  return new Map(entries.map(([name, value]) => [name, value as Value]));
}
