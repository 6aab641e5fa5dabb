/** Worlds of the operator's simulation in which something was wrong once. */
import {testWalks} from './testing-walks.ts';

testWalks([36, 43, 225, 244, 254, 320, 361, 384, 632, 971, 1208, 1343, 1621, 1952]);
