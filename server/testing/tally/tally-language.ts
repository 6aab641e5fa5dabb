/**
 * A language as small as can be: `tally Person by city` answers each city and its people's number.
 * See docs/design/0057-how-to-add-a-command-a-family-a-language.md.
 *
 * The text becomes a statement of the algebra under the schema of now, and nothing else is asked of
 * a language: what runs it, who may, and how rows are told is everybody's.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Cooperative} from '#server/base/cooperative.ts';
import type {Expression} from '#server/plan/expression.ts';
import type {QueryStatement} from '#server/plan/statement.ts';
import type {BindOptions, BoundText, FrontEnd} from '#server/session/languages/front-ends.ts';

const form = /^\s*tally\s+(\w+)\s+by\s+(\w+)\s*$/i;
const record = 0;
const key = 1;
const count = 2;
const slot = (number: number): Expression => ({kind: 'slot', slot: number});

function read(text: string): {readonly type: string; readonly property: string} {
  const [, type, property] = form.exec(text) ?? [];
  if (type !== undefined && property !== undefined) return {type, property};
  const place = {line: 1, column: 1};
  throw new Refusal('query.semantic', "write 'tally TYPE by PROPERTY'", {place});
}

// oxlint-disable-next-line eslint/require-yield -- a text of four words is read at once
function* binding(text: string, {catalog}: BindOptions): Cooperative<BoundText> {
  const {type, property} = read(text);
  const value: Expression = {kind: 'property', of: slot(record), name: property, each: false};
  const statement: QueryStatement = {
    kind: 'query',
    plan: {
      kind: 'project',
      input: {
        kind: 'aggregate',
        input: {
          kind: 'scan-type',
          type: catalog.requireType(type).name,
          polymorphic: true,
          slot: record,
          descending: false,
        },
        keys: [{slot: key, value}],
        aggregates: [{slot: count, name: 'count', args: [], distinct: false}],
      },
      output: {
        kind: 'columns',
        columns: [
          {name: property, value: slot(key)},
          {name: 'count', value: slot(count)},
        ],
      },
    },
    slotCount: 3,
    limit: undefined,
    timeoutMs: undefined,
    onTimeout: 'error',
    form: {loneRecords: false, durationsAsSeconds: false},
  };
  return {kind: 'bound', statement};
}

export const tally: FrontEnd = {
  languages: {tally: binding},
  checkCode: text => void read(text),
};
