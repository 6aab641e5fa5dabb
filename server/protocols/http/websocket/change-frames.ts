/** What goes over `/ws` in both directions, as text (docs/http.md, Change events). */
import {categoryOf, type JsonFormat, jsonString, jsonText} from '#server/model/json.ts';
import {ridText} from '#server/model/rid.ts';
import type {RecordValue} from '#server/model/value.ts';
import type {ChangeFilter, ChangeKind, RecordChange} from '#server/session/session.ts';
import {PlainFailure} from '../message/failure.ts';

export type ChangeFrame = SubscribeFrame | UnsubscribeFrame;

export interface SubscribeFrame {
  readonly action: 'subscribe';
  readonly database: string;
  readonly filter: ChangeFilter;
  /** Goes on behind this position. */
  readonly from: number | undefined;
  /** Whether the last event of each transaction tells its position. */
  readonly tellsPositions: boolean;
}

export interface UnsubscribeFrame {
  readonly action: 'unsubscribe';
  readonly database: string;
  /** Undefined: everything of the database. */
  readonly type: string | undefined;
}

const kinds: ReadonlySet<string> = new Set<ChangeKind>(['create', 'update', 'delete']);

/** What a client asks for. @throws {PlainFailure} when it is nothing that can be meant. */
export function parseFrame(text: string): ChangeFrame {
  const frame = parseObject(text);
  const action = textOf(frame, 'action');
  if (action === undefined) throw wrong("Property 'action' is required.");
  if (action !== 'subscribe' && action !== 'unsubscribe') {
    throw new PlainFailure(400, 'Unknown action', {
      detail: `${action.slice(0, 64)} is not a valid action: subscribe and unsubscribe are.`,
      exception: 'IllegalArgumentException',
    });
  }
  const database = textOf(frame, 'database');
  if (database === undefined) throw unreadable("Property 'database' is required.");
  const type = textOf(frame, 'type');
  if (action === 'unsubscribe') return {action, database, type};
  const {from, positions} = frame;
  if (from !== undefined && (!Number.isSafeInteger(from) || Number(from) < 0)) {
    throw wrong("Property 'from' must be a position, which is a whole number.");
  }
  return {
    action,
    database,
    filter: {type, kinds: kindsOf(frame['changeTypes'])},
    from: from === undefined ? undefined : Number(from),
    tellsPositions: from !== undefined || positions === true,
  };
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Readonly<Record<string, unknown>>;
  }
  throw unreadable('A message is one JSON object.');
}

function unreadable(detail: string): PlainFailure {
  return new PlainFailure(400, 'Unable to parse JSON', {detail, exception: 'JSONException'});
}

function textOf(frame: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = frame[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string' && value !== '') return value;
  throw wrong(`Property '${name}' must be a text.`);
}

function kindsOf(value: unknown): ReadonlySet<ChangeKind> | undefined {
  if (value === undefined || value === null) return undefined;
  const isKnown = (kind: unknown): kind is ChangeKind => kinds.has(String(kind).toLowerCase());
  if (Array.isArray(value) && value.every(isKnown)) {
    return value.length === 0
      ? undefined
      : new Set(value.map(kind => kind.toLowerCase() as ChangeKind));
  }
  throw wrong("Property 'changeTypes' must be a list of create, update and delete.");
}

/** A message that can be read and means nothing. */
export function wrong(detail: string): PlainFailure {
  return new PlainFailure(400, 'Message error', {detail, exception: 'IllegalArgumentException'});
}

/** The event of one change. `position`: of its transaction, told with the last event of it. */
export function eventText(
  {kind, before, after}: RecordChange,
  {database, json, position}: {database: string; json: JsonFormat; position: number | undefined},
): string {
  const record = after ?? before;
  const shown = record === undefined ? 'null' : recordText(record, json);
  const place = position === undefined ? '' : `,"position":${position}`;
  return `{"changeType":"${kind}","record":${shown},"database":${jsonString(database)}${place}}`;
}

/** Properties first, as this surface has always shown a record. */
function recordText(record: RecordValue, json: JsonFormat): string {
  let text = '{';
  for (const [name, value] of record.properties()) {
    text += `${jsonString(name)}:${jsonText(value, json)},`;
  }
  if (record.from !== undefined && record.to !== undefined) {
    text += `"@in":"${ridText(record.to)}","@out":"${ridText(record.from)}",`;
  }
  const type = jsonString(record.typeName);
  const cat = categoryOf[record.kind];
  return `${text}"@cat":"${cat}","@type":${type},"@rid":"${ridText(record.rid)}"}`;
}
