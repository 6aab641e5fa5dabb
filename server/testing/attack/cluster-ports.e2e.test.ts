/**
 * The ports between members, attacked by a stranger on an allowed address: floods of silence, of
 * halves, of giants, of frames that come byte by byte, of other releases, of other clusters, of
 * wrong tokens, of nonsense, and of requests of other protocols. All the while the cluster writes,
 * its leader stays, a member that restarts is let in, and neither memory nor logs grow.
 *
 * `make attack` floods longer: SECONDS.
 */
import assert from 'node:assert/strict';
import {readFileSync, statSync} from 'node:fs';
import {connect, type Socket} from 'node:net';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {createRandom} from '#server/platform/real/clock.ts';
import {FrameReader, FrameWriter} from '#server/replication/links/frame.ts';
import {Handshake} from '#server/replication/links/handshake.ts';
import {untilLed} from '../cluster/cluster-system.ts';
import {startSvcCluster} from '../cluster/svc-cluster.ts';
import {eventually} from '../time/eventually.ts';

const floodMillis = 1_000 * Number(process.env['SECONDS'] ?? 4);
/** Connections that are open at once, at each member. */
const atOnce = 350;
const growthBytesMax = 200 << 20;
const logBytesMax = 256 << 10;

const cluster = await startSvcCluster({size: 3});
after(() => cluster.dispose());
const leader = await untilLed(cluster);

interface Port {
  readonly host: string;
  readonly port: number;
}

type Attack = (socket: Socket, round: number) => void;

function helloOf(from: string, changed: {readonly cluster?: string; readonly to?: string}) {
  return new Handshake({
    side: 'dialler',
    own: {
      cluster: 'svc',
      from,
      to: '',
      introduction: {
        serverName: from,
        release: '26.11.1',
        logId: 'made up',
        formats: {from: 1, to: 1_000},
        httpPort: 1,
        httpsPort: undefined,
      },
      ...changed,
    },
    token: 'a guess',
    random: createRandom(),
  });
}

function framed(kind: 'hello' | 'proof' | 'message', payload: Uint8Array): Buffer {
  return Buffer.concat(new FrameWriter().frame(kind, [payload]));
}

/** A byte of a frame, changed behind its checksum. */
function spoilt(at: number, value: number): Buffer {
  const frame = framed('hello', helloOf('x', {}).hello);
  frame.writeUInt8(value, at);
  return frame;
}

const attacks: Readonly<Record<string, Attack>> = {
  silence: () => {},
  'half of a head': socket => void socket.write(Buffer.from([0x53, 0x56, 0x43])),
  'byte by byte': socket => {
    const bytes = framed('hello', helloOf('x', {}).hello);
    let at = 0;
    const drip = setInterval(() => {
      if (at < bytes.length && socket.writable) socket.write(bytes.subarray(at, ++at));
      else clearInterval(drip);
    }, 20);
    socket.once('close', () => clearInterval(drip));
  },
  'a giant': socket => {
    const frame = framed('hello', Buffer.alloc(100));
    frame.writeUInt32LE(0xffff_ffff, 8);
    socket.write(frame);
  },
  'other releases': (socket, round) => void socket.write(spoilt(4, round % 256)),
  'kinds that are none': (socket, round) => void socket.write(spoilt(5, round % 256)),
  'a message before all': socket => void socket.write(framed('message', Buffer.from('append'))),
  'other clusters': (socket, round) => {
    const {hello} = helloOf(`x_${round}`, {cluster: `${'c'.repeat(200)}${round}`});
    socket.write(framed('hello', hello));
  },
  'other addressees': (socket, round) => {
    socket.write(framed('hello', helloOf(`x_${round}`, {to: `${'y'.repeat(200)}${round}`}).hello));
  },
  'deep JSON': socket => {
    const payload = Buffer.concat([Buffer.alloc(16), Buffer.from('['.repeat(4_000))]);
    socket.write(framed('hello', payload));
  },
  'wrong tokens': (socket, round) => {
    const handshake = helloOf(`x_${round}`, {});
    const reader = new FrameReader(1 << 16);
    const writer = new FrameWriter();
    const write = (kind: 'hello' | 'proof', bytes: Buffer): void => {
      socket.write(Buffer.concat(writer.frame(kind, [bytes])));
    };
    socket.on('data', bytes => {
      reader.feed(bytes);
      const frame = reader.next();
      if (frame === undefined || 'fault' in frame || frame.kind !== 'hello') return;
      handshake.hear(frame.payload);
      write('proof', handshake.proof());
    });
    write('hello', handshake.hello);
  },
  'a request of HTTP': socket => {
    socket.write('GET /api/v1/cluster HTTP/1.1\r\nHost: x\r\n\r\n');
  },
  'a hello of TLS': socket => void socket.write(Buffer.from('16030100c8010000c40303', 'hex')),
  noise: socket => {
    const bytes = Buffer.alloc(60_000);
    createRandom().fill(bytes);
    socket.write(bytes);
  },
};

/** Keeps so many connections open at a port, new ones for those that the server ended. */
async function flood({host, port}: Port, until: number): Promise<number> {
  const kinds = Object.values(attacks);
  let opened = 0;
  const keepOn = async (): Promise<void> => {
    while (performance.now() < until) {
      const round = opened++;
      const socket = connect({host, port, allowHalfOpen: round % 2 === 0});
      socket.on('error', () => {});
      socket.on('data', () => {});
      socket.once('connect', () => kinds[round % kinds.length]?.(socket, round));
      const over = new Promise(resolve => socket.once('close', resolve));
      const late = new Promise(resolve => setTimeout(resolve, 1_000 + (round % 7) * 300));
      await Promise.race([over, late]);
      socket.destroy();
    }
  };
  await Promise.all(Array.from({length: atOnce}, keepOn));
  return opened;
}

function residentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return 1_024 * Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]);
}

async function statusOf(url: string): Promise<Readonly<Record<string, unknown>>> {
  const client = cluster.clientOf(cluster.members.find(member => member.url === url) ?? leader);
  return await client.cluster('GET', '');
}

test('a flood of strangers at the ports of members takes nothing from the cluster', async t => {
  const client = cluster.clientOf(leader);
  await client.createDatabase('d');
  await client.command('d', 'CREATE DOCUMENT TYPE V');
  await client.command('d', 'INSERT INTO V SET n = 0');
  const ports: Port[] = [];
  for (const {url, host} of cluster.members) {
    const {localPeerId} = await statusOf(url);
    ports.push({host, port: Number(String(localPeerId).split('_').at(-1))});
  }
  const {currentTerm} = await statusOf(leader.url);
  const before = cluster.members.map(({process}) => residentBytes(process.pid));
  const logs = (): number[] =>
    cluster.members.map(({name}) => statSync(join(cluster.folder, `${name}.log`)).size);
  const logsBefore = logs();
  const until = performance.now() + floodMillis;
  const floods = Promise.all(ports.map(port => flood(port, until)));
  const [restarted] = cluster.members.filter(member => member !== leader);
  assert.ok(restarted !== undefined);
  const restarts = (async () => {
    await restarted.process.stop();
    restarted.process.start();
    await eventually('it is let in and ready', async () => {
      return (await fetch(`${restarted.url}/api/v1/ready`)).status === 204;
    });
  })();
  let rows = 1;
  let slowest = 0;
  while (performance.now() < until) {
    const begunAt = performance.now();
    await client.command('d', `INSERT INTO V SET n = ${rows}`);
    rows += 1;
    slowest = Math.max(slowest, performance.now() - begunAt);
    await new Promise(resolve => setTimeout(resolve, 20));
  }
  const opened = await floods;
  await restarts;
  const grown = cluster.members.map(
    ({process}, at) => residentBytes(process.pid) - (before[at] ?? 0),
  );
  const logged = logs().map((bytes, at) => bytes - (logsBefore[at] ?? 0));
  t.diagnostic(
    `${opened.join(', ')} connections, ${rows} writes, the slowest ${Math.round(slowest)} ms; ` +
      `grown by ${grown.map(bytes => bytes >> 20).join(', ')} MB, ` +
      `logs by ${logged.join(', ')} bytes`,
  );
  assert.equal((await statusOf(leader.url))['currentTerm'], currentTerm, 'nobody else leads');
  assert.ok(slowest < 5_000, `${slowest} ms`);
  for (const bytes of grown) assert.ok(bytes < growthBytesMax, `${bytes} bytes`);
  for (const bytes of logged) assert.ok(bytes < logBytesMax, `${bytes} bytes of log`);
  const {result} = await client.query('d', 'SELECT count(*) AS n FROM V');
  assert.deepEqual(result, [{n: rows}]);
});
