/** A leader that hears everybody and reaches nobody; with `CUTS=all`, every shape of a cut. */
import {holdsUnderCut} from './one-way-cuts.ts';

holdsUnderCut('the leader reaches nobody', import.meta.filename);
