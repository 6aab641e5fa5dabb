/** One connection of a test: sends bytes as they are, gives answers one after the other. */
import {connect, type Socket} from 'node:net';
import {connect as connectSecurely} from 'node:tls';

export class ByteClient {
  readonly socket: Socket;
  /** Settled when the connection is over. */
  readonly ended: Promise<void>;
  #received = '';
  #isEnded = false;
  #wake: () => void = () => {};

  /** @param isSecure - By TLS, whatever certificate the server shows. */
  constructor(port: number, {isSecure = false}: {readonly isSecure?: boolean} = {}) {
    const host = '127.0.0.1';
    this.socket = isSecure
      ? connectSecurely({port, host, rejectUnauthorized: false})
      : connect({port, host, noDelay: true});
    this.socket.setEncoding('latin1');
    this.socket.on('data', text => {
      this.#received += String(text);
      this.#wake();
    });
    this.socket.on('error', () => {});
    this.ended = new Promise(resolve => {
      this.socket.on('close', () => {
        this.#isEnded = true;
        this.#wake();
        resolve();
      });
    });
  }

  async send(...pieces: readonly string[]): Promise<this> {
    for (const piece of pieces) {
      await new Promise<void>(resolve => this.socket.write(piece, 'latin1', () => resolve()));
      // The server reads what was sent before the next piece goes out.
      await new Promise(resolve => setImmediate(resolve));
    }
    return this;
  }

  /** The next answer, head and body; what there is of it when the connection ended. */
  async answer(): Promise<string> {
    for (;;) {
      const end = answerEnd(this.#received);
      if (end >= 0) {
        const answer = this.#received.slice(0, end);
        this.#received = this.#received.slice(end);
        return answer;
      }
      if (this.#isEnded) return this.rest();
      await new Promise<void>(resolve => {
        this.#wake = resolve;
      });
    }
  }

  /** Everything that has come and was not taken. */
  rest(): string {
    const rest = this.#received;
    this.#received = '';
    return rest;
  }

  /** Resolves when what has come and was not taken is so, or the connection ended. */
  async received(isEnough: (text: string) => boolean): Promise<void> {
    while (!isEnough(this.#received) && !this.#isEnded) {
      await new Promise<void>(resolve => {
        this.#wake = resolve;
      });
    }
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  close(): void {
    this.socket.destroy();
  }
}

function answerEnd(text: string): number {
  const head = text.indexOf('\r\n\r\n');
  if (head < 0) return -1;
  const length = /\r\nContent-Length: (\d+)\r\n/.exec(text.slice(0, head + 2))?.[1];
  if (length !== undefined) {
    const end = head + 4 + Number(length);
    return text.length >= end ? end : -1;
  }
  if (!text.slice(0, head).includes('Transfer-Encoding: chunked')) return head + 4;
  const last = text.indexOf('\r\n0\r\n\r\n', head);
  return last < 0 ? -1 : last + 7;
}
