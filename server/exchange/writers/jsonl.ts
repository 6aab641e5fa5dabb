/**
 * JSON Lines of our own: what `export` writes and `import` reads back as it was.
 *
 * `{"t":"info",..}`, `{"t":"schema","s":SQL}`, then a line for each record: `v` and `d` with type
 * (`c`), id (`r`) and properties (`p`), `e` with its ends (`f`, `o`); `{"t":"end",..}` with counts.
 */
import {jsonString} from '#server/model/json.ts';
import {ridText} from '#server/model/rid.ts';
import type {RecordValue} from '#server/model/value.ts';
import {schemaBefore, schemaBehind} from '../schema-statements.ts';
import {typedJson} from '../typed-json.ts';
import type {ExportCounts, RecordWriter, WriterOptions} from '../export-order.ts';

const formatVersion = 1;

export function jsonlWriter({database, release, snapshot, now}: WriterOptions): RecordWriter {
  const {catalog} = snapshot;
  return {
    kinds: ['vertex', 'document', 'edge'],
    *begin() {
      const at = new Date(now).toISOString();
      yield line({t: 'info', version: formatVersion, database, release, exportedAt: at});
      for (const s of schemaBefore(catalog)) yield line({t: 'schema', s});
    },
    record: recordLine,
    *end(counts: ExportCounts) {
      for (const s of schemaBehind(catalog)) yield line({t: 'schema', s});
      yield line({t: 'end', ...counts});
    },
  };
}

function line(fields: Readonly<Record<string, unknown>>): string {
  return `${JSON.stringify(fields)}\n`;
}

function recordLine(record: RecordValue): string {
  const {kind, typeName, rid, from, to} = record;
  const properties = typedJson(record.properties());
  const type = jsonString(typeName);
  if (kind !== 'edge' || from === undefined || to === undefined) {
    return `{"t":"${kind[0]}","c":${type},"r":"${ridText(rid)}","p":${properties}}\n`;
  }
  return `{"t":"e","c":${type},"f":"${ridText(from)}","o":"${ridText(to)}","p":${properties}}\n`;
}
