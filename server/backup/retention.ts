/**
 * Which archives of a database are kept, and which are removed after a scheduled backup.
 *
 * By number, the newest stay. By tiers, archives fall into hours, days, ISO weeks, months and years
 * (UTC); of the most recent buckets of each tier that hold an archive, the oldest archive stays.
 * The most recent archive of all always stays.
 * Source: docs/backup.md; ISO 8601 for weeks: they begin on Monday, and a week belongs to the year
 * in which its Thursday lies.
 */
import type {ArchiveTime} from './archive-name.ts';

export type Retention = {readonly kind: 'count'; readonly maxFiles: number} | TieredRetention;

/** How many buckets of each tier count. */
export interface TieredRetention extends Readonly<Record<Tier, number>> {
  readonly kind: 'tiered';
}

type Tier = 'hourly' | 'daily' | 'weekly' | 'monthly' | 'yearly';

const dayMs = 86_400_000;

/** The bucket that a moment falls into; greater for later ones. */
const buckets: Readonly<Record<Tier, (at: ArchiveTime) => number>> = {
  hourly: at => Math.floor(at / 3_600_000),
  daily: at => Math.floor(at / dayMs),
  // 1970-01-01 was a Thursday: weeks are counted from the Monday before. Two weeks have the same
  // number exactly when they have the same ISO year and ISO week.
  weekly: at => Math.floor((Math.floor(at / dayMs) + 3) / 7),
  monthly: at => new Date(at).getUTCFullYear() * 12 + new Date(at).getUTCMonth(),
  yearly: at => new Date(at).getUTCFullYear(),
};

const tiers = ['hourly', 'daily', 'weekly', 'monthly', 'yearly'] as const;

/** Selects the archives that go, in any order. */
export function expired<T extends {readonly at: ArchiveTime}>(
  archives: readonly T[],
  retention: Retention,
): readonly T[] {
  const newestFirst = [...archives].sort((left, right) => right.at - left.at);
  if (retention.kind === 'count') return newestFirst.slice(retention.maxFiles);
  const kept = new Set(newestFirst.slice(0, 1));
  for (const tier of tiers) keepOldest(newestFirst, tier, retention[tier], kept);
  return newestFirst.filter(archive => !kept.has(archive));
}

function keepOldest<T extends {readonly at: ArchiveTime}>(
  newestFirst: readonly T[],
  tier: Tier,
  count: number,
  kept: Set<T>,
): void {
  const oldest = new Map<number, T>();
  for (const archive of newestFirst) {
    const bucket = buckets[tier](archive.at);
    if (!oldest.has(bucket) && oldest.size === count) break;
    oldest.set(bucket, archive);
  }
  for (const archive of oldest.values()) kept.add(archive);
}
