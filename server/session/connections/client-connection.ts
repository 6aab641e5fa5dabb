/** The connection of a client: what began by it ends with it. */
import {setMaxListeners} from 'node:events';
import type {ClientConnection, RequestContext} from '../session.ts';

/** @param ended - Ends what the connection had under way; called once. */
export function openConnection(
  context: RequestContext,
  ended: (connection: ClientConnection) => void,
): ClientConnection {
  const controller = new AbortController();
  const {signal} = controller;
  // Each of its statements may listen.
  setMaxListeners(0, signal);
  const connection: ClientConnection = {
    signal,
    get context() {
      return {...context, signal, connection};
    },
    close: () => {
      if (signal.aborted) return;
      controller.abort();
      ended(connection);
    },
  };
  return connection;
}
