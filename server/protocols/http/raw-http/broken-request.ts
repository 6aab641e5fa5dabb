/**
 * Bytes on a connection that are no HTTP: what becomes of the connection, and of a request that is
 * still being carried out on it.
 *
 * A complete request in front of the nonsense gets the answer that it earns, then the connection
 * ends: to answer 400 for a write that happens would be a lie. A batch whose body breaks off tells
 * what it has stored. Anything else is answered as node would, with a body that says why.
 */
import type {Socket} from 'node:net';
import type {HttpContext} from '../context.ts';

const statusLines: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** Nobody could read an answer before the handshake of TLS is done. */
function shakesHands(socket: Socket): boolean {
  return 'secureConnecting' in socket && socket.secureConnecting === true;
}

/** Answers what the `clientError` of node's server tells. */
export function answerBroken(context: HttpContext, error: Error, socket: Socket): void {
  const code = 'code' in error ? String(error.code) : '';
  if (!socket.writable || code === 'ECONNRESET' || shakesHands(socket)) {
    socket.destroy();
    return;
  }
  const exchange = context.begun.get(socket);
  const response = exchange?.response;
  if (exchange !== undefined && response !== undefined && !response.writableFinished) {
    if (exchange.request.complete) {
      response.once('finish', () => socket.destroySoon());
      return;
    }
    if (exchange.onBodyLost !== undefined) return exchange.onBodyLost();
    if (response.headersSent) {
      socket.destroy();
      return;
    }
  }
  const line = statusLines[code] ?? '400 Bad Request';
  const body = JSON.stringify({error: line.slice(4), requestId: context.nextRequestId()});
  socket.end(
    `HTTP/1.1 ${line}\r\nConnection: close\r\nContent-Type: application/json\r\n` +
      `X-Svc-Commit-Index: ${context.service.readableIndex}\r\n` +
      `Content-Length: ${body.length}\r\n\r\n${body}`,
    () => socket.destroySoon(),
  );
}
