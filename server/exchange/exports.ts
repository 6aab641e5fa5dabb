/**
 * Exports: a database as of one moment in a `.tgz` of one file, in JSON Lines (everything, types of
 * values included), GraphML or GraphSON (vertices and edges, as far as the format can carry them).
 *
 * Records are written as they are read; the file is then packed, since the format of the archive
 * wants its size first. It stands under its name when it is whole.
 * Source: docs/import-export.md.
 */
import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import {basename, dirname, join} from 'node:path';
import {pipeline} from 'node:stream/promises';
import {Readable} from 'node:stream';
import {createGzip} from 'node:zlib';
import {pack} from 'tar-stream';
import {Refusal} from '#server/base/errors.ts';
import type {RecordKind} from '#server/model/value.ts';
import type {Clock, Timers} from '#server/platform/clock.ts';
import type {DatabaseSnapshot, ImportSession} from '#server/session/import-session.ts';
import {recordTypes} from './schema-statements.ts';
import {graphmlWriter} from './writers/graphml.ts';
import {graphsonWriter} from './writers/graphson.ts';
import {jsonlWriter} from './writers/jsonl.ts';
import type {ExportFormat, ExportOrder, ExportCounts, RecordWriter} from './export-order.ts';

export interface ExportReport extends ExportCounts {
  readonly path: string;
  readonly bytes: number;
}

const writers = {
  jsonl: jsonlWriter,
  graphml: graphmlWriter,
  graphson: graphsonWriter,
} as const satisfies Record<ExportFormat, unknown>;

export const exportFormats = Object.keys(writers) as readonly ExportFormat[];

const turnMs = 5;
const portionRecords = 1_000;
const pieceCharacters = 64 << 10;

/** @throws {Refusal} `argument` when there is a file of that name and it may not go. */
export async function exportDatabase(
  session: ImportSession,
  order: ExportOrder,
  means: {readonly clock: Clock; readonly timers: Timers},
): Promise<ExportReport> {
  const {path, overwrite, format} = order;
  if (existsSync(path) && !overwrite) {
    throw new Refusal('argument', `there is a file '${basename(path)}' already: overwrite it?`);
  }
  mkdirSync(dirname(path), {recursive: true, mode: 0o700});
  const part = join(dirname(path), `.${basename(path)}.part`);
  const plain = `${part}.${format}`;
  const counts: ExportCounts = {documents: 0, vertices: 0, edges: 0};
  const snapshot = session.snapshot();
  try {
    const giveWay = turns(means);
    const writer = writers[format]({...order, snapshot, giveWay, now: means.clock.now()});
    const pieces = texts(writer, snapshot, counts, giveWay);
    await pipeline(Readable.from(pieces), createWriteStream(plain, {mode: 0o600}));
    await packed(plain, part, `${order.database}.${format}`);
    renameSync(part, path);
    return {...counts, path, bytes: statSync(path).size};
  } finally {
    snapshot.close();
    rmSync(plain, {force: true});
    rmSync(part, {force: true});
  }
}

/** Lets others have a turn when this one has taken some milliseconds. */
function turns({
  clock,
  timers,
}: {
  readonly clock: Clock;
  readonly timers: Timers;
}): () => Promise<void> {
  let began = clock.monotonic();
  return async () => {
    if (clock.monotonic() - began < turnMs) return;
    await timers.yield();
    began = clock.monotonic();
  };
}

/** Joins texts to pieces that are worth a write. */
async function* texts(
  writer: RecordWriter,
  snapshot: DatabaseSnapshot,
  counts: ExportCounts,
  giveWay: () => Promise<void>,
): AsyncGenerator<string> {
  let text = '';
  for await (const line of writer.begin()) text += line;
  for (const kind of ['vertex', 'document', 'edge'] as const) {
    if (!writer.kinds.includes(kind)) continue;
    for (const type of recordTypes(snapshot.catalog)) {
      if (type.kind !== kind) continue;
      const source = snapshot.graph.scanType(type.name, false, {descending: false});
      try {
        for (;;) {
          const records = source.next(portionRecords);
          if (records === undefined) break;
          for (const record of records) {
            text += writer.record(record);
            if (text.length < pieceCharacters) continue;
            yield text;
            text = '';
          }
          count(counts, kind, records.length);
          await giveWay();
        }
      } finally {
        source.close();
      }
    }
  }
  for (const line of writer.end(counts)) text += line;
  yield text;
}

function count(counts: ExportCounts, kind: RecordKind, records: number): void {
  if (kind === 'vertex') counts.vertices += records;
  else if (kind === 'edge') counts.edges += records;
  else counts.documents += records;
}

async function packed(from: string, to: string, name: string): Promise<void> {
  const archive = pack();
  const entry = archive.entry({name, size: statSync(from).size, mode: 0o600});
  const filling = pipeline(createReadStream(from), entry).then(() => archive.finalize());
  await Promise.all([
    filling,
    pipeline(archive, createGzip({level: 1}), createWriteStream(to, {mode: 0o600})),
  ]);
}
