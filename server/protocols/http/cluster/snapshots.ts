/**
 * Snapshots for other members of the cluster: a hold with its manifest, then file by file.
 *
 * Between members alone, who show the cluster's token. A file is answered as it lies on the disk,
 * from any offset on (`Range: bytes=n-`), with the checksum of the whole file in four bytes behind
 * its last one: another thread reads along, so this one passes bytes on and computes nothing. Who
 * has a file of that name and size says so (`If-None-Match: "<checksum>"`) and is sent nothing
 * when it is the same one. Note 20.
 */
import {Refusal} from '#server/base/errors.ts';
import type {SnapshotContent, MemberSnapshotSource} from '#server/cluster/snapshot-source.ts';
import {byMember} from './cluster-call.ts';
import type {Exchange} from '../message/exchange.ts';
import {PlainFailure, clientGone} from '../message/failure.ts';
import type {Route} from '../router.ts';

export const snapshotRoutes: readonly Route[] = [
  {path: '/ha/checkpoint', operations: {POST: byMember(hold)}},
  {path: '/ha/checkpoint/{hold}', operations: {DELETE: byMember(release)}},
  {path: '/ha/checkpoint/{hold}/{id}/{file}', operations: {GET: byMember(sendFile)}},
];

const octets = 'application/octet-stream';
/** The length of the checksum after the bytes of a file; the most significant byte comes first. */
const checksumBytes = 4;
/** A file is read and sent in pieces of this size. */
export const pieceBytes = 1 << 20;

async function hold(exchange: Exchange): Promise<void> {
  const source = snapshotsIn(exchange);
  const body = await exchange.jsonBody();
  const receiver = body?.get('receiver');
  const atLeast = Number(body?.get('atLeast'));
  if (typeof receiver !== 'string' || !Number.isSafeInteger(atLeast) || atLeast < 0) {
    throw new PlainFailure(400, 'Invalid request', {detail: 'receiver and atLeast are needed'});
  }
  const held = await source.hold(receiver, atLeast);
  exchange.answer(200, held.manifest, undefined, ['X-Svc-Snapshot-Hold', held.hold]);
}

function release(exchange: Exchange): void {
  snapshotsIn(exchange).release(exchange.segments[2] ?? '');
  exchange.answerEmpty(204);
}

async function sendFile(exchange: Exchange): Promise<void> {
  const source = snapshotsIn(exchange);
  const [, , held = '', id = '', file = ''] = exchange.segments;
  const content = await source.open(held, Number(id), file);
  if (content === undefined) throw new PlainFailure(404, 'No such file of a snapshot');
  try {
    const known = exchange.header('if-none-match');
    if (known !== undefined && known === `"${written(await content.checksum())}"`) {
      return exchange.answerEmpty(304);
    }
    await stream(exchange, content, firstByte(exchange, content.bytes));
  } finally {
    await content.close();
  }
}

/** Two pieces: one is read while the other is on its way. */
async function stream(exchange: Exchange, content: SnapshotContent, from: number): Promise<void> {
  const {bytes} = content;
  const checksum = content.checksum();
  // A failure is looked at behind the bytes.
  checksum.catch(() => {});
  const range = `bytes ${from}-${bytes - 1}/${bytes}`;
  exchange.startStream(from > 0 ? 206 : 200, octets, [
    'Content-Length',
    String(bytes - from + checksumBytes),
    ...(from > 0 ? ['Content-Range', range] : []),
  ]);
  let isSent = Promise.resolve();
  const pieces = [Buffer.allocUnsafe(pieceBytes), Buffer.allocUnsafe(pieceBytes)] as const;
  for (let at = from, turn = 0; at < bytes; turn ^= 1) {
    const count = await content.read(pieces[turn === 0 ? 0 : 1], at);
    if (count === 0) throw new Refusal('database.operation', 'the file ended too early');
    at += count;
    await isSent;
    isSent = sent(exchange, pieces[turn === 0 ? 0 : 1].subarray(0, count));
    isSent.catch(() => {});
  }
  await isSent;
  const end = Buffer.alloc(checksumBytes);
  end.writeUInt32BE(await checksum);
  await exchange.endStream(end);
}

/** Resolves when the bytes are no longer needed. @throws {PlainFailure} when nobody takes them. */
export async function sent(exchange: Exchange, piece: Buffer): Promise<void> {
  const {response, context} = exchange;
  const idleMs = context.settings.get('svc.ha.snapshotWriteTimeout');
  if (response.destroyed) throw clientGone();
  await new Promise<void>((resolve, reject) => {
    const cancel = context.options.timers.after(idleMs, () => response.destroy());
    const finish = (then: () => void): void => {
      cancel();
      response.off('close', onClose);
      then();
    };
    const onClose = (): void => finish(() => reject(clientGone()));
    response.on('close', onClose);
    response.write(piece, error => finish(error ? () => reject(clientGone()) : resolve));
  });
}

/** The first byte that is asked for; only `bytes=n-` is known, anything else is the whole file. */
function firstByte(exchange: Exchange, bytes: number): number {
  const [, from] = /^bytes=(\d{1,15})-$/.exec(exchange.header('range') ?? '') ?? [];
  if (from === undefined) return 0;
  if (Number(from) < bytes) return Number(from);
  throw new PlainFailure(416, 'Range not satisfiable', {detail: `the file has ${bytes} bytes`});
}

function written(checksum: number): string {
  return checksum.toString(16).padStart(8, '0');
}

/** @throws {PlainFailure} 503 while the server starts. */
export function snapshotsIn({context}: Exchange): MemberSnapshotSource {
  const {snapshots} = context.options;
  if (snapshots !== undefined) return snapshots;
  throw new PlainFailure(503, 'This server cannot give snapshots yet');
}
