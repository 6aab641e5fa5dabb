/**
 * Procedures that a case of the openCypher suite brings along: a signature, and a table whose
 * columns are the inputs and then the outputs. A call answers the rows whose inputs are its
 * arguments.
 */
import {compareTotal} from '#server/model/compare.ts';
import {makeDouble} from '#server/model/number.ts';
import type {Value} from '#server/model/value.ts';
import type {ProcedureInput} from '#server/languages/cypher/procedures.ts';
import type {CustomProcedure} from '#server/session/languages/custom-procedures.ts';
import type {Case, Step} from './opencypher-gherkin.ts';

const opening = 'there exists a procedure ';

/** Lists the procedures of a case, in their order. */
export function proceduresOf({steps}: Case): readonly CustomProcedure[] {
  return steps.filter(step => step.text.startsWith(opening)).map(procedureOf);
}

function procedureOf(step: Step): CustomProcedure {
  const match = /^([\w.]+)\((.*?)\) :: \((.*?)\)\s*:?$/.exec(step.text.slice(opening.length));
  if (match === null) throw new Error(`the signature of '${step.text}' cannot be read`);
  const [, name = '', inputs = '', outputs = ''] = match;
  const inputFields = fieldsOf(inputs);
  const outputNames = fieldsOf(outputs).map(field => field.name);
  const [header = [], ...rows] = step.table;
  const values = rows.map(
    row => new Map(header.map((cell, at) => [cell, cellValue(row[at] ?? '')])),
  );
  return {
    signature: {
      name,
      inputs: inputFields.map(({name: input, type}) => ({name: input, kinds: kindsOf(type)})),
      outputs: outputNames,
    },
    table: {
      outputs: outputNames,
      rows: args =>
        values
          .filter(row =>
            inputFields.every(({name: input}, at) =>
              isSameArgument(args[at] ?? null, row.get(input) ?? null),
            ),
          )
          .map(row => outputNames.map(output => row.get(output) ?? null)),
    },
  };
}

/** `name :: TYPE?, ...`. */
function fieldsOf(text: string): readonly {readonly name: string; readonly type: string}[] {
  return text
    .split(',')
    .map(field => field.trim())
    .filter(field => field !== '')
    .map(field => {
      const [name = '', type = ''] = field.split('::').map(part => part.trim());
      return {name, type: type.replace('?', '')};
    });
}

function kindsOf(type: string): ProcedureInput['kinds'] {
  switch (type) {
    case 'STRING':
      return ['string'];
    case 'INTEGER':
      return ['integer'];
    case 'FLOAT':
    case 'NUMBER':
      return ['integer', 'float'];
    case 'BOOLEAN':
      return ['boolean'];
    default:
      return ['any'];
  }
}

function cellValue(cell: string): Value {
  if (cell === 'null' || cell === '') return null;
  if (cell.startsWith("'")) return cell.slice(1, -1);
  if (cell === 'true' || cell === 'false') return cell === 'true';
  return cell.includes('.') ? makeDouble(Number(cell)) : Number(cell);
}

/** An integer is as good as the float of its value. */
function isSameArgument(left: Value, right: Value): boolean {
  return left === null || right === null ? left === right : compareTotal(left, right) === 0;
}
