/**
 * How the fake API server changes an object: by a merge patch (RFC 7386), and by an apply of
 * somebody who may have applied another text before.
 */

type Map = Readonly<Record<string, unknown>>;

function isMap(value: unknown): value is Map {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isMap(patch)) return patch;
  const merged: Record<string, unknown> = isMap(target) ? {...target} : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else if (value !== undefined) merged[key] = mergePatch(merged[key], value);
  }
  return merged;
}

/** Maps that an apply replaces whole: Kubernetes' schemas call them atomic. */
const ATOMIC = new Set(['selector', 'podSelector', 'matchLabels']);

/** `now` over `current`; what was in `before` and is no more in `now` goes. */
export function appliedMerge(current: unknown, before: unknown, now: unknown): unknown {
  if (!isMap(now)) return now;
  const merged: Record<string, unknown> = isMap(current) ? {...current} : {};
  if (isMap(before)) {
    for (const key of Object.keys(before)) if (now[key] === undefined) delete merged[key];
  }
  for (const [key, value] of Object.entries(now)) {
    if (value === undefined) continue;
    merged[key] = ATOMIC.has(key)
      ? value
      : appliedMerge(merged[key], isMap(before) ? before[key] : undefined, value);
  }
  return merged;
}
