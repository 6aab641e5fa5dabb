/**
 * Cleans up behind a lab, whatever its end: it is started before the lab, in a session of its own,
 * and waits for its standard input to end, which happens even when its parent is killed.
 *
 * Arguments: the folder of the lab. A line on standard input asks it to keep the logs.
 */
import {readFileSync} from 'node:fs';
import {LabFolder} from './lab/layout.ts';
import {removeLeftovers} from './lab/leftovers.ts';

const [, , path = ''] = process.argv;
// A signal to the whole group of a terminal is for the lab.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
const said = readFileSync(0, 'utf8');
await removeLeftovers(new LabFolder(path), said.includes('keep'));
