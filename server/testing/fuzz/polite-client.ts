/**
 * An ordinary client that works beside the hostile ones: inserts and reads of its own records, one
 * at a time on one kept connection, all the time.
 *
 * It knows what it was told: an insert that was acknowledged must be read again with its value, one
 * that was refused must not be there. Its waits are the price that others pay for bad input.
 */
import http from 'node:http';
import {monitorEventLoopDelay} from 'node:perf_hooks';
import {authorization, hangMillis} from './fuzz-world.ts';

const pauseMillis = 10;

/** Runs from `start` until `stop`. */
export class PoliteClient {
  /** Inserts that the server acknowledged. */
  acknowledged = 0;
  /** What went wrong, in words; nothing ever should. */
  readonly complaints: string[] = [];
  readonly #port: number;
  readonly #queuedMillis: () => number;
  readonly #agent = new http.Agent({keepAlive: true, maxSockets: 1});
  #waits: number[] = [];
  readonly #delay = monitorEventLoopDelay({resolution: 10});
  #isStopping = false;
  #loop: Promise<void> = Promise.resolve();

  /** @param queuedMillis - How long the server's own thread was ready to run and did not. */
  constructor(port: number, queuedMillis: () => number) {
    this.#port = port;
    this.#queuedMillis = queuedMillis;
  }

  /** The schema that it needs. */
  static readonly schema = [
    'CREATE DOCUMENT TYPE Polite',
    'CREATE PROPERTY Polite.n LONG',
    'CREATE INDEX ON Polite (n) UNIQUE',
  ];

  start(): void {
    this.#isStopping = false;
    this.#delay.enable();
    this.#loop = this.#work();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#loop;
    this.#delay.disable();
    this.#agent.destroy();
  }

  /**
   * The longest wait since the last call, without what the server itself waited for a processor,
   * and the most that a timer of this process was late in that time, both in milliseconds.
   */
  takeLongest(): {readonly wait: number; readonly late: number} {
    const wait = this.#waits.reduce((most, one) => Math.max(most, one), 0);
    const late = this.#delay.max / 1e6;
    this.#waits = [];
    this.#delay.reset();
    return {wait, late};
  }

  async #work(): Promise<void> {
    for (let n = this.acknowledged; !this.#isStopping; n++) {
      try {
        const text = `text ${n}`;
        await this.#send('command', 'INSERT INTO Polite SET n = :n, text = :text', {n, text});
        this.acknowledged++;
        const read = Math.floor(n * 0.618) % (n + 1);
        const rows = await this.#send('query', 'SELECT text FROM Polite WHERE n = :n', {n: read});
        const expected = JSON.stringify([{text: `text ${read}`}]);
        if (JSON.stringify(rows) !== expected) {
          this.complaints.push(`record ${read} reads ${JSON.stringify(rows)}`);
        }
        await new Promise(resolve => setTimeout(resolve, pauseMillis));
      } catch (error) {
        this.complaints.push(String(error));
        return;
      }
    }
  }

  #send(route: 'command' | 'query', command: string, params: object): Promise<unknown> {
    const body = JSON.stringify({language: 'sql', command, params});
    const startedAt = performance.now();
    const queued = this.#queuedMillis();
    const {promise, resolve, reject} = Promise.withResolvers<unknown>();
    const request = http.request({
      host: '127.0.0.1',
      port: this.#port,
      agent: this.#agent,
      method: 'POST',
      path: `/api/v1/${route}/hostile`,
      headers: {Authorization: authorization, 'Content-Length': Buffer.byteLength(body)},
      timeout: hangMillis,
    });
    request.on('timeout', () => request.destroy(new Error(`no answer in time to ${command}`)));
    request.on('error', reject);
    request.on('response', response => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => (text += piece));
      response.on('error', reject);
      response.on('end', () => {
        this.#waits.push(performance.now() - startedAt - (this.#queuedMillis() - queued));
        if (response.statusCode === 200) resolve((JSON.parse(text) as {result: unknown}).result);
        else reject(new Error(`${command} answered ${response.statusCode} ${text}`));
      });
    });
    request.end(body);
    return promise;
  }
}
