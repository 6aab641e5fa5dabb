/** The end of a connection that has said nothing for long enough. */
import type {Socket} from 'node:net';
import type {Timers} from '#server/platform/clock.ts';

/**
 * Ends a connection unless something comes in this turn. A busy thread looks at its timers before
 * it looks at its connections: what lies there already was sent in time, and has to be read.
 */
export async function endIfSilent(socket: Socket, timers: Pick<Timers, 'yield'>): Promise<void> {
  const {bytesRead} = socket;
  await timers.yield();
  if (socket.bytesRead === bytesRead) socket.destroy();
}
