/** `CALL db.index.fulltext.queryNodes(index, query)` and its twin: records and their scores. */
import {textQuery} from '#server/indexes/ranked-search.ts';
import {Refusal} from '#server/base/errors.ts';
import type {Value} from '#server/model/value.ts';
import type {CallContext} from '../context.ts';
import type {FunctionFamily, TableFunction} from '../function-registry.ts';
import {argument, textAt} from './arguments.ts';
import {effortOf, queryAt, textIndexNamed} from './searches.ts';
import {float, Options} from './vectors/vector-arguments.ts';

const keys = ['limit', 'skip'];

function* rows(
  name: string,
  wanted: 'vertex' | 'edge',
  args: readonly Value[],
  call: CallContext,
): Iterable<readonly Value[]> {
  const index = textIndexNamed(textAt(args, 0), call);
  const kind = call.catalog.typeById(index.typeId)?.kind;
  if (kind !== wanted) {
    const own = kind === 'edge' ? 'relationships' : kind === 'vertex' ? 'nodes' : 'documents';
    throw new Refusal('argument', `${name}: '${index.name}' is an index of ${own}`, {
      detail: {index: index.name},
    });
  }
  const query = queryAt(args, 1, name);
  const options = new Options(name, argument(args, 2), keys);
  const skip = options.whole('skip', 0, 0);
  const limit =
    options.get('limit') === null ? Number.POSITIVE_INFINITY : options.whole('limit', 0, 0);
  const found = call.graph.ranked(
    index.name,
    {query: textQuery({text: query, fields: undefined}), k: skip + limit},
    effortOf(call.budget),
  );
  for (const {rid, score} of found.slice(skip)) {
    const record = call.graph.record(rid);
    if (record !== undefined) yield [record, float(score)];
  }
}

function procedure(name: string, wanted: 'vertex' | 'edge', output: string): TableFunction {
  return {
    outputs: [output, 'score'],
    rows: (args, call) => rows(name, wanted, args, call),
  };
}

export const textProcedures: FunctionFamily = {
  tables: {
    'db.index.fulltext.queryNodes': procedure('db.index.fulltext.queryNodes', 'vertex', 'node'),
    'db.index.fulltext.queryRelationships': procedure(
      'db.index.fulltext.queryRelationships',
      'edge',
      'relationship',
    ),
  },
};
