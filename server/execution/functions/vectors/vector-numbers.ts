/**
 * Sums over the elements of vectors: products, norms, the cosine.
 *
 * They are computed in 64 bits and rounded once, by the caller. Vectors of a pair have one length.
 */
export type Vector = Float32Array;

export function dotProduct(left: Vector, right: Vector): number {
  let sum = 0;
  for (let at = 0; at < left.length; at++) sum += (left[at] ?? 0) * (right[at] ?? 0);
  return sum;
}

export function norm(vector: Vector): number {
  return Math.sqrt(dotProduct(vector, vector));
}

/** Returns 0 for a vector without a direction. */
export function cosine(left: Vector, right: Vector): number {
  const lengths = norm(left) * norm(right);
  return lengths === 0 ? 0 : Math.max(-1, Math.min(1, dotProduct(left, right) / lengths));
}

export function sumOf(vector: Vector, of: (element: number) => number): number {
  let sum = 0;
  for (const element of vector) sum += of(element);
  return sum;
}

export function euclideanDistance(left: Vector, right: Vector): number {
  let sum = 0;
  for (let at = 0; at < left.length; at++) sum += ((left[at] ?? 0) - (right[at] ?? 0)) ** 2;
  return Math.sqrt(sum);
}

export function manhattanDistance(left: Vector, right: Vector): number {
  let sum = 0;
  for (let at = 0; at < left.length; at++) sum += Math.abs((left[at] ?? 0) - (right[at] ?? 0));
  return sum;
}

/** The mean of the squared distances from the mean, over all elements. */
export function variance(vector: Vector): number {
  const mean = sumOf(vector, element => element) / vector.length;
  return sumOf(vector, element => (element - mean) ** 2) / vector.length;
}

/** The vector of length 1 in the same direction; one without a direction stays as it is. */
export function normalized(vector: Vector): Vector {
  const length = norm(vector);
  return length === 0 ? vector : vector.map(element => element / length);
}
