/** A node of a cluster as far as its connections go: on real sockets, with what it was told. */
import {createClock, createRandom, createTimers} from '#server/platform/real/clock.ts';
import {plainSockets} from './links/socket-security.ts';
import {PeerLinks, type PeerLinksOptions} from './peer-links.ts';
import type {PeerAddress, PeerIntroduction} from './peer-transport.ts';

export const loopback = '127.0.0.1';

export class LinkedNode {
  readonly id: string;
  readonly links: PeerLinks;
  /** Everything it was told or logged, a line each. */
  readonly told: string[] = [];
  port = 0;
  readonly #waiting = new Set<() => void>();

  constructor(id: string, options: Partial<PeerLinksOptions> = {}) {
    this.id = id;
    this.links = new PeerLinks({
      clock: createClock(),
      timers: createTimers(),
      random: createRandom(),
      logger: {
        log: (level, event, fields) => this.#tell(`${level} ${event} ${JSON.stringify(fields)}`),
      },
      lookUp: async host => [host],
      security: plainSockets,
      cluster: 'c',
      id,
      introduce: () => introductionOf(id),
      token: 'secret',
      judge: () => undefined,
      allowList: undefined,
      messageBytesMax: 2 ** 27,
      queueBytesMax: 2 ** 25,
      ...options,
    });
    this.links.listen({
      message: (from, bytes) => this.#tell(`${from} says ${bytes.toString('utf8', 0, 40)}`),
      connected: peer => this.#tell(`connected ${peer}`),
      lost: peer => this.#tell(`lost ${peer}`),
      rejected: (_, reason) => this.#tell(`rejected: ${reason}`),
    });
  }

  async start(): Promise<this> {
    this.port = await this.links.listenOn(loopback, 0);
    return this;
  }

  get address(): PeerAddress {
    return {id: this.id, host: loopback, port: this.port};
  }

  say(to: LinkedNode, text: string): boolean {
    return this.links.send(to.id, [Buffer.from(text.slice(0, 2)), Buffer.from(text.slice(2))]);
  }

  /** Resolves once it was told so. */
  async hears(line: string | RegExp): Promise<void> {
    while (!this.told.some(told => (typeof line === 'string' ? told === line : line.test(told)))) {
      await new Promise<void>(resolve => this.#waiting.add(resolve));
    }
  }

  #tell(line: string): void {
    this.told.push(line);
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resume of waiting) resume();
  }
}

export function introductionOf(
  id: string,
  changed: Partial<PeerIntroduction> = {},
): PeerIntroduction {
  return {
    serverName: id,
    formats: {from: 1, to: 1},
    release: '26.11.1',
    logId: `log of ${id}`,
    httpPort: 2480,
    httpsPort: undefined,
    ...changed,
  };
}
