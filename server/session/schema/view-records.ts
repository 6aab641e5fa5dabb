/**
 * The records of one materialized view beside the rows of its query, and the writes by which they
 * come to agree.
 *
 * A view whose rows come from one record each remembers which record came from which, as
 * long as nobody else writes into the view and the schema stays: then only what changed is looked
 * at. The memory is that of a commit: it is taken over when the transaction that made it succeeded.
 */
import {assert} from '#server/base/assert.ts';
import {sourceColumn} from '#server/languages/sql/view-query.ts';
import {classify} from '#server/model/compare.ts';
import {jsonText} from '#server/model/json.ts';
import {ridText} from '#server/model/rid.ts';
import {type MapValue, RecordValue, Rid, type Value} from '#server/model/value.ts';
import type {RecordWriter} from '#server/records/records.ts';

/** A record of the view. */
interface Kept {
  readonly rid: Rid;
  readonly text: string;
}

/** What the query answers in one row. */
interface Row {
  readonly properties: MapValue;
  readonly text: string;
  /** The record that it comes from; undefined where a row has none of its own. */
  readonly source: string | undefined;
}

/** The view's records by the record that each came from. */
export type SourceMap = Map<string, Kept>;

export interface ViewWriter {
  readonly typeName: string;
  readonly writer: RecordWriter;
  /** Lets others have their turn now and then. */
  readonly rest: () => Promise<void>;
}

/** Records between two looks at whether others wait. */
const stretch = 512;
/** More are not remembered. */
const sourcesMax = 200_000;

/**
 * Deletes records that no row is like and makes one for each row that is left.
 *
 * @returns Which record came from which; undefined where rows do not tell, or are too many.
 */
export async function writeAll(
  view: ViewWriter,
  old: readonly Value[],
  rows: readonly Value[],
): Promise<SourceMap | undefined> {
  const pace = new Pace(view.rest);
  const wanted = new Map<string, Row[]>();
  for (const value of rows) {
    const row = rowOf(value);
    const same = wanted.get(row.text);
    if (same === undefined) wanted.set(row.text, [row]);
    else same.push(row);
    await pace.step();
  }
  const sources: SourceMap = new Map();
  const keep = (row: Row, rid: Rid): void => {
    if (row.source !== undefined) sources.set(row.source, {rid, text: row.text});
  };
  for (const record of old) {
    assert(record instanceof RecordValue, 'a type holds records');
    const row = wanted.get(exactText(record.properties()))?.pop();
    if (row === undefined) view.writer.delete(record.rid);
    else keep(row, record.rid);
    await pace.step();
  }
  for (const row of [...wanted.values()].flat()) {
    keep(row, create(view, row));
    await pace.step();
  }
  view.writer.requireComplete();
  return sources.size === rows.length && rows.length <= sourcesMax ? sources : undefined;
}

/** The same for the records `changed` alone: `rows` are what is answered of those. */
export async function writeSome(
  view: ViewWriter,
  sources: SourceMap,
  changed: ReadonlyMap<string, Rid>,
  rows: readonly Value[],
): Promise<ReadonlyMap<string, Kept | undefined>> {
  const pace = new Pace(view.rest);
  const wanted = new Map(rows.map(rowOf).map(row => [row.source, row]));
  const news = new Map<string, Kept | undefined>();
  for (const source of changed.keys()) {
    const [row, kept] = [wanted.get(source), sources.get(source)];
    if (row?.text === kept?.text) continue;
    if (row === undefined) {
      if (kept !== undefined) view.writer.delete(kept.rid);
      news.set(source, undefined);
    } else {
      const changedRecord = kept && view.writer.replace(kept.rid, row.properties);
      news.set(source, {rid: changedRecord?.rid ?? create(view, row), text: row.text});
    }
    await pace.step();
  }
  view.writer.requireComplete();
  return news;
}

/** Called after the commit. */
export function takeOver(
  sources: SourceMap,
  news: ReadonlyMap<string, Kept | undefined>,
): SourceMap | undefined {
  for (const [source, kept] of news) {
    if (kept === undefined) sources.delete(source);
    else sources.set(source, kept);
  }
  return sources.size <= sourcesMax ? sources : undefined;
}

class Pace {
  readonly #rest: () => Promise<void>;
  #steps = 0;

  constructor(rest: () => Promise<void>) {
    this.#rest = rest;
  }

  step(): Promise<void> | undefined {
    this.#steps += 1;
    return this.#steps % stretch === 0 ? this.#rest() : undefined;
  }
}

function create({typeName, writer}: ViewWriter, {properties}: Row): Rid {
  return writer.createDocument({typeName, properties}).rid;
}

/** Attributes such as `@rid` are of the records that rows come from, and none of the view's. */
function rowOf(value: Value): Row {
  if (value instanceof RecordValue) {
    const properties = value.properties();
    return {properties, text: exactText(properties), source: ridText(value.rid)};
  }
  const map: MapValue = value instanceof Map ? value : new Map([['value', value]]);
  const source = map.get(sourceColumn);
  const properties = new Map([...map].filter(([name]) => !name.startsWith('@')));
  const text = exactText(properties);
  return {properties, text, source: source instanceof Rid ? ridText(source) : undefined};
}

/** Equal for values that are stored alike: unlike JSON it tells a date from its text. */
function exactText(value: Value): string {
  const known = classify(value);
  if (known.of === 'list') return `[${known.value.map(exactText).join()}]`;
  if (known.of !== 'map') return `${known.of} ${jsonText(value)}`;
  const entries = [...known.value].map(([name, item]) => `${jsonText(name)}:${exactText(item)}`);
  return `{${entries.join()}}`;
}
