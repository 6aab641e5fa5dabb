/**
 * One simulated server through several lives: it starts, serves clients, and ends by power loss,
 * kill, a failed sync or a clean stop; then it starts again and everything is checked.
 *
 * All chance comes from the seed and all order from the scheduler, so one seed is one history.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Database} from '#server/engine/database.ts';
import type {Engine} from '#server/engine/engine.ts';
import type {Timers} from '#server/platform/clock.ts';
import {FoldedRecords} from './compressed-records.ts';
import {countOldRows, Ledger, Violation} from './ledger.ts';
import {Machine, SimulatedCrash} from './machine.ts';
import {Scheduler} from './scheduler.ts';
import {createSeededRandom, type SeededRandom} from './seeded-random.ts';
import type {Shrinkable} from './shrink.ts';
import {SimulatedDisk} from './simulated-disk.ts';
import {openSimulatedEngine} from './simulated-engine.ts';
import {simulatedFormats} from './simulated-formats.ts';
import {SimulatedStores} from './simulated-stores.ts';
import {runClient} from './workload.ts';

export type Ending = 'power-loss' | 'kill' | 'clean-stop';

export interface WorldOptions {
  readonly seed: number;
  readonly lives: number;
  readonly clients: number;
  readonly operationsPerClient: number;
  readonly endings: readonly Ending[];
  /** Percent of lives in which one sync fails. */
  readonly syncFailurePercent: number;
  /** Percent of lives in which the disk becomes full while clients work. */
  readonly diskFullPercent: number;
  /** Percent of lives in which the clock on the wall jumps by an hour, either way. */
  readonly clockJumpPercent?: number;
  /** Bytes of a log segment; small ones are recycled often. */
  readonly segmentBytes?: number;
  /**
   * Clients beside the others that write records with compressed values. Not with `raisedInLife`.
   */
  readonly foldedClients?: number;
  /** The server is of a release with a new format level from this life on (0 is the first). */
  readonly raisedInLife?: number;
  /** Operation, counted from the first life on, in which the power goes; no other crash. */
  readonly crashAt?: number;
  /** Chance for the power loss itself; part of the seed unless given. */
  readonly crashSeed?: number;
}

export interface WorldReport {
  readonly traceHash: string;
  readonly operations: number;
  readonly operationsByKind: ReadonlyMap<string, number>;
  readonly faults: ReadonlyMap<string, number>;
  readonly outcomes: Readonly<Ledger['tallies']>;
  readonly simulatedMs: number;
  /** Values beside their records that the checks after crashes have found. */
  readonly besideSeen: number;
}

const segmentBytesDefault = 16 << 10;

export class World {
  readonly #options: WorldOptions;
  readonly #random: SeededRandom;
  readonly #machine = new Machine();
  readonly #disk = new SimulatedDisk(this.#machine);
  readonly #stores = new SimulatedStores(this.#machine, this.#disk);
  readonly #scheduler: Scheduler;
  readonly #ledger = new Ledger();
  readonly #compressed = new FoldedRecords();
  readonly #faults = new Map<string, number>();
  readonly #documents = {acknowledged: 0, attempted: 0};
  #numbers = 0;
  #life = 0;
  /** Databases whose making was acknowledged. */
  readonly #created = new Set<string>();
  #failure: Error | undefined;
  /** The ear of the commit pipe for requests (commit-threads.ts). */
  #asked: (client: unknown) => void = () => {};

  constructor(options: WorldOptions) {
    this.#options = options;
    this.#random = createSeededRandom(options.seed);
    this.#scheduler = new Scheduler(this.#random, this.#machine);
  }

  get report(): WorldReport {
    return {
      traceHash: this.#machine.traceHash,
      operations: this.#machine.operationCount,
      operationsByKind: this.#machine.counts,
      faults: this.#faults,
      outcomes: this.#ledger.tallies,
      simulatedMs: Math.round(this.#scheduler.nowMs),
      besideSeen: this.#compressed.besideSeen,
    };
  }

  /** Lives one life after another and a last one without faults; throws Violation. */
  async run(): Promise<WorldReport> {
    for (; this.#life < this.#options.lives; this.#life++) await this.#live();
    this.#machine.boot();
    this.#disk.freeBytesLeft = Number.MAX_SAFE_INTEGER;
    const engine = await this.#start();
    if (engine === undefined) throw new Violation('a start without faults did not succeed');
    await this.#scheduler.run(() => engine.migrating.length === 0);
    this.#checkMigrated(engine);
    await this.#finish(engine.close());
    return this.report;
  }

  get #formatLevel(): 1 | 2 {
    return this.#life >= (this.#options.raisedInLife ?? Number.POSITIVE_INFINITY) ? 2 : 1;
  }

  #checkMigrated(engine: Engine): void {
    const database = engine.database('main');
    if (database === undefined || this.#formatLevel === 1) return;
    const session = database.read();
    const left = countOldRows(session);
    session.close();
    if (left > 0) throw new Violation(`a migration that has ended left ${left} rows behind`);
  }

  async #live(): Promise<void> {
    const machine = this.#machine;
    machine.boot();
    this.#disk.freeBytesLeft = Number.MAX_SAFE_INTEGER;
    this.#disk.copiesOnWrite = false;
    const ending = this.#plan();
    const engine = await this.#start();
    if (engine !== undefined) await this.#serve(engine);
    if (engine !== undefined && !machine.dead && ending === 'clean-stop') {
      await this.#finish(engine.close());
    }
    if (this.#failure !== undefined) throw this.#failure;
    this.#count(machine.dead ? 'crash in an operation' : ending);
    machine.dead = true;
    this.#scheduler.clear();
    this.#ledger.endOfLife();
    this.#compressed.endOfLife();
    this.#end(machine.dead && ending === 'clean-stop' ? 'power-loss' : ending);
  }

  /** Chooses how and when this life ends. */
  #plan(): Ending {
    const {crashAt, endings, syncFailurePercent} = this.#options;
    const random = this.#random;
    const machine = this.#machine;
    if (crashAt !== undefined) {
      if (machine.operationCount < crashAt) machine.crashAt = crashAt;
      return 'power-loss';
    }
    if (random.chance(syncFailurePercent)) {
      machine.failSyncAt = (machine.counts.get('sync') ?? 0) + 1 + random.below(60);
      this.#count('failed sync planned');
    }
    const ending = random.pick(endings);
    // Most ends come in the middle of something, during recovery too.
    if (ending !== 'clean-stop' && random.chance(85)) {
      machine.crashAt = machine.operationCount + 1 + random.below(random.chance(30) ? 60 : 800);
    }
    return ending;
  }

  #end(ending: Ending): void {
    if (ending === 'kill') {
      this.#disk.kill();
      this.#stores.kill();
      return;
    }
    const {crashSeed} = this.#options;
    const random = crashSeed === undefined ? this.#random : createSeededRandom(crashSeed);
    this.#disk.crash(random);
    this.#stores.crash(random);
  }

  async #start(): Promise<Engine | undefined> {
    try {
      const engine = await openSimulatedEngine({
        disk: this.#disk,
        clock: this.#scheduler.clock,
        timers: this.#timers(),
        random: this.#random,
        stores: this.#stores,
        settings: {
          segmentBytes: this.#options.segmentBytes ?? segmentBytesDefault,
          formats: simulatedFormats(this.#formatLevel),
        },
        schedule: task => this.#schedule(task),
        onStart: asked => {
          this.#asked = asked;
        },
      });
      this.#check(engine);
      return engine;
    } catch (error) {
      if (error instanceof SimulatedCrash || this.#machine.dead) return undefined;
      if (isDiskFault(error)) {
        this.#count('start refused by a failed sync');
        return undefined;
      }
      throw error;
    }
  }

  #check(engine: Engine): void {
    for (const name of this.#created) {
      if (engine.databases().includes(name)) continue;
      throw new Violation(`the acknowledged database ${name} is lost`);
    }
    const document = engine.serverDocument('server-users.jsonl');
    const number = Number(document?.bytes.toString().split(' ')[1] ?? 0);
    const {acknowledged, attempted} = this.#documents;
    // What was refused leaves no trace, not in the versions either.
    const {version = 0} = document ?? {};
    if (!(number >= acknowledged && number <= attempted && version <= number)) {
      throw new Violation(`document ${number}, acknowledged ${acknowledged} of ${attempted}`);
    }
    const compressed = this.#found(engine, 'compressed');
    if (compressed !== undefined) this.#compressed.check(compressed);
    const database = this.#found(engine, 'main');
    if (database === undefined) return;
    const session = database.read();
    this.#ledger.check(session, bucketId => session.recordCount(bucketId));
    session.close();
  }

  /** A database that is there, as it must be from now on. */
  #found(engine: Engine, name: string): Database | undefined {
    if (!engine.databases().includes(name)) return undefined;
    this.#created.add(name);
    return engine.database(name);
  }

  async #foundOrMade(engine: Engine, name: string): Promise<Database> {
    const database = engine.database(name) ?? (await engine.createDatabase(name));
    this.#created.add(name);
    return database;
  }

  /** Lets clients work until all are done or the process ends. */
  async #serve(engine: Engine): Promise<void> {
    let running = 0;
    const start = (work: () => Promise<void>) => {
      running++;
      work()
        .catch((error: unknown) => this.#caught(error))
        .finally(() => {
          running--;
        });
    };
    const {clients, foldedClients = 0, operationsPerClient: operations} = this.#options;
    const parts = {
      random: this.#random,
      scheduler: this.#scheduler,
      nextNumber: () => ++this.#numbers,
      asked: (client: unknown) => this.#asked(client),
    };
    start(async () => {
      const database = await this.#foundOrMade(engine, 'main');
      const options = {...parts, database, ledger: this.#ledger};
      for (let left = clients; left > 0; left--) start(() => runClient(options, operations));
      start(() => this.#administer(engine));
    });
    if (foldedClients > 0) {
      start(async () => {
        const options = {...parts, database: await this.#foundOrMade(engine, 'compressed')};
        await this.#compressed.prepare(options);
        for (let left = foldedClients; left > 0; left--) {
          start(() => this.#compressed.runClient(options, operations));
        }
      });
    }
    if (this.#random.chance(this.#options.diskFullPercent)) start(() => this.#fillDisk(engine));
    if (this.#random.chance(this.#options.clockJumpPercent ?? 0)) start(() => this.#jumpClock());
    await this.#scheduler.run(
      () => this.#machine.dead || this.#failure !== undefined || running === 0,
    );
  }

  async #jumpClock(): Promise<void> {
    await this.#scheduler.sleep(this.#random.below(100));
    this.#count('clock jumped');
    this.#scheduler.wallErrorMs += this.#random.pick([-1, 1]) * 3_600_000;
  }

  /** The disk becomes full and gets room again; the server goes on by itself within a second. */
  async #fillDisk(engine: Engine): Promise<void> {
    await this.#scheduler.sleep(this.#random.below(100));
    this.#count('disk full');
    this.#disk.freeBytesLeft = this.#random.below(20_000);
    // Half of the disks find no room for what lies within a file either.
    this.#disk.copiesOnWrite = this.#random.chance(50);
    await this.#scheduler.sleep(this.#random.below(3_000));
    this.#disk.freeBytesLeft = Number.MAX_SAFE_INTEGER;
    this.#disk.copiesOnWrite = false;
    await this.#scheduler.sleep(1_100);
    try {
      await this.#putDocument(engine);
      this.#count('disk full recovered');
    } catch (error) {
      // A sync that failed is another matter.
      if (!(error instanceof Refusal) || error.code !== 'storage.full') throw error;
      throw new Violation('the disk has room again, and the server says that it has none');
    }
  }

  /** Documents and a second database that comes and goes beside the clients' work. */
  async #administer(engine: Engine): Promise<void> {
    for (let round = 0; round < 3; round++) {
      await this.#scheduler.sleep(this.#random.below(40));
      await this.#putDocument(engine);
      if (engine.status('second') === undefined) await engine.createDatabase('second');
      else await engine.dropDatabase('second');
    }
  }

  async #putDocument(engine: Engine): Promise<void> {
    const documents = this.#documents;
    const number = ++documents.attempted;
    await engine.putServerDocument('server-users.jsonl', Buffer.from(`number ${number}`));
    documents.acknowledged = Math.max(documents.acknowledged, number);
  }

  async #finish(closing: Promise<void>): Promise<void> {
    let closed = false;
    const done = () => {
      closed = true;
    };
    closing.then(done, (error: unknown) => {
      done();
      this.#caught(error);
    });
    await this.#scheduler.run(() => closed || this.#machine.dead);
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Errors of clients: those of the ended process and refusals are part of life. */
  #caught(error: unknown): void {
    if (this.#machine.dead || error instanceof SimulatedCrash || isDiskFault(error)) return;
    if (error instanceof Error && error.name === 'Refusal') {
      this.#count('refused');
      return;
    }
    this.#failure ??= error instanceof Error ? error : new Error(String(error));
  }

  #schedule(task: () => void): void {
    this.#scheduler.after(this.#random.below(3), 'pipe', () => this.#take(task));
  }

  /** Timers of the server: a crash in one of them ends it as one in its tasks does. */
  #timers(): Timers {
    const timers = this.#scheduler.timers;
    return {...timers, after: (delayMs, task) => timers.after(delayMs, () => this.#take(task))};
  }

  #take(task: () => void): void {
    try {
      task();
    } catch (error) {
      this.#caught(error);
    }
  }

  #count(fault: string): void {
    this.#faults.set(fault, (this.#faults.get(fault) ?? 0) + 1);
  }
}

function isDiskFault(error: unknown): boolean {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && (cause.code === 'EIO' || cause.code === 'ENOSPC')) return true;
  }
  return false;
}

/** Fewer lives, clients, operations and kinds of faults. */
export const storageWorlds: Shrinkable<WorldOptions, WorldReport> = {
  run: options => new World(options).run(),
  smallerThan: function* (options) {
    const {lives, clients, operationsPerClient, endings, syncFailurePercent} = options;
    for (let fewer = 1; fewer < lives; fewer++) yield {...options, lives: fewer};
    if (clients > 1) yield {...options, clients: 1};
    if (clients > 2) yield {...options, clients: clients - 1};
    for (const part of [4, 2]) {
      const fewer = Math.floor(operationsPerClient / part);
      if (fewer >= 1) yield {...options, operationsPerClient: fewer};
    }
    if (operationsPerClient > 1) {
      yield {...options, operationsPerClient: operationsPerClient - 1};
    }
    if (endings.length > 1) {
      for (const ending of endings) {
        yield {...options, endings: endings.filter(other => other !== ending)};
      }
    }
    if (syncFailurePercent > 0) yield {...options, syncFailurePercent: 0};
    if (options.diskFullPercent > 0) yield {...options, diskFullPercent: 0};
    if ((options.foldedClients ?? 0) > 0) yield {...options, foldedClients: 0};
  },
};
