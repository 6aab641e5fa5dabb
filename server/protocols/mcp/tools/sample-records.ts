/** `sample_records`: what records look like, type by type. */
import {Refusal} from '#server/base/errors.ts';
import {integer, optional, texts, withDefault} from '../arguments.ts';
import {databaseArgument, quoted, recordsOf, type Records} from '../statement.ts';
import {tool, type ToolCall} from '../tool.ts';
import {ToolRefusal} from '../tool-refusal.ts';

const typesMax = 20;

export const sampleRecords = tool({
  name: 'sample_records',
  description:
    'Answers the first records of types, as they are stored and not by chance, so that you see ' +
    'which properties and values there are. Without types: the first 20 types of vertices and ' +
    'documents; truncated says that there are more.',
  annotations: {title: 'Look at some records', readOnlyHint: true, openWorldHint: false},
  profiles: ['rag'],
  requires: ['read'],
  input: {
    database: databaseArgument,
    types: optional(texts('Names of types, those of edges too; left out: the first 20', typesMax)),
    limit: withDefault(integer('Most records of a type', 1, 20), 3),
  },
  async run(call, {database, types, limit}) {
    call.requireDatabase(database);
    call.require('read', database);
    const schema = call.service.schemaOf(call.principal, database);
    const isMissing = (name: string): boolean => {
      const type = schema.catalog.type(name);
      return type === undefined || !schema.isShown(type.id);
    };
    const missing = types?.find(isMissing);
    if (missing !== undefined) {
      throw new ToolRefusal(
        `Type '${missing.slice(0, 128)}' does not exist in database '${database}'`,
      );
    }
    const eligible = schema.types.filter(({kind}) => kind !== 'edge').map(({name}) => name);
    const samples = await samplesOf(
      call,
      {database, limit},
      types ?? eligible,
      types === undefined,
    );
    const shown = [...samples].map(([name, {rows}]) => `${JSON.stringify(name)}:[${rows}]`);
    const head = {
      sampledTypes: samples.size,
      availableTypes: eligible.length,
      recordsReturned: [...samples.values()].reduce((sum, {count}) => sum + count, 0),
      truncated: types === undefined && eligible.length > typesMax,
    };
    return `{"samples":{${shown.join(',')}},${JSON.stringify(head).slice(1)}`;
  },
});

/** @param skips - Passes over types that the caller may not read: nobody has named them. */
async function samplesOf(
  call: ToolCall,
  {database, limit}: {readonly database: string; readonly limit: number},
  names: readonly string[],
  skips: boolean,
): Promise<ReadonlyMap<string, Records>> {
  const samples = new Map<string, Records>();
  let bytesBefore = 0;
  for (const name of names) {
    if (samples.size === typesMax) break;
    const words = `SELECT FROM ${quoted(name, 'types')} LIMIT ${limit}`;
    try {
      const statement = {database, text: words, readOnly: true, limit, bytesBefore};
      const records = await recordsOf(call, statement);
      samples.set(name, records);
      bytesBefore += Buffer.byteLength(records.rows);
    } catch (error) {
      const isDenied = error instanceof Refusal && error.code === 'security.denied';
      if (!skips || !isDenied) throw error;
    }
  }
  return samples;
}
