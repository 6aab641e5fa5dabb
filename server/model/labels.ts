/**
 * Labels of a vertex and the name of the type that has just these.
 *
 * One label is a type of that name, several are the type that extends all of them, none is the
 * type of every vertex without one; see docs/design/0001-labels-are-types.md.
 */
export const rootType = 'Vertex';
const joint = '~';

export function labelsOf(typeName: string): readonly string[] {
  return typeName === rootType ? [] : typeName.split(joint);
}

/** Labels in any order, doubled ones too. */
export function typeOfLabels(labels: readonly string[]): string {
  return labels.length === 0 ? rootType : [...new Set(labels)].sort().join(joint);
}

/** Whether the type stands for one label. */
export function isLabel(typeName: string): boolean {
  return typeName !== rootType && !typeName.includes(joint);
}
