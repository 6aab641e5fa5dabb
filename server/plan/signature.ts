/**
 * How the rows of the function table are written: the call as a user would write it, one
 * sentence, an example with its answer, and only what differs from a plain pure function.
 *
 * `text.lpad(text, length, filler?)`: what ends with `?` may be left out, what ends with `...`
 * stands for any number of arguments, none included. How many there may be is read from that.
 */
import {assert} from '#server/base/assert.ts';
import type {FunctionSignature} from './functions.ts';

export type SignatureOptions = Partial<
  Pick<
    FunctionSignature,
    'aliases' | 'nulls' | 'deterministic' | 'needs' | 'needsShape' | 'cost' | 'later' | 'writes'
  >
>;

/** See FunctionSignature; undefined where SQL has no call for the function. */
type Example = FunctionSignature['example'] | undefined;

/** A row from its call, sentence, example and what is special. */
export type RowMaker = (
  call: string,
  says: string,
  example: Example,
  options?: SignatureOptions,
) => FunctionSignature;

export const scalarRow: RowMaker = rowMaker('function');
export const aggregateRow: RowMaker = rowMaker('aggregate');
/** Looks like a call and belongs to the grammar: binders know it, nothing implements it. */
export const constructRow: RowMaker = rowMaker('construct');

/** Written without the dot that the name of a method begins with; its receiver is no argument. */
export const methodRow: RowMaker = (call, says, example, options) =>
  rowMaker('method')(`.${call}`, says, example, options);

/** A source of rows. */
export function tableRow(call: string, says: string, options: SignatureOptions): FunctionSignature {
  return rowMaker('table')(call, says, undefined, options);
}

/** A name of later work, of a function or (with a dot in front) a method. */
export function laterRow(
  call: string,
  later: string,
  aliases: readonly string[] = [],
  options: SignatureOptions = {},
): FunctionSignature {
  const row = rowMaker(call.startsWith('.') ? 'method' : 'function');
  return row(call, `Reserved for ${later}.`, undefined, {...options, later, aliases});
}

/** The function looks at its null arguments itself. */
export const handled: SignatureOptions = {nulls: 'handled'};

/** The call again: `text.lpad(text, length, filler?)`. */
export function callText({name, parameters}: FunctionSignature): string {
  return `${name}(${parameters.join(', ')})`;
}

function rowMaker(kind: FunctionSignature['kind']): RowMaker {
  return (call, says, example, options = {}) => ({
    ...calledAs(call),
    kind,
    nulls: 'null-in-null-out',
    deterministic: true,
    needs: 'nothing',
    cost: 200,
    says,
    ...(example && {example}),
    ...options,
  });
}

function calledAs(
  call: string,
): Pick<FunctionSignature, 'name' | 'parameters' | 'argsMin' | 'argsMax'> {
  const open = call.indexOf('(');
  assert(open > 0 && call.endsWith(')'), `${call} is written as a call`);
  const inside = call.slice(open + 1, -1);
  const parameters = inside === '' ? [] : inside.split(', ');
  const anyNumber = parameters.some(parameter => parameter.endsWith('...'));
  return {
    name: call.slice(0, open),
    parameters,
    argsMin: parameters.filter(parameter => /\w$/.test(parameter)).length,
    argsMax: anyNumber ? undefined : parameters.length,
  };
}
