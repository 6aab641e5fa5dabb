/**
 * `links`: what the connections between two servers carry, against bare sockets of the system:
 * small and large messages one way, and a round trip of a message that is answered.
 *
 * The other end is a process of its own: this file, started with the port of ours. Both ways carry
 * the same bytes in the same pieces; the bare one has no frames, no checksums and no limits.
 */
import {type ChildProcessByStdio, spawn} from 'node:child_process';
import {EventEmitter, once} from 'node:events';
import {type AddressInfo, connect, createServer, type Socket} from 'node:net';
import type {Readable, Writable} from 'node:stream';
import {createClock, createRandom, createTimers} from '#server/platform/real/clock.ts';
import {plainSockets} from '#server/replication/links/socket-security.ts';
import {PeerLinks} from '#server/replication/links/peer-links.ts';
import type {Report} from '../report.ts';
import type {BenchOptions} from '../bench-options.ts';

const loopback = '127.0.0.1';
const queueBytesMax = 40 * 2 ** 20;
const headBytes = 20;
const roundTrips = 5_000;
const answered = 0x65;

const points = [
  {bytes: 200, perTurn: 1},
  {bytes: 200, perTurn: 64},
  {bytes: 20_000, perTurn: 16},
  {bytes: 2 ** 20, perTurn: 4},
] as const;

type Child = ChildProcessByStdio<Writable, Readable, null>;

/** One of the two ways to the other end. */
interface Way {
  readonly queuedBytes: () => number;
  readonly send: (pieces: readonly Uint8Array[]) => void;
  /** Calls `heard` with whatever comes back. */
  readonly onAnswer: (heard: () => void) => void;
}

export async function linksClass(report: Report, options: BenchOptions): Promise<void> {
  const end = await OtherEnd.start();
  try {
    for (const {bytes, perTurn} of points) {
      const rates = {ours: [] as number[], theirs: [] as number[]};
      for (let round = 0; round < options.rounds; round++) {
        for (const side of ['ours', 'theirs'] as const) {
          rates[side].push(await end.rate(end[side], {bytes, perTurn, seconds: options.seconds}));
        }
      }
      report.add({
        class: 'links',
        point: `${bytes} bytes, ${perTurn} a turn`,
        unit: 'MB/s',
        ...rates,
        peer: 'bare socket',
        durability: 'none',
        notes: {messagesPerSecond: Math.round(((rates.ours.at(-1) ?? 0) * 1e6) / bytes)},
      });
    }
    const times = {ours: [] as number[], theirs: [] as number[]};
    for (let round = 0; round < options.rounds; round++) {
      for (const side of ['ours', 'theirs'] as const) times[side].push(await roundTrip(end[side]));
    }
    const point = '200 bytes there and back, median';
    report.add({
      class: 'links',
      point,
      unit: 'us',
      ...times,
      peer: 'bare socket',
      durability: 'none',
    });
  } finally {
    await end.close();
  }
}

/** Median of many, in microseconds. */
async function roundTrip(way: Way): Promise<number> {
  const message = [Buffer.alloc(headBytes, answered), Buffer.alloc(200 - headBytes, answered)];
  const times: number[] = [];
  for (let count = 0; count < roundTrips; count++) {
    const startedAt = performance.now();
    const heard = new Promise<void>(resolve => way.onAnswer(resolve));
    way.send(message);
    await heard;
    times.push(performance.now() - startedAt);
  }
  times.sort((one, other) => one - other);
  return (times[roundTrips >> 1] ?? 0) * 1_000;
}

/** The process at the other end and the two ways to it. */
class OtherEnd {
  readonly ours: Way;
  readonly theirs: Way;
  readonly #child: Child;
  readonly #links: PeerLinks;
  readonly #socket: Socket;

  private constructor(child: Child, links: PeerLinks, socket: Socket, answers: EventEmitter) {
    this.#child = child;
    this.#links = links;
    this.#socket = socket;
    this.ours = {
      queuedBytes: () => links.connections()[0]?.queuedBytes ?? 0,
      send: pieces => void links.send('other', pieces),
      onAnswer: heard => answers.once('message', heard),
    };
    this.theirs = {
      queuedBytes: () => socket.writableLength,
      send: pieces => {
        if (socket.writableLength > queueBytesMax) return;
        socket.cork();
        for (const piece of pieces) socket.write(piece);
        process.nextTick(() => socket.uncork());
      },
      onAnswer: heard => void socket.once('data', heard),
    };
  }

  static async start(): Promise<OtherEnd> {
    const connected = Promise.withResolvers<void>();
    const answers = new EventEmitter();
    const links = openLinks('one', connected.resolve, () => void answers.emit('message'));
    const port = await links.listenOn(loopback, 0);
    const args = ['--conditions=source', import.meta.filename, String(port)];
    const child = spawn(process.execPath, args, {stdio: ['pipe', 'pipe', 'inherit']});
    const [theirs = 0, bare = 0] = (await lineOf(child.stdout)).split(' ').map(Number);
    links.setPeers([{id: 'other', host: loopback, port: theirs}]);
    await connected.promise;
    const socket = connect(bare, loopback);
    socket.setNoDelay(true);
    await once(socket, 'connect');
    return new OtherEnd(child, links, socket, answers);
  }

  /** Megabytes a second that arrived. */
  async rate(
    way: Way,
    {bytes, perTurn, seconds}: {bytes: number; perTurn: number; seconds: number},
  ): Promise<number> {
    const pieces = [Buffer.alloc(headBytes), Buffer.alloc(bytes - headBytes)];
    await this.#arrived();
    const startedAt = performance.now();
    const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve));
    while (performance.now() - startedAt < seconds * 1_000) {
      for (let count = 0; count < perTurn; count++) way.send(pieces);
      await turn();
    }
    while (way.queuedBytes() > 0) await turn();
    const arrived = await this.#arrived();
    return arrived / 1e3 / (performance.now() - startedAt);
  }

  async close(): Promise<void> {
    this.#socket.destroy();
    this.#child.stdin.end();
    await this.#links.close();
  }

  /** Bytes since the last question. */
  async #arrived(): Promise<number> {
    this.#child.stdin.write('?');
    return Number(await lineOf(this.#child.stdout));
  }
}

/** The other process: counts what arrives, and sends back what asks for it. */
async function beOtherEnd(firstPort: number): Promise<void> {
  let arrived = 0;
  const links = openLinks(
    'other',
    () => undefined,
    bytes => {
      arrived += bytes.length;
      if (bytes[0] === answered) links.send('one', [bytes]);
    },
  );
  const bare = createServer(socket => {
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    socket.on('data', bytes => {
      arrived += bytes.length;
      if (bytes[0] === answered) socket.write(bytes);
    });
  });
  bare.listen(0, loopback);
  await once(bare, 'listening');
  const port = await links.listenOn(loopback, 0);
  links.setPeers([{id: 'one', host: loopback, port: firstPort}]);
  process.stdout.write(`${port} ${(bare.address() as AddressInfo).port}\n`);
  process.stdin.on('data', () => {
    process.stdout.write(`${arrived}\n`);
    arrived = 0;
  });
  await once(process.stdin, 'end');
  bare.close();
  await links.close();
}

function openLinks(id: string, connected: () => void, message: (bytes: Buffer) => void): PeerLinks {
  const nothing = (): undefined => undefined;
  const links = new PeerLinks({
    clock: createClock(),
    timers: createTimers(),
    random: createRandom(),
    logger: {log: nothing},
    lookUp: async host => [host],
    security: plainSockets,
    cluster: 'bench',
    id,
    introduce: () => ({
      serverName: id,
      formats: {from: 1, to: 1},
      release: 'bench',
      logId: id,
      httpPort: 0,
      httpsPort: undefined,
    }),
    token: 'bench',
    judge: nothing,
    allowList: undefined,
    messageBytesMax: 2 ** 27,
    queueBytesMax,
  });
  links.listen({
    message: (_, bytes) => message(bytes),
    connected,
    lost: nothing,
    rejected: nothing,
  });
  return links;
}

async function lineOf(stream: Readable): Promise<string> {
  const [line] = await once(stream, 'data');
  return String(line).trim();
}

if (process.argv[1] === import.meta.filename) await beOtherEnd(Number(process.argv[2]));
