/**
 * Goes the way of a write some hundred times when a member starts, in a database of its own that
 * nobody sees. A member that is elected has never taken a write before, and in a language that is
 * compiled while it runs the first ones take many times as long: clients that come at once all
 * wait for them.
 *
 * Everything is thrown away behind it, and what goes wrong is not missed.
 * Source: docs/design/0030-write-warmup.md.
 */
import {join} from 'node:path';
import {indexFamilies} from '#server/caches/index-families.ts';
import {commitTasks, nodeScheduler} from '../commit/commit-tasks.ts';
import type {Value} from '#server/model/value.ts';
import {type Engine, openEngine} from '#server/engine/engine.ts';
import {defaultEngineSettings} from '#server/engine/settings.ts';
import type {StoreFactory} from '#server/engine/store-factory.ts';
import type {Disk} from '#server/platform/disk.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {Principal} from '#server/security/principal.ts';
import {Security} from '#server/security/security.ts';
import {SessionService} from '#server/session/service.ts';
import type {ServiceOptions} from '#server/session/service-options.ts';
import {statementRequest} from '#server/session/statement-request.ts';

/** What a service is made of that this one shares with the server's own. */
type Shared = Pick<
  ServiceOptions,
  'clock' | 'random' | 'timers' | 'sourceReader' | 'machine' | 'javascript' | 'settings'
>;

export interface WriteWarmupOptions extends Shared {
  readonly disk: Disk;
  /** What an earlier process left there is removed, and nothing is left. */
  readonly path: string;
  readonly stores: StoreFactory;
  readonly logger: Logger;
}

const database = 'warmup';
const rounds = 200;
const scene: readonly string[] = [
  'CREATE DOCUMENT TYPE Line',
  'CREATE PROPERTY Line.number LONG',
  'CREATE INDEX ON Line (number) UNIQUE',
];
/** What each round writes. */
const lines: readonly string[] = [
  'INSERT INTO Line SET number = :number, text = :text',
  'UPDATE Line SET text = :number WHERE number = :number',
];
const silent = {log: () => {}};
const player: Principal = {name: 'root', root: true, grants: new Map([['*', ['admin']]])};

/** Begins; the returned function ends it early, and resolves when nothing is left of it. */
export function startWriteWarmup(options: WriteWarmupOptions): () => Promise<void> {
  const {logger, clock} = options;
  const began = clock.monotonic();
  let isOver = false;
  const done = warmUp(options, () => isOver).then(
    count => {
      const tookMs = Math.round(clock.monotonic() - began);
      logger.log('debug', 'cluster.warmed-up', {writes: count, tookMs});
    },
    (error: unknown) => logger.log('debug', 'cluster.warmup-failed', {detail: String(error)}),
  );
  return () => {
    isOver = true;
    return done;
  };
}

/** Resolves to how many writes it did. */
async function warmUp(options: WriteWarmupOptions, isOver: () => boolean): Promise<number> {
  const {disk, path} = options;
  disk.removeTree(path);
  try {
    const engine = await openScratch(options);
    try {
      return await inService(options, engine, service => play(service, options, isOver));
    } finally {
      await engine.close();
    }
  } finally {
    disk.removeTree(path);
  }
}

async function play(
  service: SessionService,
  {timers}: WriteWarmupOptions,
  isOver: () => boolean,
): Promise<number> {
  await service.createDatabase(player, database);
  for (const text of scene) await run(service, text);
  let count = 0;
  for (let number = 0; number < rounds; number++) {
    const parameters = new Map<string, Value>([
      ['number', number],
      ['text', 'x'.repeat(100)],
    ]);
    for (const text of lines) {
      if (isOver()) return count;
      await run(service, text, parameters);
      count++;
      // Whoever asks the server for something meanwhile comes first.
      await timers.yield();
    }
  }
  return count;
}

async function run(
  service: SessionService,
  text: string,
  parameters?: ReadonlyMap<string, Value>,
): Promise<void> {
  const cursor = await service.run(player, statementRequest(database, text, parameters));
  cursor.close();
}

async function inService<T>(
  options: WriteWarmupOptions,
  engine: Engine,
  work: (service: SessionService) => Promise<T>,
): Promise<T> {
  const documents = new Map<string, Uint8Array>();
  const security = new Security({
    ...options,
    store: {
      read: name => documents.get(name),
      write: (name, bytes) => {
        documents.set(name, bytes);
        return Promise.resolve();
      },
    },
    endSessionsOf: () => {},
  });
  const service = new SessionService({
    ...options,
    engine,
    security,
    logger: silent,
    families: indexFamilies,
    temporary: {disk: options.disk, directory: join(options.path, 'temporary')},
  });
  try {
    return await work(service);
  } finally {
    await service.close();
  }
}

function openScratch({
  disk,
  path,
  clock,
  timers,
  random,
  stores,
}: WriteWarmupOptions): Promise<Engine> {
  return openEngine({
    rootPath: path,
    nodeName: database,
    disk,
    clock,
    timers,
    random,
    logger: silent,
    stores,
    settings: {...defaultEngineSettings, segmentBytes: 1 << 20, walFlush: 0},
    startPipe: commitTasks({scheduler: nodeScheduler, disk, clock}),
  });
}
