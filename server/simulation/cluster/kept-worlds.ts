/**
 * Worlds of whole servers that once failed, kept so that they are run for ever; as
 * raft/kept-worlds.ts, for what the core alone does not show.
 */
import type {ClusterWorldOptions} from './cluster-world.ts';

export interface KeptWorld {
  readonly because: string;
  readonly options: ClusterWorldOptions;
}

export const keptWorlds: readonly KeptWorld[] = [];
