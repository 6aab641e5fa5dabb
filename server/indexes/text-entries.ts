/**
 * The entries of a record in a full-text index: one a term and field, one a field for its length.
 *
 * They follow from the record alone; layout/posting-key.ts says how they are written.
 */
import {Refusal} from '#server/base/errors.ts';
import type {ByteWriter} from '#server/base/byte-writer.ts';
import type {IndexDefinition} from '#server/catalog/definition.ts';
import {textOptionsOf} from '#server/catalog/text-options.ts';
import {appendEntryRid, appendTermPrefix, appendVarint} from '#server/layout/posting-key.ts';
import type {Rid, Value} from '#server/model/value.ts';
import type {IndexedRecord, IndexKey} from './index-parts.ts';
import {WrittenEntry} from './written-entry.ts';
import {type Analyzer, analyzerOf} from './text/analyzer.ts';
import {normOfLength} from './text/similarity.ts';

/** Records of greater positions have no entries: lists in memory would take twice the room. */
const positionMax = 0xffff_fffe;
/** The gap between the texts of a list, so that no phrase goes from one to the next. */
const textGap = 100;

interface TextPlan {
  readonly fields: readonly {readonly name: string; readonly analyzer: Analyzer}[];
  readonly positions: boolean;
}

/** A definition never changes. */
const plans = new WeakMap<IndexDefinition, TextPlan>();

function planOf(index: IndexDefinition): TextPlan {
  let plan = plans.get(index);
  if (plan === undefined) {
    const {fields, stopWords, positions} = textOptionsOf(index);
    const stops = stopWords && new Set(stopWords);
    plan = {
      positions,
      fields: fields.map(({name, indexAnalyzer}) => {
        return {name, analyzer: analyzerOf(indexAnalyzer, stops)};
      }),
    };
    plans.set(index, plan);
  }
  return plan;
}

/** Where a term stands in a field. */
interface Uses {
  count: number;
  readonly positions: number[];
}

/** Appended to `out`, by field, terms in the order of their first place. */
export function textEntries(
  index: IndexDefinition,
  _declared: unknown,
  rid: Rid,
  record: IndexedRecord,
  out: ByteWriter,
): readonly IndexKey[] {
  requireSmallPosition(index, rid);
  const {fields, positions} = planOf(index);
  const entries: IndexKey[] = [];
  for (const [field, {name, analyzer}] of fields.entries()) {
    const {terms, length} = termsOf(record.get(name), analyzer, positions);
    if (length === 0) continue;
    const norm = normOfLength(length);
    const write = (term: string, {count, positions: places}: Uses): void => {
      const start = out.length;
      appendTermPrefix(out, {indexId: index.id, field, term});
      appendEntryRid(out, rid);
      const keyEnd = out.length;
      appendVarint(out, count);
      out.byte(norm);
      let last = 0;
      for (const place of places) {
        appendVarint(out, place - last);
        last = place;
      }
      entries.push(new WrittenEntry(index, term, out, {start, keyEnd}));
    };
    write('', {count: length, positions: []});
    for (const [term, uses] of terms) write(term, uses);
  }
  return entries;
}

function termsOf(
  value: Value | undefined,
  analyzer: Analyzer,
  withPositions: boolean,
): {readonly terms: ReadonlyMap<string, Uses>; readonly length: number} {
  const terms = new Map<string, Uses>();
  let length = 0;
  let base = 0;
  for (const text of textsOf(value)) {
    let last = base;
    analyzer.analyze(text, (term, position) => {
      // The empty term counts records.
      if (term === '') return;
      length += 1;
      last = base + position;
      let uses = terms.get(term);
      if (uses === undefined) {
        uses = {count: 0, positions: []};
        terms.set(term, uses);
      }
      uses.count += 1;
      if (withPositions) uses.positions.push(last);
    });
    base = last + textGap;
  }
  return {terms, length};
}

/** How often each term stands in texts of the index's fields, by the number of the field. */
export function termFrequencies(
  index: IndexDefinition,
  texts: readonly (readonly Value[])[],
): readonly ReadonlyMap<string, number>[] {
  return planOf(index).fields.map(({analyzer}, field) => {
    const frequencies = new Map<string, number>();
    for (const value of texts[field] ?? []) {
      for (const [term, {count}] of termsOf(value, analyzer, false).terms) {
        frequencies.set(term, (frequencies.get(term) ?? 0) + count);
      }
    }
    return frequencies;
  });
}

/** A text, or the texts of a list. */
export function textsOf(value: Value | undefined): readonly string[] {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.filter(item => typeof item === 'string') : [];
}

/** @throws {Refusal} `value.validation`. */
export function requireSmallPosition(index: IndexDefinition, rid: Rid): void {
  if (rid.position <= positionMax) return;
  throw new Refusal(
    'value.validation',
    `index '${index.name}' takes records of positions up to ${positionMax}, not ${rid.position}`,
    {detail: {index: index.name}},
  );
}
