/**
 * How the rows of the function table are written: name, least and most arguments, one sentence,
 * and only what differs from a plain pure function.
 */
import type {FunctionSignature} from './functions.ts';

/** As the most arguments: any number of them. */
export const unlimited = Number.POSITIVE_INFINITY;

export type SignatureOptions = Partial<
  Pick<
    FunctionSignature,
    'aliases' | 'nulls' | 'deterministic' | 'needs' | 'cost' | 'later' | 'writes'
  >
>;

/** Least and most arguments; a method's receiver is not counted. */
type Arguments = readonly [min: number, max: number];

export type RowMaker = (
  name: string,
  args: Arguments,
  says: string,
  options?: SignatureOptions,
) => FunctionSignature;

export const scalarRow: RowMaker = rowMaker('function');
export const aggregateRow: RowMaker = rowMaker('aggregate');
export const tableRow: RowMaker = rowMaker('table');

/** Written without the dot that the name of a method begins with. */
export const methodRow: RowMaker = (name, args, says, options) =>
  rowMaker('method')(`.${name}`, args, says, options);

/** The function looks at its null arguments itself. */
export const handled: SignatureOptions = {nulls: 'handled'};

function rowMaker(kind: FunctionSignature['kind']): RowMaker {
  return (name, [argsMin, argsMax], says, options = {}) => ({
    name,
    kind,
    argsMin,
    argsMax: argsMax === unlimited ? undefined : argsMax,
    nulls: 'null-in-null-out',
    deterministic: true,
    needs: 'nothing',
    cost: 200,
    says,
    ...options,
  });
}
