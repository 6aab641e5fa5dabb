/**
 * GET `/ha/snapshot/{database}`: one database as a ZIP archive, from the leader and for members.
 *
 * Members themselves take files one by one, which can be cut off and gone on with (snapshots.ts,
 * note 20).
 * Source: docs/cluster.md.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Cluster} from '#server/cluster/cluster.ts';
import {type ArchivedFile, SnapshotArchive} from '#server/cluster/snapshot-archive.ts';
import {byMember, requireLeader} from './cluster-call.ts';
import type {Exchange} from '../message/exchange.ts';
import type {Route} from '../router.ts';
import {pieceBytes, sent, snapshotsIn} from './snapshots.ts';

export const snapshotArchiveRoutes: readonly Route[] = [
  {path: '/ha/snapshot/{database}', operations: {GET: byMember(sendArchive)}},
  {path: '/ha/snapshot/{database}/checksums', operations: {GET: byMember(tellChecksums)}},
];

async function sendArchive(exchange: Exchange, cluster: Cluster): Promise<void> {
  const [, , database = ''] = exchange.segments;
  await withFiles(exchange, cluster, async (names, send) => {
    exchange.startStream(200, 'application/zip', [
      'Content-Disposition',
      `attachment; filename*=UTF-8''${encodeURIComponent(database)}-snapshot.zip`,
    ]);
    const archive = new SnapshotArchive();
    for (const name of names) await send(name, file => archive.begin(file));
    await exchange.endStream(archive.end());
  });
}

async function tellChecksums(exchange: Exchange, cluster: Cluster): Promise<void> {
  await withFiles(exchange, cluster, async (names, send) => {
    const files: ArchivedFile[] = [];
    for (const name of names) files.push(await send(name, undefined));
    exchange.answerJson(200, Object.fromEntries(files.map(({name, crc}) => [name, crc])));
  });
}

/** Takes a file in hand: writes header and bytes where there is a header, and tells what it is. */
type Send = (
  name: string,
  header: ((file: ArchivedFile) => Buffer) | undefined,
) => Promise<ArchivedFile>;

/** Holds a snapshot while `work` goes through the files of the database. */
async function withFiles(
  exchange: Exchange,
  cluster: Cluster,
  work: (names: readonly string[], send: Send) => Promise<void>,
): Promise<void> {
  requireLeader(cluster.state());
  const source = snapshotsIn(exchange);
  const [, , database = ''] = exchange.segments;
  const {hold} = await source.hold(`archive ${exchange.requestId}`, 0);
  try {
    const found = source.databases(hold).find(({name}) => name === database);
    if (found === undefined) {
      throw new Refusal('database.missing', `there is no database ${database}`);
    }
    await work(
      found.files.map(({name}) => name),
      (name, header) => sendFile(exchange, {hold, id: found.id, name}, header),
    );
  } finally {
    source.release(hold);
  }
}

async function sendFile(
  exchange: Exchange,
  {hold, id, name}: {readonly hold: string; readonly id: number; readonly name: string},
  header: ((file: ArchivedFile) => Buffer) | undefined,
): Promise<ArchivedFile> {
  const content = await snapshotsIn(exchange).open(hold, id, name);
  if (content === undefined) throw new Refusal('database.operation', 'the snapshot was let go of');
  try {
    const crc = await content.checksum();
    const {bytes: size} = content;
    const file = {name, size, crc};
    if (header === undefined) return file;
    await sent(exchange, header(file));
    const piece = Buffer.allocUnsafe(pieceBytes);
    for (let at = 0; at < size; ) {
      const count = await content.read(piece, at);
      if (count === 0) throw new Refusal('database.operation', `${name} ended too early`);
      await sent(exchange, piece.subarray(0, count));
      at += count;
    }
    return file;
  } finally {
    await content.close();
  }
}
