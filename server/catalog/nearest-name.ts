/**
 * The name that somebody probably meant: same letters in another case, or one or two edits off.
 */

const distanceMax = 2;
const nameLengthMax = 64;
const candidatesMax = 1_000;

/** ` (did you mean 'Person'?)`, or nothing when no name is near. */
export function nearestNameHint(name: string, candidates: Iterable<string>): string {
  const nearest = nearestName(name, candidates);
  return nearest === undefined ? '' : ` (did you mean '${nearest}'?)`;
}

/** A message without what `nearestNameHint` put there. */
export function withoutHint(message: string): string {
  return message.replace(/ \(did you mean '[^']*'\?\)/u, '');
}

export function nearestName(name: string, candidates: Iterable<string>): string | undefined {
  if (name.length > nameLengthMax) return undefined;
  let best: string | undefined;
  let bestDistance = Math.min(distanceMax, Math.floor(name.length / 3)) + 1;
  let seen = 0;
  for (const candidate of candidates) {
    if (++seen > candidatesMax) break;
    if (candidate.toLowerCase() === name.toLowerCase()) return candidate;
    if (Math.abs(candidate.length - name.length) >= bestDistance) continue;
    const distance = editDistance(name, candidate);
    if (distance >= bestDistance) continue;
    best = candidate;
    bestDistance = distance;
  }
  return best;
}

/** Insertions, deletions and replacements from one text to the other (Levenshtein). */
function editDistance(from: string, to: string): number {
  let row = Array.from({length: to.length + 1}, (_, at) => at);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] as number) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[to.length] as number;
}
