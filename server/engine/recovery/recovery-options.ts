/** What a recovery is given: the directories of a server and what reads and writes them. */
import type {Clock, Random} from '#server/platform/clock.ts';
import type {Disk} from '#server/platform/disk.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {Reader} from '#server/storage/store.ts';
import type {Formats} from '../formats/levels.ts';
import type {StoreFactory} from '../store-factory.ts';

export interface RecoveryOptions {
  readonly databaseDirectory: string;
  readonly configDirectory: string;
  readonly nodeName: string;
  readonly disk: Disk;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly stores: StoreFactory;
  /** `svc.ha.logSegmentSize`. */
  readonly segmentBytes: number;
  readonly formats: Formats;
  /** Parent of `raft-storage-<node>`; the root unless `svc.ha.raftStorageDirectory` is set. */
  readonly raftStorageParent: string;
  /** A digest of what a database holds; absent: equal ones are not told from others. */
  readonly fingerprint?: ((reader: Reader) => Promise<string>) | undefined;
}
