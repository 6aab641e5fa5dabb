/** Ten more worlds of the operator's simulation. */
import {seedsFrom, testWalks} from './testing-walks.ts';

testWalks(seedsFrom(11, 20));
