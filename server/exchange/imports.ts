/**
 * Imports: a source of any format, read record by record and packed into commits.
 *
 * A source is read once for its schema, vertices and documents, once for its edges, and once for
 * links that led to records which came later; memory holds the ids that edges name, and spills them
 * to disk. A new database gets its name when all of the source is in it: what fails or is killed
 * leaves none. Into a database that is there, records are committed as they come.
 * Source: docs/import-export.md.
 */
import {Refusal} from '#server/base/errors.ts';
import {ridText} from '#server/model/rid.ts';
import type {Value} from '#server/model/value.ts';
import type {Clock, Timers} from '#server/platform/clock.ts';
import type {BulkIds} from '#server/session/bulk-ids.ts';
import type {ImportSession} from '#server/session/import-session.ts';
import {
  type DeclaredTypes,
  type ExchangedItem,
  type ExchangedRecord,
  malformed,
  type SchemaStatement,
} from './exchanged-record.ts';
import {checkOptions, type Format, formatOf, readerOf, sampleBytes} from './formats.ts';
import type {ImportOptions} from './import-options.ts';
import {NamedVertices} from './named-vertices.ts';
import {typeOfRows} from './plain-record.ts';
import {RecordLoad} from './record-load.ts';
import type {ImportSource} from './source.ts';

export interface ImportMeans {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly makeIds: () => BulkIds;
  readonly entryBytesMax: () => number;
}

export interface ImportReport {
  readonly format: Format;
  readonly documents: number;
  readonly vertices: number;
  readonly edges: number;
  /** Records that could not be read or stored, with `onRowError` skip. */
  readonly skipped: number;
  /** The first of them. */
  readonly errors: readonly string[];
}

/** What a sample of the source holds, counted by kind and name. */
export interface ProbeReport {
  readonly format: Format;
  readonly entries: number;
  readonly types: readonly {
    readonly kind: string;
    readonly name: string;
    readonly entries: number;
    readonly properties: readonly string[];
  }[];
}

export interface ImportProgress {
  readonly parsed: number;
  readonly vertices: number;
  readonly edges: number;
}

/** Milliseconds after which others get a turn. */
const turnMs = 5;
const errorsMax = 20;

/**
 * What a source holds, without changing anything.
 *
 * @param session - The database that the records would come into; undefined: a new one.
 */
export async function probe(
  source: ImportSource,
  options: ImportOptions,
  session: ImportSession | undefined,
): Promise<ProbeReport> {
  const format = await formatIn(source, options);
  const types = new Map<
    string,
    {kind: string; name: string; entries: number; names: Set<string>}
  >();
  let entries = 0;
  const read = readerOf(format);
  const bounded = limited(source.read(), options.analysisLimitBytes, format);
  for await (const item of upToCut(read(bounded.bytes, options, declaredIn(session)), bounded)) {
    if (item.kind === 'schema') continue;
    if (item.kind === 'bad') throw item.refusal;
    const key = `${item.kind} ${item.type}`;
    const found = types.get(key) ?? {
      kind: item.kind,
      name: item.type,
      entries: 0,
      names: new Set<string>(),
    };
    types.set(key, found);
    found.entries += 1;
    for (const name of item.properties.keys()) found.names.add(name);
    if (++entries >= options.analysisLimitEntries) break;
  }
  const rows = [...types.values()].map(({names, ...row}) => ({...row, properties: [...names]}));
  return {format, entries, types: rows};
}

/** @throws {Refusal} naming the record; what was committed before stays in the database. */
export async function importInto(
  session: ImportSession,
  source: ImportSource,
  options: ImportOptions,
  means: ImportMeans,
  tell: (progress: ImportProgress) => void,
): Promise<ImportReport> {
  const format = await formatIn(source, options);
  const ids = means.makeIds();
  const vertices = new NamedVertices(session, means);
  try {
    const run = new ImportRun({session, source, options, means, tell, format, ids, vertices});
    return await run.run();
  } finally {
    ids.close();
    vertices.close();
  }
}

function declaredIn(session: ImportSession | undefined): DeclaredTypes {
  return (type, property) =>
    session?.context.catalog.type(type)?.properties.get(property)?.type ?? undefined;
}

interface ImportParts {
  readonly session: ImportSession;
  readonly source: ImportSource;
  readonly options: ImportOptions;
  readonly means: ImportMeans;
  readonly tell: (progress: ImportProgress) => void;
  readonly format: Format;
  readonly ids: BulkIds;
  readonly vertices: NamedVertices;
}

type Pass = 'records' | 'ends' | 'edges' | 'links';

class ImportRun {
  readonly #parts: ImportParts;
  readonly #load: RecordLoad;
  #parsed = 0;
  #skipped = 0;
  readonly #errors: string[] = [];
  #edges = 0;
  #linked = 0;
  #turnBegan: number;

  constructor(parts: ImportParts) {
    this.#parts = parts;
    const {session, means, options, ids, vertices} = parts;
    this.#turnBegan = means.clock.monotonic();
    this.#load = new RecordLoad({
      session,
      timers: means.timers,
      ids,
      vertices,
      options,
      entryBytesMax: means.entryBytesMax(),
    });
  }

  async run(): Promise<ImportReport> {
    const {session, format, options, vertices: named} = this.#parts;
    const mayHaveEdges = format !== 'csv' || options.rows === 'edge';
    if (mayHaveEdges) await named.learn(options.ends, () => this.#giveWay());
    // The columns of rows are read by what the schema says of them.
    if (format === 'csv') await this.#load.prepareType(options.rows, typeOfRows(options));
    await this.#pass('records');
    // Of triples, what is only ever spoken about is a vertex as well.
    if (this.#edges > 0 && format === 'rdf') await this.#pass('ends');
    if (this.#edges > 0) await this.#pass('edges');
    if (this.#linked > 0) await this.#pass('links');
    await session.settled();
    const {documents, vertices, edges} = this.#load.counts;
    const report = {format, documents, vertices, edges};
    return {...report, skipped: this.#skipped, errors: this.#errors};
  }

  async #pass(pass: Pass): Promise<void> {
    const {source, options, format, session} = this.#parts;
    const bounded = limited(source.read(), options.parsingLimitBytes, format);
    const items = readerOf(format)(bounded.bytes, options, declaredIn(session));
    let entries = 0;
    for await (const item of upToCut(items, bounded)) {
      if (options.parsingLimitEntries !== undefined && entries >= options.parsingLimitEntries)
        break;
      entries += 1;
      await this.#take(item, pass);
      await this.#giveWay();
    }
    await this.#load.flush();
  }

  async #take(item: ExchangedItem, pass: Pass): Promise<void> {
    if (item.kind === 'schema') {
      if (pass === 'records') await this.#define(item);
      return;
    }
    if (item.kind === 'bad') {
      if (pass === 'records') this.#failed(item.refusal);
      return;
    }
    try {
      if (pass === 'links') await this.#link(item);
      else if (pass === 'ends') await this.#addEnds(item);
      else if ((item.kind === 'edge') === (pass === 'edges')) await this.#add(item);
      else if (pass === 'records') this.#edges += 1;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.#failed(error);
    }
  }

  async #add(record: ExchangedRecord): Promise<void> {
    this.#parsed += 1;
    const {id, place} = record;
    if (this.#parts.format === 'rdf' && id !== undefined && this.#load.ridOf(id) !== undefined) {
      throw malformed(place, `${id} was a subject before: sort the triples by their subjects`);
    }
    if (await this.#load.add(record)) this.#linked += 1;
  }

  async #addEnds({kind, to, place}: ExchangedRecord): Promise<void> {
    if (kind !== 'edge' || to === undefined || this.#load.ridOf(to) !== undefined) return;
    const type = this.#parts.options.vertexType;
    const properties = new Map<string, Value>([['iri', to]]);
    await this.#load.add({kind: 'vertex', type, id: to, properties, place});
  }

  /** Writes the properties of a record again, now that its links lead somewhere. */
  async #link({id, properties}: ExchangedRecord): Promise<void> {
    const rid = id === undefined ? undefined : this.#load.ridOf(id);
    if (rid === undefined) return;
    const resolved = this.#load.resolved(properties);
    if (resolved === properties) return;
    const parameters = new Map<string, Value>([['record', resolved]]);
    await this.#parts.session.define(`UPDATE ${ridText(rid)} CONTENT :record`, parameters);
  }

  /** A source may come from anybody, whoever imports it. */
  async #define({statement, place}: SchemaStatement): Promise<void> {
    const {session} = this.#parts;
    await this.#load.flush();
    if (!session.makesSchema(statement)) {
      throw malformed(place, 'its statement makes nothing of a schema');
    }
    await session.define(statement);
  }

  #failed(refusal: Refusal): void {
    // What is refused because of the server, and not of the record, ends every import.
    const isOfRecord = ['source.malformed', 'value.type', 'value.validation', 'argument'];
    const {onRowError} = this.#parts.options;
    if (onRowError === 'abort' || !isOfRecord.includes(refusal.code)) throw refusal;
    this.#skipped += 1;
    if (this.#errors.length < errorsMax) this.#errors.push(refusal.message);
  }

  async #giveWay(): Promise<void> {
    const {clock, timers} = this.#parts.means;
    if (clock.monotonic() - this.#turnBegan < turnMs) return;
    const {vertices, edges} = this.#load.counts;
    this.#parts.tell({parsed: this.#parsed, vertices, edges});
    await timers.yield();
    this.#turnBegan = clock.monotonic();
  }
}

async function formatIn(source: ImportSource, options: ImportOptions): Promise<Format> {
  let sample = Buffer.alloc(0);
  for await (const piece of source.read()) {
    sample = Buffer.concat([sample, piece]);
    if (sample.length >= sampleBytes) break;
  }
  if (sample.length === 0) throw new Refusal('source.malformed', `'${source.name}' is empty`);
  const format = formatOf(sample.subarray(0, sampleBytes).toString('utf8'), options);
  checkOptions(format, options);
  return format;
}

interface Limited {
  readonly bytes: AsyncIterable<Buffer>;
  readonly state: {isCut: boolean};
}

/** Formats in which half of a line may read as another record. */
const byLine: ReadonlySet<Format> = new Set<Format>(['csv', 'jsonl', 'graphson', 'rdf', 'vectors']);
/** What is longer is no line. */
const lineBytesMax = 1 << 20;
const lineEnd = 0x0a;

/** Gives at most so many bytes, of lines none by half; whether that cut the source off is told. */
function limited(
  bytes: AsyncIterable<Buffer>,
  bytesMax: number | undefined,
  format: Format,
): Limited {
  const state = {isCut: false};
  if (bytesMax === undefined) return {bytes, state};
  const cut = async function* (): AsyncGenerator<Buffer> {
    let left = bytesMax;
    // The beginning of a line whose end is not there yet.
    let begun = Buffer.alloc(0);
    for await (const piece of bytes) {
      state.isCut = piece.length > left;
      const taken = Buffer.concat([begun, piece.subarray(0, left)]);
      left -= piece.length;
      const isLine = byLine.has(format) && taken.length <= lineBytesMax;
      const end = isLine ? taken.lastIndexOf(lineEnd) + 1 : taken.length;
      if (end > 0) yield taken.subarray(0, end);
      if (state.isCut) return;
      begun = taken.subarray(end);
    }
    if (begun.length > 0) yield begun;
  };
  return {bytes: cut(), state};
}

/** Leaves out what a cut through the middle of a record makes of it. */
async function* upToCut(
  items: AsyncIterable<ExchangedItem>,
  {state}: Limited,
): AsyncGenerator<ExchangedItem> {
  try {
    for await (const item of items) {
      if (item.kind === 'bad' && state.isCut) return;
      yield item;
    }
  } catch (error) {
    if (!state.isCut || !(error instanceof Refusal)) throw error;
  }
}
