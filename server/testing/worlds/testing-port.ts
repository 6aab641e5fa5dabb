/** A program that draws a port, tells it to its parent and lives as long as that, or is killed. */
import {freePort} from './free-port.ts';

// Whoever awaits it keeps the connection to the parent, and with it the process.
process.on('disconnect', () => undefined);
process.send?.(await freePort());
