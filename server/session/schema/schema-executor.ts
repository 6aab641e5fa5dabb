/**
 * Carries out schema commands against a database, one after another.
 *
 * A command becomes one entry of the log: the next catalog with the ranges it empties. Statements
 * that were bound against the old catalog are refused at their commit and run again. An index is
 * built in three steps: the entry that creates it (`building`: from there on every write keeps
 * its keys), the keys of older records in bounded transactions, the entry that makes it `ready`.
 * A build cut off by a stop is found at the next open and done again from the start; an index
 * whose build fails or is terminated is taken back. REBUILD INDEX builds beside the old index,
 * which is read and guards its keys until the new one is ready. Only where the old keys mean
 * nothing any more (`rebuilding`: a truncated bucket, another data type) there is none meanwhile,
 * and the build goes on when its statement is terminated. Records of dropped edge types are
 * deleted before the drop, also in bounded transactions: a drop cut off there leaves a type with
 * fewer edges, never an edge without its record.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import type {CatalogType} from '#server/catalog/catalog-type.ts';
import type {SchemaChange} from '#server/catalog/change.ts';
import {markIndexReady, withdrawIndex} from '#server/catalog/change-index.ts';
import {settle} from '#server/catalog/change-type.ts';
import type {NewTrigger} from '#server/catalog/change-routine.ts';
import type {FunctionDefinition, IndexDefinition} from '#server/catalog/definition.ts';
import type {Cancellation} from '#server/base/cancellation.ts';
import type {MapValue} from '#server/model/value.ts';
import type {SchemaCommand, TypeChange} from '#server/plan/statement.ts';
import type {Timers} from '#server/platform/clock.ts';
import type {CommitOutcome} from '#server/transactions/commit.ts';
import type {Database} from '#server/engine/database.ts';
import type {DatabaseSchema} from '#server/records/database-schema.ts';
import {type BuildLimits, type ChunkedWork, IndexBuild} from '#server/records/build.ts';
import {checkRecords} from '#server/records/conformance.ts';
import {requireNoForeigners} from '#server/records/members.ts';
import {
  deleteSomeRecords,
  LightEdgeRemoval,
  requireEdgesUntouched,
} from '#server/records/removal.ts';
import {Repartition} from '#server/records/repartition.ts';
import {
  emptyBucket,
  requireBucketUntouched,
  requireEmptyBucket,
  writeCatalog,
  writeDrops,
} from '#server/records/schema-writer.ts';
import type {Transaction} from '#server/transactions/transaction-contract.ts';
import {refusalOf} from '../statements/outcome.ts';
import {DatabaseCheck, type DatabaseWorkOptions} from '../database/database-check.ts';
import type {PlannedChange} from '../preparation/planned-change.ts';
import {planSchemaCommand, type SchemaChangeCommand} from './schema-command.ts';
import type {ProgressRegistry} from '../database/work-progress.ts';

const attemptsMax = 50;
const chunkAttemptsMax = 1_000;
/** One chunk of a build or a removal: small enough to be one entry and one slice of time. */
const chunkLimits: BuildLimits = {recordsMax: 2_000, writeBytesMax: 1 << 20};

export type NewRoutine = FunctionDefinition | NewTrigger;

export interface SchemaExecutorOptions extends DatabaseWorkOptions {
  /** The server's settings. */
  readonly settings: () => Settings;
  /** An index is ready for searches. */
  readonly onReady: (index: IndexDefinition) => void;
  /** Refuses code of a function or a trigger that cannot be read. */
  readonly checkCode: (routine: NewRoutine) => void;
}

export class SchemaExecutor {
  readonly #database: Database;
  readonly #schema: DatabaseSchema;
  readonly #timers: Timers;
  readonly #checkCode: (routine: NewRoutine) => void;
  readonly #onReady: (index: IndexDefinition) => void;
  readonly #check: DatabaseCheck;
  readonly #settings: () => Settings;
  readonly #work: ProgressRegistry;
  /** Tail of the queue: commands of one database run one after another. */
  #tail: Promise<unknown> = Promise.resolve();

  constructor(options: SchemaExecutorOptions) {
    this.#database = options.database;
    this.#schema = options.schema;
    this.#timers = options.timers;
    this.#checkCode = options.checkCode;
    this.#onReady = options.onReady;
    this.#work = options.work;
    this.#check = new DatabaseCheck(options, (work, signal) => this.#inChunks(work, signal));
    this.#settings = options.settings;
  }

  /** Runs the command after those before it; the row that says what was done. */
  run(command: SchemaCommand, signal: Cancellation | undefined): Promise<MapValue> {
    if (command.kind === 'create-function') this.#checkCode(command.definition);
    if (command.kind === 'create-trigger') this.#checkCode(command.trigger);
    const isCheck = command.kind === 'check-database';
    // Who only looks has a snapshot of his own and waits for nobody.
    if (isCheck && !command.fix) return this.#check.run(command, signal);
    const result = this.#tail.then(() =>
      isCheck ? this.#check.run(command, signal) : this.#execute(command, signal),
    );
    this.#tail = result.catch(() => undefined);
    return result;
  }

  /** Finishes builds that a stop has cut off. */
  resume(): Promise<unknown> {
    if (this.#building().length === 0) return this.#tail;
    this.#tail = this.#tail
      .then(() => this.#build(this.#building(), undefined))
      .catch(() => undefined);
    return this.#tail;
  }

  #building(): readonly IndexDefinition[] {
    return this.#schema.catalog.data.indexes.filter(index => index.state !== 'ready');
  }

  async #execute(
    command: SchemaChangeCommand,
    signal: Cancellation | undefined,
  ): Promise<MapValue> {
    for (let attempt = 1; ; attempt += 1) {
      const transaction = this.#database.begin('REPEATABLE_READ');
      try {
        const planned = this.#plan(command, transaction);
        if (planned.changes.length === 0 && planned.bucketIdsEmptied.length === 0) {
          transaction.rollback();
          return await this.#repartitioned(planned, planned.row, signal);
        }
        if (await this.#removedEdges(planned, transaction, signal)) {
          transaction.rollback();
          continue;
        }
        await this.#checkRecords(planned, transaction, signal);
        this.#write(transaction, planned);
        const outcome = await transaction.commit();
        if (outcome.kind === 'conflict' && attempt < attemptsMax) continue;
        committed(outcome);
        const row = await this.#builtOrTakenBack(command, planned, signal);
        return await this.#repartitioned(planned, row, signal);
      } catch (error) {
        transaction.rollback();
        throw error;
      }
    }
  }

  #plan(command: SchemaChangeCommand, transaction: Transaction): PlannedChange {
    return planSchemaCommand(this.#schema.catalog, command, {
      names: this.#schema.names,
      settings: this.#settings(),
      recordCount: bucketId => transaction.recordCount(bucketId),
    });
  }

  #write(transaction: Transaction, planned: PlannedChange): void {
    const dropped = planned.changes.flatMap(change => change.bucketIdsDropped);
    const last = planned.changes.at(-1);
    const moved = last === undefined ? [] : bucketsMoved(this.#schema.catalog, last.catalog);
    requireNoForeigners(transaction, this.#schema.catalog, [
      ...planned.bucketIdsEmptied,
      ...dropped,
      ...moved,
    ]);
    for (const bucketId of moved) requireEmptyBucket(transaction, this.#schema.catalog, bucketId);
    if (last !== undefined) this.#requireStillEmpty(transaction, last.catalog);
    for (const bucketId of planned.bucketIdsEmptied) emptyBucket(transaction, bucketId);
    for (const change of planned.changes) writeDrops(transaction, change);
    if (last !== undefined) writeCatalog(transaction, last.catalog, this.#schema);
  }

  /** What was planned for a type without records holds only if nobody makes one meanwhile. */
  #requireStillEmpty(transaction: Transaction, next: Catalog): void {
    const {catalog, context} = this.#schema;
    for (const type of next.types) {
      const old = catalog.typeById(type.id);
      if (old === undefined || !reliesOnEmptiness(old, type)) continue;
      for (const bucketId of old.bucketIds) requireBucketUntouched(transaction, bucketId);
      if (old.edge.lightweight) requireEdgesUntouched(transaction, context);
    }
  }

  /** @throws {Refusal} `query.execution` when a stored record breaks a rule that would be new. */
  async #checkRecords(
    planned: PlannedChange,
    transaction: Transaction,
    signal: Cancellation | undefined,
  ): Promise<void> {
    const last = planned.changes.at(-1);
    if (last === undefined) return;
    const {recordsMax} = chunkLimits;
    const steps = checkRecords(transaction, this.#schema.context, last.catalog, recordsMax);
    for (const _ of steps) await this.#pause(signal);
  }

  /** Deletes edges one by one where a whole bucket of them is to go; true when there were any. */
  async #removedEdges(
    planned: PlannedChange,
    transaction: Transaction,
    signal: Cancellation | undefined,
  ): Promise<boolean> {
    const {catalog, context} = this.#schema;
    const bucketIds = [
      ...planned.bucketIdsEmptied,
      ...planned.changes.flatMap(change => change.bucketIdsDropped),
    ].filter(id => catalog.typeOfBucket(id)?.kind === 'edge');
    let removed = false;
    for (const bucketId of bucketIds) {
      if (catalog.typeOfBucket(bucketId)?.edge.lightweight === true) {
        requireEdgesUntouched(transaction, context);
        if (transaction.recordCount(bucketId) === 0) continue;
        await this.#removeLightEdges(bucketId, signal);
        removed = true;
        continue;
      }
      while (await this.#removeEdgesChunk(bucketId, signal)) removed = true;
    }
    return removed;
  }

  async #removeLightEdges(bucketId: number, signal: Cancellation | undefined): Promise<void> {
    const removal = new LightEdgeRemoval(this.#schema.context, bucketId);
    await this.#inChunks(removal, signal);
  }

  async #removeEdgesChunk(bucketId: number, signal: Cancellation | undefined): Promise<boolean> {
    for (let attempt = 1; ; attempt += 1) {
      await this.#pause(signal);
      const transaction = this.#database.begin('READ_COMMITTED');
      try {
        const count = deleteSomeRecords(transaction, this.#schema.context, bucketId, chunkLimits);
        const outcome = await transaction.commit();
        if (outcome.kind === 'conflict' && attempt < chunkAttemptsMax) continue;
        committed(outcome);
        return count > 0;
      } catch (error) {
        transaction.rollback();
        throw error;
      }
    }
  }

  /** A type whose records have keys of its new supertype's leaves it again. */
  async #builtOrTakenBack(
    command: SchemaChangeCommand,
    planned: PlannedChange,
    signal: Cancellation | undefined,
  ): Promise<MapValue> {
    const inverse = inverseOf(command);
    try {
      return await this.#built(planned, signal, inverse !== undefined);
    } catch (error) {
      if (inverse !== undefined) await this.#execute(inverse, undefined);
      throw error;
    }
  }

  /** Builds the indexes that the change asks for and says in the row how many keys there are. */
  async #built(
    planned: PlannedChange,
    signal: Cancellation | undefined,
    isTakenBack: boolean,
  ): Promise<MapValue> {
    const current = this.#schema.catalog;
    const building = planned.changes
      .flatMap(change => change.indexesToBuild)
      .filter(index => isUnfinished(current.indexById(index.id)));
    if (building.length === 0) return planned.row;
    const indexed = await this.#build(building, signal, isTakenBack);
    const row = new Map(planned.row);
    if (row.has('totalIndexed')) row.set('totalIndexed', indexed);
    return row;
  }

  /** Moves the records of the types named; the row then says how many. */
  async #repartitioned(
    {repartitioned = []}: PlannedChange,
    row: MapValue,
    signal: Cancellation | undefined,
  ): Promise<MapValue> {
    if (repartitioned.length === 0) return row;
    let [visited, moved] = [0, 0];
    const work = this.#work.begin('repartition type', repartitioned.length);
    try {
      for (const name of repartitioned) {
        const {context} = this.#schema;
        const type = context.catalog.requireType(name);
        const move = new Repartition(context, type);
        const total = this.#recordsIn(type.bucketIds);
        work.next({name, total, done: () => move.recordsDone});
        await this.#inChunks(move, signal);
        visited += total;
        moved += move.recordsMoved;
        const {bucketSelection} = type.definition;
        const isPartitioned = bucketSelection.kind === 'partitioned';
        if (isPartitioned && bucketSelection.settled !== true) {
          await this.#changeCatalog(catalog => settle(catalog, type.id));
        }
      }
    } finally {
      this.#work.end(work);
    }
    const counts = row.has('recordsMoved')
      ? {recordsMoved: moved}
      : {repartitionVisited: visited, repartitionMoved: moved};
    return new Map([...row, ...Object.entries(counts)]);
  }

  async #build(
    indexes: readonly IndexDefinition[],
    signal: Cancellation | undefined,
    isTakenBack = false,
  ): Promise<number> {
    const work = this.#work.begin('build index', indexes.length);
    let indexed = 0;
    try {
      for (const index of indexes) {
        if (!isUnfinished(this.#schema.catalog.indexById(index.id))) continue;
        const build = new IndexBuild(this.#schema.context, index);
        const total = this.#recordsUnder(index);
        work.next({name: index.name, total, done: () => build.recordsDone});
        indexed += await this.#buildOne(index, build, {signal, isTakenBack});
      }
    } finally {
      this.#work.end(work);
    }
    return indexed;
  }

  async #buildOne(
    index: IndexDefinition,
    build: IndexBuild,
    {signal, isTakenBack}: {signal: Cancellation | undefined; isTakenBack: boolean},
  ): Promise<number> {
    try {
      await this.#inChunks(build, signal);
      await this.#changeCatalog(catalog => markIndexReady(catalog, index.id));
      this.#onReady(index);
      return build.recordsDone;
    } catch (error) {
      if (isTakenBack) throw error;
      // Who terminates a truncation does not ask for the end of the index.
      const goesOn = index.state === 'rebuilding' && isTermination(error);
      if (!goesOn) await this.#withdraw(index);
      void this.resume();
      throw error;
    }
  }

  #recordsUnder({typeId}: IndexDefinition): number {
    return this.#recordsIn(this.#schema.catalog.typeById(typeId)?.familyBucketIds ?? []);
  }

  #recordsIn(buckets: readonly number[]): number {
    return buckets.reduce((sum, id) => sum + this.#database.recordCount(id), 0);
  }

  /** Does the work in bounded transactions, again where another commit was faster. */
  async #inChunks(work: ChunkedWork, signal: Cancellation | undefined): Promise<void> {
    let attempt = 0;
    while (!work.done) {
      await this.#pause(signal);
      const transaction = this.#database.begin('READ_COMMITTED');
      try {
        work.fill(transaction, chunkLimits);
        const outcome = await transaction.commit();
        attempt += 1;
        if (outcome.kind === 'conflict' && attempt < chunkAttemptsMax) continue;
        committed(outcome);
        attempt = 0;
        work.advance();
      } catch (error) {
        transaction.rollback();
        throw error;
      }
    }
  }

  /** Takes back an index whose build failed: what it holds so far is not an index. */
  async #withdraw(index: IndexDefinition): Promise<void> {
    if (!isUnfinished(this.#schema.catalog.indexById(index.id))) return;
    await this.#changeCatalog(catalog => withdrawIndex(catalog, index.id));
  }

  async #changeCatalog(make: (catalog: Catalog) => SchemaChange): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const transaction = this.#database.begin('READ_COMMITTED');
      const change = make(this.#schema.catalog);
      writeDrops(transaction, change);
      writeCatalog(transaction, change.catalog, this.#schema);
      const outcome = await transaction.commit();
      if (outcome.kind === 'conflict' && attempt < attemptsMax) continue;
      committed(outcome);
      return;
    }
  }

  async #pause(signal: Cancellation | undefined): Promise<void> {
    await this.#timers.yield();
    if (signal?.aborted === true) {
      throw new Refusal('query.terminated', 'the schema change was terminated');
    }
  }
}

/** Buckets that stay and come to belong to another type, or to none. */
function bucketsMoved(before: Catalog, after: Catalog): readonly number[] {
  return before.buckets
    .map(({id}) => id)
    .filter(id => after.bucketById(id) !== undefined)
    .filter(id => before.typeOfBucket(id)?.id !== after.typeOfBucket(id)?.id);
}

/** Whether the change of a type was planned because it has no records. */
function reliesOnEmptiness(old: CatalogType, next: CatalogType): boolean {
  const isSettled = ({definition: {bucketSelection}}: CatalogType): boolean =>
    bucketSelection.kind === 'partitioned' && bucketSelection.settled === true;
  const isOtherEdge =
    old.edge.lightweight !== next.edge.lightweight || old.edge.unique !== next.edge.unique;
  const isSame = isSettled(old) && old.bucketIds.join() === next.bucketIds.join();
  return isOtherEdge || (isSettled(next) && !isSame);
}

/** What takes the command back when its indexes cannot be built. */
function inverseOf(command: SchemaChangeCommand): SchemaChangeCommand | undefined {
  if (command.kind !== 'alter-type') return undefined;
  const {kind, name, changes} = command;
  const inverse: TypeChange[] = [];
  for (const change of changes) {
    if (change.kind !== 'add-supertype') return undefined;
    inverse.unshift({kind: 'remove-supertype', name: change.name});
  }
  return {kind, name, changes: inverse};
}

function isUnfinished(index: IndexDefinition | undefined): boolean {
  return index !== undefined && index.state !== 'ready';
}

function isTermination(error: unknown): boolean {
  return error instanceof Refusal && error.code === 'query.terminated';
}

function committed(outcome: CommitOutcome): void {
  const refusal = refusalOf(outcome);
  if (refusal !== undefined) throw refusal;
}
