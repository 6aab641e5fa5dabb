/** The simulated half of a trial: worlds from seed 1 on, until one fails or WORLDS have held. */
import {RaftWorld, raftWorldOf} from '../raft-world.ts';

const worlds = Number(process.env['WORLDS']);
for (let seed = 1; seed <= worlds; seed++) new RaftWorld(raftWorldOf(seed)).run();
