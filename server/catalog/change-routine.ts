/**
 * Changes of functions and triggers: create and drop. Pure; see change.ts.
 *
 * A catalog is read and written whole, so their number and the size of their code are bounded.
 * Whether the code means anything is found out by whoever can read its language.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Catalog} from './catalog.ts';
import {change, checkName, existsRefusal, type SchemaChange} from './change.ts';
import type {FunctionDefinition, TriggerDefinition} from './definition.ts';
import {nearestNameHint} from './nearest-name.ts';

const functionsMax = 1_000;
const triggersMax = 1_000;
const parametersMax = 64;
const codeLengthMax = 64 << 10;

/** A trigger that is not there yet: of a type by its name. */
export type NewTrigger = Omit<TriggerDefinition, 'typeId'> & {readonly typeName: string};

/** @throws {Refusal} `schema.exists`, `argument` beyond a limit. */
export function createFunction(catalog: Catalog, requested: FunctionDefinition): SchemaChange {
  const {name, parameters, code} = requested;
  checkName(name, 'function');
  if (catalog.functionNamed(name) !== undefined) throw existsRefusal('FUNCTION', name);
  checkCount(catalog.functions.length, functionsMax, 'functions');
  checkCode(code, `function '${name}'`);
  if (parameters.length > parametersMax) {
    throw new Refusal('argument', `a function has at most ${parametersMax} parameters`);
  }
  const again = parameters.find((parameter, at) => parameters.indexOf(parameter) < at);
  if (again !== undefined) {
    throw new Refusal('argument', `function '${name}' names its parameter '${again}' twice`);
  }
  return change(catalog, {functions: [...catalog.functions, requested]});
}

/** @throws {Refusal} `query.unknown-function`, with the nearest name. */
export function dropFunction(catalog: Catalog, name: string): SchemaChange {
  if (catalog.functionNamed(name) === undefined) {
    const hint = nearestNameHint(
      name,
      catalog.functions.map(known => known.name),
    );
    throw new Refusal('query.unknown-function', `there is no function '${name}'${hint}`, {
      detail: {name},
    });
  }
  return change(catalog, {functions: catalog.functions.filter(known => known.name !== name)});
}

/** @throws {Refusal} `schema.exists`, `schema.unknown-type`, `argument` beyond a limit. */
export function createTrigger(catalog: Catalog, requested: NewTrigger): SchemaChange {
  const {typeName, ...kept} = requested;
  const {name, code} = kept;
  checkName(name, 'trigger');
  if (catalog.trigger(name) !== undefined) throw existsRefusal('TRIGGER', name);
  const {id: typeId} = catalog.requireType(typeName);
  checkCount(catalog.triggers.length, triggersMax, 'triggers');
  checkCode(code, `trigger '${name}'`);
  return change(catalog, {triggers: [...catalog.triggers, {...kept, typeId}]});
}

/** @throws {Refusal} `schema.unknown-trigger`, with the nearest name. */
export function dropTrigger(catalog: Catalog, name: string): SchemaChange {
  if (catalog.trigger(name) === undefined) {
    const hint = nearestNameHint(
      name,
      catalog.triggers.map(known => known.name),
    );
    throw new Refusal('schema.unknown-trigger', `there is no trigger '${name}'${hint}`, {
      detail: {name},
    });
  }
  return change(catalog, {triggers: catalog.triggers.filter(known => known.name !== name)});
}

function checkCount(count: number, most: number, what: string): void {
  if (count < most) return;
  throw new Refusal('argument', `a database has at most ${most} ${what}`);
}

function checkCode(code: string, of: string): void {
  if (code.trim() === '') throw new Refusal('argument', `the code of ${of} is empty`);
  if (code.length <= codeLengthMax) return;
  throw new Refusal(
    'argument',
    `the code of ${of} has ${code.length} characters, and ${codeLengthMax} is the most`,
  );
}
