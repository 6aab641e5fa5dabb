/** How parsers say what they expected, and which of it a misspelt word may have meant. */

/** The most expectations that are listed; the rest would not be read. */
const expectedMax = 14;

export function describeExpected(notes: ReadonlySet<string>): string {
  const all = [...notes].map(note => (/^[A-Za-z]/.test(note) ? note : `'${note}'`));
  if (all.length === 0) return 'nothing more';
  const listed = all.slice(0, expectedMax);
  if (all.length > expectedMax) return `${listed.join(', ')} and others`;
  const last = listed.pop() ?? '';
  return listed.length === 0 ? last : `${listed.join(', ')} or ${last}`;
}

/** The expected keyword that `found` misspells, if one is close enough. */
export function nearestKeyword(found: string, notes: ReadonlySet<string>): string | undefined {
  if (found.length > 30) return undefined;
  let best: string | undefined;
  let bestDistance = found.length <= 4 ? 2 : 3;
  for (const note of notes) {
    const word = note.split(' ')[0] ?? '';
    if (word !== word.toUpperCase() || !/^[A-Z]/.test(word)) continue;
    const distance = editDistance(found.toUpperCase(), word);
    if (distance < bestDistance) {
      best = note;
      bestDistance = distance;
    }
  }
  return best;
}

/** Insertions, deletions, replacements and swaps of neighbours from `a` to `b`. */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({length: b.length + 1}, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min(
        (last[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (last[j - 1] ?? 0) + (same ? 0 : 1),
      );
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, (beforeLast[j - 2] ?? 0) + 1);
      }
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}

/** The known name that `found` misspells, if one is close enough. */
export function nearestName(found: string, names: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestDistance = found.length <= 4 ? 2 : 3;
  for (const name of names) {
    if (Math.abs(name.length - found.length) >= bestDistance) continue;
    const distance = editDistance(found, name);
    if (distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  return best;
}
