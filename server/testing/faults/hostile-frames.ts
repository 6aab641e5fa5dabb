/** What a client of `/ws` does wrong once it is let in, as bytes of frames. */
import assert from 'node:assert/strict';
import type {ByteClient} from '../worlds/byte-client.ts';
import {asked, bytesOf, type SurfaceWorld} from './surfaces.ts';

const close = 0x88;
/** Turns of 10,000 pings: far more pongs than the buffers of a connection hold. */
const pingTurns = 100;
const mask = Buffer.from([1, 2, 3, 4]);

/** One masked frame as text of one byte a character. */
function frame(first: number, payload: Buffer): string {
  const length = payload.length;
  const head =
    length < 126
      ? Buffer.from([first, 0x80 | length])
      : Buffer.from([first, 0x80 | 126, length >> 8, length & 0xff]);
  const masked = payload.map((byte, at) => byte ^ (mask[at % 4] ?? 0));
  return Buffer.concat([head, mask, masked]).toString('latin1');
}

/** An open connection, its answer to the upgrade taken. */
async function opened(world: SurfaceWorld, behind = ''): Promise<ByteClient> {
  const client = await world.client('ws').send(bytesOf('ws') + behind);
  assert.match(await client.answer(), asked.ws.done);
  return client;
}

/** The code with which the server closes, once it has; undefined without one. */
async function closeCode(client: ByteClient): Promise<number | undefined> {
  await client.ended;
  const bytes = Buffer.from(client.rest(), 'latin1');
  const at = bytes.lastIndexOf(close);
  return at < 0 || bytes.length < at + 4 ? undefined : bytes.readUInt16BE(at + 2);
}

/** Bytes behind the upgrade are frames, never a second request. */
export async function requestsBehindUpgrade(world: SurfaceWorld): Promise<void> {
  const client = await opened(world, bytesOf('prometheus'));
  assert.equal(await closeCode(client), 1002);
}

/** A frame or a message that never ends, or is longer than it may be. */
export async function endlessFrames(world: SurfaceWorld): Promise<void> {
  const pieces = await opened(world);
  const piece = Buffer.alloc(1_000, 'a');
  await pieces.send(frame(0x01, piece), ...Array.from({length: 100}, () => frame(0x00, piece)));
  assert.equal(await closeCode(pieces), 1009);
  const huge = await opened(world);
  await huge.send(Buffer.from([0x81, 0xff, 0, 0, 0, 1, 0, 0, 0, 0]).toString('latin1'));
  assert.equal(await closeCode(huge), 1009);
  const many = await opened(world);
  await many.send(frame(0x01, piece), frame(0x00, Buffer.alloc(0)).repeat(300_000));
  assert.ok([1002, 1008, 1009].includes((await closeCode(many)) ?? 0));
}

/** Half of a frame, and nothing behind it: not even a pong. */
export async function halfFrame(world: SurfaceWorld): Promise<void> {
  const half = await opened(world);
  await half.send(frame(0x81, Buffer.alloc(100, 'a')).slice(0, 20));
  await half.ended;
}

/** A frame that says it is compressed, or is none. */
export async function brokenFrames(world: SurfaceWorld): Promise<void> {
  const text = Buffer.from('{}');
  const broken = [
    frame(0xc1, text),
    frame(0xa1, text),
    frame(0x83, text),
    frame(0x80, text),
    frame(0x89, Buffer.alloc(126)),
    Buffer.from([0x81, 2, 0x7b, 0x7d]).toString('latin1'),
  ];
  for (const bytes of broken) {
    const client = await opened(world);
    await client.send(bytes);
    assert.equal(await closeCode(client), 1002, JSON.stringify(bytes.slice(0, 4)));
  }
  const invalid = await opened(world);
  await invalid.send(frame(0x81, Buffer.from([0xff, 0xfe])));
  assert.equal(await closeCode(invalid), 1007);
}

/** Who sends pings and reads no pong makes the server keep next to none for him. */
export async function pingFlood(world: SurfaceWorld): Promise<void> {
  const client = await opened(world);
  client.socket.pause();
  const pings = frame(0x89, Buffer.alloc(125)).repeat(10_000);
  for (let turn = 0; turn < pingTurns; turn += 1) {
    await new Promise<void>(resolve => client.socket.write(pings, 'latin1', () => resolve()));
  }
  let bytes = 0;
  client.socket.on('data', text => (bytes += String(text).length));
  client.socket.resume();
  await client.send(frame(close, Buffer.from([0x03, 0xe8])));
  await client.ended;
  // What the two sockets hold in the kernel, and not the pongs of a million pings.
  assert.ok(bytes < 32 << 20, `${bytes} bytes were kept for a reader who did not read`);
}
