/**
 * A statement found, while it ran, that it needs a type that does not exist: several labels of a
 * vertex are one type, and which ones meet is known only from the data.
 *
 * No refusal: whoever runs the statement takes back what it wrote, makes the types and runs it
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
