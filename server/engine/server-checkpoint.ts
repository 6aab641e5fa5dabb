/**
 * A checkpoint of a whole server: its state and a copy of every database, all at one log index.
 *
 * A directory holds `state` (as server-state.ts writes it; its `durableIndex` is the index) and
 * the files of each database under `databases/<id>`. Copies are hard links where the file system
 * has them, so a checkpoint costs milliseconds and holds what later compactions would remove.
 * Where `state` stands the checkpoint is whole: it is written last.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Disk} from '#server/platform/disk.ts';
import type {CommitPipeline} from '#server/transactions/commit-pipeline.ts';
import type {LogIndex} from '#server/transactions/commit.ts';
import {atIndex, type ServerState, ServerStateFile} from './server-state.ts';
import type {StoreFactory} from './store-factory.ts';

/** What a checkpoint is made of. */
export interface CheckpointSource {
  readonly disk: Disk;
  readonly stores: StoreFactory;
  readonly pipe: CommitPipeline;
  /** The newest. */
  readonly state: () => ServerState;
  /** Resolves when every server-level entry up to `index` is executed. */
  readonly executed: (index: LogIndex) => Promise<void>;
}

/**
 * Makes one in `directory`, whose parent exists; what stands there under that name goes. Commits
 * go on, but for as long as the files are linked.
 *
 * @throws {Refusal} `database.operation` when a database cannot be copied; nothing is left.
 */
export async function captureServer(
  source: CheckpointSource,
  directory: string,
): Promise<ServerState> {
  const {disk, stores, pipe} = source;
  for (;;) {
    removeCheckpoint(source, directory);
    disk.makeDirectory(directory);
    disk.makeDirectory(`${directory}/databases`);
    const before = source.state();
    const copies = before.databases.map(({id}) => copyOf(id, directory));
    const outcome = await pipe.copy(copies);
    const obstacle = outcome.kind === 'failed' ? outcome.reason : behind(before, outcome.index);
    if (outcome.kind === 'failed' || obstacle !== undefined) {
      for (const copy of copies) stores.remove(copy.directory);
      removeCheckpoint(source, directory);
      throw new Refusal('database.operation', `no checkpoint can be made: ${obstacle}`);
    }
    await source.executed(outcome.index);
    // A server-level entry came between the state and the copies: once more.
    if (source.state().index !== before.index) continue;
    const state = atIndex(before, outcome.index, outcome.positions);
    new ServerStateFile(disk, directory).save(state);
    return state;
  }
}

/** A state may be ahead of what is applied, like a database after a start (Applier.copy). */
function behind({index}: ServerState, applied: LogIndex): string | undefined {
  if (index <= applied) return undefined;
  return `the log is read again up to entry ${applied} of ${index}, try again`;
}

/** Where the files of a database lie in a checkpoint. */
export function checkpointPath(directory: string, databaseId: number): string {
  return `${directory}/databases/${databaseId}`;
}

/** Takes a checkpoint away, an unfinished one too; absent is fine. */
export function removeCheckpoint(
  {disk, stores}: Pick<CheckpointSource, 'disk' | 'stores'>,
  directory: string,
): void {
  for (const name of stores.list(`${directory}/databases`)) {
    stores.remove(`${directory}/databases/${name}`);
  }
  disk.removeTree(directory);
}

function copyOf(databaseId: number, directory: string): {databaseId: number; directory: string} {
  return {databaseId, directory: checkpointPath(directory, databaseId)};
}
