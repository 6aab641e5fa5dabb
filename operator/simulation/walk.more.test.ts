/** Ten more worlds of the operator's simulation, and those in which something was wrong once. */
import {seedsFrom, testWalks} from './testing-walks.ts';

testWalks(seedsFrom(11, 20));
testWalks([36, 43, 225, 254, 320, 1208, 1343, 1621]);
