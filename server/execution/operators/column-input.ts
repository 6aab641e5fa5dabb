/**
 * What can feed an operator with packed columns: a scan of a type whose condition columns decide.
 */
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import type {Batch} from '../batch.ts';
import type {ColumnOf, PackedColumn} from '../columnar/block.ts';
import {columnTerm, type ColumnTermMaker} from '../columnar/column-terms.ts';
import type {ExecutionContext} from '../context.ts';
import type {ColumnPart} from '../graph.ts';
import type {Batches, Preparation} from '../operator.ts';
import {prepareTerms, recordTest, scanOrder, scanRecords} from './scan.ts';

/** Some rows of the input, in its order. */
export interface InputPart {
  /** Undefined: the rows have to be read. */
  readonly columns: readonly PackedColumn[] | undefined;
  /** Writes the places of the rows in the columns into `into`; how many. */
  select(into: Uint16Array): number;
  /** The same rows as batches, those alone that pass the input's condition. */
  rows(): Batches;
}

export interface ColumnInput {
  /** Numbers the column that an expression reads. */
  readonly columnOf: ColumnOf;
  /** What rows of the columns have to pass yet. */
  readonly terms: readonly ColumnTermMaker[];
  /** The parts of a run; undefined in a part: others may have a turn. */
  parts(context: ExecutionContext, argument: Batch): Iterable<InputPart | undefined> | undefined;
}

export function columnInput(node: PlanNode, preparation: Preparation): ColumnInput | undefined {
  // Of a few ids the records are read.
  const isWhole = node.kind === 'scan-type' && !node.descending && node.ids === undefined;
  return isWhole ? scanInput(node, preparation) : undefined;
}

type TypeScan = PlanNode & {readonly kind: 'scan-type'};

function scanInput(node: TypeScan, preparation: Preparation): ColumnInput | undefined {
  const {slot, type, polymorphic, where} = node;
  const properties: string[] = [];
  const columnOf = propertyColumns(slot, properties);
  const terms: ColumnTermMaker[] = [];
  for (const term of where === undefined ? [] : where.kind === 'and' ? where.terms : [where]) {
    const made = columnTerm(term, columnOf);
    if (made === undefined) return undefined;
    terms.push(made);
  }
  const tests = where && prepareTerms(where, slot, preparation);
  return {
    columnOf,
    terms,
    parts(context, argument) {
      const test = tests && recordTest(tests, slot, context, argument);
      const order = scanOrder(node, context, test);
      const parts = context.graph.scanColumns({type, polymorphic, properties, order});
      const into = {context, argument, slot};
      return parts && asRows(parts, part => scanRecords(part.records(), into));
    },
  };
}

/** Numbers the properties of the record in `slot` in the order in which they are met. */
function propertyColumns(slot: Slot, properties: string[]): ColumnOf {
  return (expression: Expression) => {
    if (expression.kind !== 'property' || expression.of.kind !== 'slot') return undefined;
    if (expression.of.slot !== slot) return undefined;
    const known = properties.indexOf(expression.name);
    return known < 0 ? properties.push(expression.name) - 1 : known;
  };
}

function* asRows(
  parts: Iterable<ColumnPart | undefined>,
  rowsOf: (part: ColumnPart) => Batches,
): Generator<InputPart | undefined, void, undefined> {
  for (const part of parts) {
    yield part && {
      columns: part.columns,
      select: into => part.select(into),
      rows: () => rowsOf(part),
    };
  }
}
