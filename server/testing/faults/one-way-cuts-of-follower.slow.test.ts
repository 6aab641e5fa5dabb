/** A follower that hears everybody and reaches nobody. */
import {holdsUnderCut} from './one-way-cuts.ts';

holdsUnderCut('one follower reaches nobody', import.meta.filename);
