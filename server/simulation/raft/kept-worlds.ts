/**
 * Worlds that once failed, kept so that they are run for ever. A failing seed of `make simulate`
 * prints the options of the smallest world that still fails: they come here, with what was wrong.
 */
import {type RaftWorldOptions, raftWorldOf} from './raft-world.ts';

export interface KeptWorld {
  readonly because: string;
  readonly options: RaftWorldOptions;
}

export const keptWorlds: readonly KeptWorld[] = [
  {
    because: 'a joining server that was slow in its last round never got its vote in a quiet group',
    options: {...raftWorldOf(1354), faultsPerSecond: 0.5},
  },
  {
    because: 'the same in a group of three that had lost a member',
    options: {...raftWorldOf(1475), faultsPerSecond: 0.5},
  },
  {
    because: 'the check of promises met an answer of before a checkpoint',
    options: {...raftWorldOf(1166), faultsPerSecond: 0.5},
  },
  {
    because: 'the only voter led a term, forgot it in a crash, and led it again',
    options: {...raftWorldOf(100071), faultsPerSecond: 4},
  },
  {
    because: 'the check of leaders took a late one of term 15 for one that came after term 16',
    options: {...raftWorldOf(100189), faultsPerSecond: 1.5},
  },
];
