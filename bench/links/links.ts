/**
 * What the connections between two peers carry on this machine: small messages and large ones, one
 * way, between two processes on the loopback; and a round trip of a message that is answered.
 *
 *   node --conditions=source bench/links/links.ts
 *
 * Prints one line each. The second process is this file, started with the first one's port.
 */
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {createClock, createRandom, createTimers} from '#server/platform/real/clock.ts';
import {plainSockets} from '#server/replication/links/socket-security.ts';
import {PeerLinks} from '#server/replication/peer-links.ts';

const loopback = '127.0.0.1';
const seconds = 3;
const echo = 0x65;

interface Measured {
  readonly links: PeerLinks;
  readonly port: number;
  readonly connected: Promise<void>;
}

async function open(id: string, message: (bytes: Buffer) => void): Promise<Measured> {
  const links = new PeerLinks({
    clock: createClock(),
    timers: createTimers(),
    random: createRandom(),
    logger: {log: () => undefined},
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
    judge: () => undefined,
    allowList: undefined,
    messageBytesMax: 2 ** 27,
    queueBytesMax: 40 * 2 ** 20,
  });
  const connected = Promise.withResolvers<void>();
  links.listen({
    message: (_, bytes) => message(bytes),
    connected: () => connected.resolve(),
    lost: () => undefined,
    rejected: () => undefined,
  });
  const port = await links.listenOn(loopback, 0);
  return {links, port, connected: connected.promise};
}

/** The other process: answers messages that begin so, and counts the others. */
async function serve(firstPort: number): Promise<void> {
  let count = 0;
  let bytesRead = 0;
  const {links, port} = await open('second', bytes => {
    if (bytes[0] === echo) {
      links.send('first', [bytes]);
      return;
    }
    count++;
    bytesRead += bytes.length;
  });
  links.setPeers([{id: 'first', host: loopback, port: firstPort}]);
  process.stdout.write(`${port}\n`);
  // What arrived since the last question.
  process.stdin.on('data', () => {
    process.stdout.write(`${JSON.stringify({count, bytesRead})}\n`);
    count = 0;
    bytesRead = 0;
  });
  await once(process.stdin, 'end');
  await links.close();
}

async function measure(): Promise<void> {
  let answered = (): void => undefined;
  const {links, port, connected} = await open('first', () => answered());
  const child = spawn(process.execPath, ['--conditions=source', import.meta.filename, `${port}`], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const line = async (): Promise<string> => String((await once(child.stdout, 'data'))[0]);
  links.setPeers([{id: 'second', host: loopback, port: Number(await line())}]);
  await connected;
  const ask = async (): Promise<{count: number; bytesRead: number}> => {
    child.stdin.write('?');
    return JSON.parse(await line()) as {count: number; bytesRead: number};
  };

  const oneWay = async (bytes: number, perTurn: number): Promise<void> => {
    const head = Buffer.alloc(20);
    const body = Buffer.alloc(bytes - head.length);
    const begin = performance.now();
    while (performance.now() - begin < seconds * 1_000) {
      for (let sent = 0; sent < perTurn; sent++) links.send('second', [head, body]);
      await new Promise(resolve => setImmediate(resolve));
    }
    while ((links.connections()[0]?.queuedBytes ?? 0) > 0) {
      await new Promise(resolve => setImmediate(resolve));
    }
    const {count, bytesRead} = await ask();
    const took = (performance.now() - begin) / 1_000;
    const rate = `${Math.round(count / took)} messages/s, ${Math.round(bytesRead / took / 1e6)} MB/s`;
    process.stdout.write(`${bytes} bytes, ${perTurn} a turn: ${rate}\n`);
  };
  await oneWay(200, 1);
  await oneWay(200, 64);
  await oneWay(20_000, 16);
  await oneWay(2 ** 20, 4);

  const rounds = 20_000;
  const message = Buffer.alloc(200, echo);
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const begin = performance.now();
    await new Promise<void>(resolve => {
      answered = resolve;
      links.send('second', [message]);
    });
    times.push(performance.now() - begin);
  }
  times.sort((a, b) => a - b);
  const at = (share: number): string =>
    ((times[Math.floor(rounds * share)] ?? 0) * 1_000).toFixed(0);
  process.stdout.write(`round trip of ${rounds}: p50 ${at(0.5)} us, p99 ${at(0.99)} us\n`);
  child.stdin.end();
  await links.close();
}

const firstPort = process.argv[2];
await (firstPort === undefined ? measure() : serve(Number(firstPort)));
