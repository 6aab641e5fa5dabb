/** Syntax trees without their offsets: what two trees of the same meaning have in common. */

export function withoutPlaces(tree: unknown): unknown {
  if (Array.isArray(tree)) return tree.map(withoutPlaces);
  if (typeof tree !== 'object' || tree === null) return tree;
  return Object.fromEntries(
    Object.entries(tree)
      .filter(([key]) => key !== 'at')
      .map(([key, value]) => [key, withoutPlaces(value)]),
  );
}
