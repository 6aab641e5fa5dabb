/**
 * Records whose texts are like those of others, and texts with what was looked for marked in them.
 *
 * The records that are compared with are read once a run through the statement's graph, with its
 * rights; those that are not there count for nothing.
 */
import type {IndexDefinition} from '#server/catalog/definition.ts';
import {type LikeOptions, textQuery} from '#server/indexes/ranked-search.ts';
import {type TextMarker, textMarker} from '#server/indexes/text-index.ts';
import {textsOf} from '#server/indexes/text-entries.ts';
import {ridText} from '#server/model/rid.ts';
import {RecordValue, Rid, type Value} from '#server/model/value.ts';
import {asItems} from '../expressions/access.ts';
import {describe, plainText} from '../expressions/arithmetic.ts';
import type {CallContext} from '../context.ts';
import type {FunctionFamily} from '../function-registry.ts';
import {argument, namesFrom, refuse, singleRid, textAt} from './arguments.ts';
import {
  type Found,
  foundOnce,
  indexOnFields,
  nameOf,
  queryAt,
  rankedRecords,
  searchesOf,
  textIndexNamed,
} from './searches.ts';
import {float, Options, optionRefusal} from './vectors/vector-arguments.ts';

const likeKeys = [
  'minTermFreq',
  'minDocFreq',
  'maxDocFreqPercent',
  'maxQueryTerms',
  'minWordLen',
  'maxWordLen',
  'boostByScore',
  'excludeSource',
  'maxSourceDocs',
];
/** The clauses of a query. */
const queryTermsMax = 1_024;

interface MoreOptions {
  readonly like: LikeOptions;
  readonly excludeSource: boolean;
  readonly maxSourceDocs: number;
}

function moreOptions(name: string, value: Value): MoreOptions {
  const options = new Options(name, value, likeKeys);
  return {
    like: {
      minTermFreq: options.whole('minTermFreq', 2, 0),
      minDocFreq: options.whole('minDocFreq', 5, 0),
      maxDocFreqPercent: options.number('maxDocFreqPercent', 100),
      maxQueryTerms: options.whole('maxQueryTerms', 25, 1, queryTermsMax),
      minWordLen: options.whole('minWordLen', 0, 0),
      maxWordLen: options.whole('maxWordLen', 0, 0),
      boostByScore: options.truth('boostByScore', true),
    },
    excludeSource: options.truth('excludeSource', true),
    maxSourceDocs: options.whole('maxSourceDocs', 25, 1, 1_000),
  };
}

function sourcesAt(args: readonly Value[], name: string, most: number): readonly Rid[] {
  const rids = asItems(argument(args, 1)).map(
    item =>
      singleRid(item) ?? refuse(`${name} compares with record ids, not with ${describe(item)}`),
  );
  if (rids.length === 0) refuse(`${name} needs at least one record to compare with`);
  if (rids.length <= most) return rids;
  throw optionRefusal(
    `${name} compares with ${rids.length} records, more than maxSourceDocs (${most})`,
  );
}

/** @param fields - Properties whose texts are compared; undefined: all of the index. */
function isLike(
  args: readonly Value[],
  call: CallContext,
  {
    name,
    index,
    fields,
  }: {
    readonly name: string;
    readonly index: () => IndexDefinition;
    readonly fields: readonly string[] | undefined;
  },
): boolean {
  const rid = singleRid(argument(args, 3));
  if (rid === undefined) return false;
  const key = `${name} ${keyOf(args, call)}`;
  const {scores} = foundOnce(call, key, () => {
    const more = moreOptions(name, argument(args, 2));
    const rids = sourcesAt(args, name, more.maxSourceDocs);
    return likeRecords(index(), rids, {fields, more, call});
  });
  return scores.has(nameOf(rid));
}

/** Arguments are mostly the same values in every row. */
const keys = new WeakMap<CallContext, {readonly args: readonly Value[]; readonly key: string}>();

function keyOf([first = null, second = null, third = null]: readonly Value[], call: CallContext) {
  const args = [first, second, third];
  const known = keys.get(call);
  if (known?.args.every((value, at) => value === args[at]) === true) return known.key;
  const key = JSON.stringify(args.map(plainValue));
  keys.set(call, {args, key});
  return key;
}

function plainValue(value: Value): unknown {
  if (value instanceof Rid || value instanceof RecordValue) {
    const rid = singleRid(value);
    return rid && ridText(rid);
  }
  if (value instanceof Map) return Array.from(value, ([name, of]) => [name, plainValue(of)]);
  return Array.isArray(value) ? value.map(item => plainValue(item as Value)) : plainText(value);
}

function likeRecords(
  index: IndexDefinition,
  rids: readonly Rid[],
  {
    fields,
    more,
    call,
  }: {
    readonly fields: readonly string[] | undefined;
    readonly more: MoreOptions;
    readonly call: CallContext;
  },
): Found {
  const records = call.graph.records(rids).filter(record => record !== undefined);
  const texts = index.properties.map(({name}) =>
    fields?.includes(name) === false ? [] : records.map(record => record.get(name) ?? null),
  );
  const query = textQuery({texts, like: more.like});
  const own = new Set(more.excludeSource ? rids.map(nameOf) : []);
  const found = rankedRecords(index.name, query, call).filter(({rid}) => !own.has(nameOf(rid)));
  return {
    scores: new Map(found.map(({rid, score}) => [nameOf(rid), score])),
    greatest: found[0]?.score,
  };
}

function searchIndexMore(args: readonly Value[], call: CallContext): Value {
  const name = 'fulltext.searchIndexMore';
  const index = (): IndexDefinition => textIndexNamed(textAt(args, 0), call);
  return isLike(args, call, {name, index, fields: undefined});
}

function searchFieldsMore(args: readonly Value[], call: CallContext): Value {
  const name = 'fulltext.searchFieldsMore';
  const fields = namesFrom([argument(args, 0)], 0);
  const record = argument(args, 3);
  if (fields.length === 0) return refuse(`${name} needs names of properties`);
  if (record === null) return false;
  return isLike(args, call, {
    name,
    index: () => indexOnFields(fields, record, call, name),
    fields,
  });
}

/** Where several searches found the record, the greatest. */
function similarity(args: readonly Value[], call: CallContext): Value {
  const rid = singleRid(argument(args, 0));
  let most = 0;
  if (rid !== undefined) {
    for (const {scores, greatest} of searchesOf(call).values()) {
      if (greatest === undefined) continue;
      most = Math.max(most, (scores.get(nameOf(rid)) ?? 0) / greatest);
    }
  }
  return float(most);
}

const markers = new WeakMap<CallContext, Map<string, TextMarker>>();

function markerOf(name: string, query: string, property: string, call: CallContext): TextMarker {
  let made = markers.get(call);
  if (made === undefined) {
    made = new Map();
    markers.set(call, made);
  }
  const key = JSON.stringify([name, query, property]);
  let marker = made.get(key);
  if (marker === undefined) {
    marker = textMarker(textIndexNamed(name, call), query, property);
    made.set(key, marker);
  }
  return marker;
}

const markKeys = ['before', 'after', 'length'];

function highlight(args: readonly Value[], call: CallContext): Value {
  const name = 'fulltext.highlight';
  const property = textAt(args, 2);
  const marker = markerOf(textAt(args, 0), queryAt(args, 1, name), property, call);
  const options = new Options(name, argument(args, 3), markKeys);
  const wish = {
    before: options.text('before') ?? '<em>',
    after: options.text('after') ?? '</em>',
    length: options.whole('length', 0, 0) || undefined,
  };
  const of = argument(args, 4);
  const record = of instanceof Rid ? call.graph.record(of) : of;
  if (!(record instanceof RecordValue)) return null;
  const marked = textsOf(record.get(property) ?? null).flatMap(text => marker(text, wish) ?? []);
  return marked.length === 0 ? null : marked.join(' ... ');
}

export const similarTexts: FunctionFamily = {
  scalars: {
    'fulltext.searchIndexMore': searchIndexMore,
    'fulltext.searchFieldsMore': searchFieldsMore,
    'fulltext.similarity': similarity,
    'fulltext.highlight': highlight,
  },
};
