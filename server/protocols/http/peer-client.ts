/**
 * What one member asks another over HTTP: small questions, answered at once or not at all.
 *
 * The cluster's token vouches for the request. An answer that does not come in time, is too long
 * or is no JSON is an error that names the peer and never the token.
 */
import {Agent, request as sendRequest} from 'node:http';
import {encodedUser} from './forwarded-headers.ts';

export interface PeerQuestion {
  /** `host:port`, as in the status record. */
  readonly httpAddress: string;
  readonly method: 'GET' | 'POST';
  /** Below `/api/v1`. */
  readonly path: string;
  readonly token: string;
  /** Whom the request speaks for; absent for what members alone may ask. */
  readonly user?: string;
  readonly body?: unknown;
  readonly timeoutMs: number;
}

export interface PeerAnswer {
  readonly status: number;
  readonly json: unknown;
}

const answerBytesMax = 16 * 1024 * 1024;

export class PeerClient {
  readonly #agent = new Agent({keepAlive: true, maxSockets: 16, maxFreeSockets: 4});

  /** Ends the kept connections. */
  close(): void {
    this.#agent.destroy();
  }

  /** Rejects with an Error whose message is for people: who did not answer, and why. */
  ask(question: PeerQuestion): Promise<PeerAnswer> {
    const {httpAddress, method, path, timeoutMs, body} = question;
    const sent = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    return new Promise((resolve, reject) => {
      const request = sendRequest(`http://${httpAddress}/api/v1${path}`, {
        method,
        agent: this.#agent,
        headers: headersOf(question, sent),
        // Of the whole question: a peer that trickles its answer is as silent as a dead one.
        signal: AbortSignal.timeout(timeoutMs),
      });
      const fail = (reason: string): void =>
        reject(new Error(`${httpAddress} did not answer: ${reason}`));
      request.on('error', error => {
        fail(error.name === 'AbortError' ? `silent for ${timeoutMs} ms` : error.message);
      });
      request.on('response', response => {
        const pieces: Buffer[] = [];
        let bytes = 0;
        response.on('data', (piece: Buffer) => {
          bytes += piece.length;
          if (bytes > answerBytesMax) response.destroy(new Error('its answer is too long'));
          else pieces.push(piece);
        });
        response.on('error', error => fail(error.message));
        response.on('end', () => {
          const json = parsed(Buffer.concat(pieces));
          if (json === undefined) fail('its answer is no JSON');
          else resolve({status: response.statusCode ?? 0, json: json.value});
        });
      });
      request.end(sent);
    });
  }
}

function headersOf(
  {token, user}: PeerQuestion,
  sent: Buffer | undefined,
): Record<string, string | number> {
  return {
    'X-Svc-Cluster-Token': token,
    ...(user === undefined ? {} : {'X-Svc-Forwarded-User': encodedUser(user)}),
    ...(sent === undefined
      ? {}
      : {'Content-Type': 'application/json', 'Content-Length': sent.length}),
  };
}

/** An empty body is no value, and fine. */
function parsed(bytes: Buffer): {readonly value: unknown} | undefined {
  if (bytes.length === 0) return {value: undefined};
  try {
    return {value: JSON.parse(bytes.toString('utf8'))};
  } catch {
    return undefined;
  }
}
