/**
 * Vertices that a database has already, by the values of a property: what edges of an import may
 * join although their source does not have it.
 *
 * They are read once, in front of the import, into a table as of ids (`bulk-ids.ts`), which takes
 * to disk what memory has no room for. Values are told apart by how they read: 7 is the text '7'.
 */
import {Refusal} from '#server/base/errors.ts';
import {utf8Bytes} from '#server/base/utf8.ts';
import type {RecordValue, Rid} from '#server/model/value.ts';
import type {BulkIds} from '#server/session/bulk-ids.ts';
import type {ImportSession} from '#server/session/import-session.ts';
import {idOf} from './ids.ts';
import type {ImportOptions, NamedVertices as Named} from './import-options.ts';

const portionRecords = 1_000;

export class NamedVertices {
  readonly #session: ImportSession;
  readonly #makeIds: () => BulkIds;
  /** Tables by type and property. */
  readonly #tables = new Map<string, BulkIds>();

  constructor(session: ImportSession, {makeIds}: {readonly makeIds: () => BulkIds}) {
    this.#session = session;
    this.#makeIds = makeIds;
  }

  /**
   * Reads the vertices of both ends, with those of types that extend theirs.
   *
   * @param giveWay - Called between portions.
   * @throws {Refusal} `argument` when two vertices have one value.
   */
  async learn({from, to}: ImportOptions['ends'], giveWay: () => Promise<void>): Promise<void> {
    for (const named of [from, to]) {
      const {type, property} = named;
      const known = this.#session.context.catalog.type(type);
      if (property === undefined || known?.kind !== 'vertex') continue;
      if (this.#tables.has(keyOf(named))) continue;
      const table = this.#makeIds();
      this.#tables.set(keyOf(named), table);
      const snapshot = this.#session.snapshot();
      try {
        const source = snapshot.graph.scanType(type, true, {descending: false});
        try {
          for (;;) {
            const records = source.next(portionRecords);
            if (records === undefined) break;
            for (const record of records) learnOne(table, record, {type, property});
            await giveWay();
          }
        } finally {
          source.close();
        }
      } finally {
        snapshot.close();
      }
    }
  }

  find(named: Named, id: string): Rid | undefined {
    const table = this.#tables.get(keyOf(named));
    if (table === undefined) return undefined;
    const bytes = utf8Bytes(id);
    return table.get(bytes, 0, bytes.length);
  }

  close(): void {
    for (const table of this.#tables.values()) table.close();
  }
}

function keyOf({type, property}: Named): string {
  return `${type}.${property ?? ''}`;
}

function learnOne(
  table: BulkIds,
  record: RecordValue,
  {type, property}: {readonly type: string; readonly property: string},
): void {
  const id = idOf(record.get(property));
  if (id === undefined) return;
  const bytes = utf8Bytes(id);
  if (table.get(bytes, 0, bytes.length) !== undefined) {
    throw new Refusal(
      'argument',
      `two vertices of '${type}' have '${id.slice(0, 100)}' as '${property}': edges cannot name ` +
        'them by it, choose another property (typeIdProperty)',
      {detail: {type, property}},
    );
  }
  table.checkRoom();
  table.set(bytes, 0, bytes.length, record.rid);
}
