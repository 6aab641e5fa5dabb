/**
 * What a statement found, while it ran, that it needs first: a type that does not exist (several
 * labels of a vertex are one type, and which ones meet is known only from the data), or an address
 * that is to be fetched.
 *
 * No refusals: whoever runs the statement takes back what it wrote, sees to the need and runs it
 * again.
 */
export interface NeededType {
  readonly name: string;
  readonly kind: 'vertex' | 'edge';
  /** A type of several labels extends them. */
  readonly superTypes: readonly string[];
}

export class TypesNeeded extends Error {
  readonly types: readonly NeededType[];

  constructor(types: readonly NeededType[]) {
    super(`types are needed: ${types.map(type => type.name).join(', ')}`);
    this.types = types;
  }
}

export class SourceNeeded extends Error {
  readonly address: string;

  constructor(address: string) {
    super(`${address} is to be fetched first`);
    this.address = address;
  }
}
