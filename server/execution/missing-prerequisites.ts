/**
 * What a statement found, while it ran, that it needs first: a type that does not exist (several
 * labels of a vertex are one type, and which ones meet is known only from the data), or an address
 * that is to be fetched.
 *
 * These are no refusals: whoever runs the statement rolls back, creates the type or fetches the
 * source, and re-executes.
 */
import {labelsOf, typeOfLabels} from '#server/model/labels.ts';
import type {MissingType} from '#server/plan/statement.ts';
import type {Graph} from './graph.ts';

export class MissingTypes extends Error {
  readonly types: readonly MissingType[];

  constructor(types: readonly MissingType[]) {
    super(`types are needed: ${types.map(type => type.name).join(', ')}`);
    this.types = types;
  }
}

/**
 * The type of a vertex that has these labels.
 *
 * @throws {MissingTypes} naming it and its labels, as far as they do not exist.
 */
export function requireLabels(labels: readonly string[], graph: Graph): string {
  const type = typeOfLabels(labels);
  const missing = [...new Set([...labels, type])].filter(name => !graph.typeExists(name));
  if (missing.length > 0) {
    // The type of several labels extends them.
    const superTypes = labelsOf(type).length > 1 ? labelsOf(type) : [];
    throw new MissingTypes(
      missing.map(name => ({name, kind: 'vertex', superTypes: name === type ? superTypes : []})),
    );
  }
  return type;
}

/** One step of the run takes long: it is to begin again where nobody waits for the thread. */
export class ThreadNeeded extends Error {}

export class MissingSource extends Error {
  readonly address: string;

  constructor(address: string) {
    super(`${address} is to be fetched first`);
    this.address = address;
  }
}
