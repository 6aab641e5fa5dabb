/**
 * The format level: one number for the bytes that a server keeps (entries, records, keys).
 *
 * A level comes with a minor or major release and stays for all its patches, so patches of one
 * release read and write each other's databases both ways. A release writes its own level, reads
 * the one before, and refuses every other by name. The level of a server is raised by an entry of
 * its log; from then on older releases refuse its databases, while their rows follow lazily
 * (migration.ts). See docs/design/0014-formats-and-migration.md.
 */
import {assert} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import type {MigrationStep} from './migration.ts';

/** One level, and the release that brought it, as `26.11`: no patch brings one. */
export interface FormatLevel {
  readonly level: number;
  readonly since: string;
  /** What rows of the level before need; absent where they are read as they are for good. */
  readonly step?: MigrationStep;
}

/** Every level there has been, from 1 without gaps. Rows are only added, with their release. */
export const formatLevels: readonly FormatLevel[] = [{level: 1, since: '26.11'}];

/** What one build does with formats. */
export interface Formats {
  /** What it writes; it reads the level before as well. */
  readonly level: number;
  readonly levels: readonly FormatLevel[];
}

/**
 * The formats of the build `version`, as `26.11.1`. A level that belongs to a later release is
 * not written, so that a patch raises nothing whatever its table says.
 */
export function formatsOf(version: string, levels = formatLevels): Formats {
  const usable = levels.filter(({since}) => compareReleases(since, version) <= 0);
  const newest = usable.at(-1);
  assert(newest !== undefined, `no format level is as old as ${version}`);
  return {level: newest.level, levels};
}

/** Compares major and minor; patches are no part of it. */
function compareReleases(left: string, right: string): number {
  const numbers = (text: string) => text.split('.').map(Number);
  const [leftMajor = 0, leftMinor = 0] = numbers(left);
  const [rightMajor = 0, rightMinor = 0] = numbers(right);
  return leftMajor - rightMajor || leftMinor - rightMinor;
}

/** What a place on the disk says of its formats. */
export interface StoredFormat {
  /** Nothing in it is of a later level. */
  readonly level: number;
  /** Nothing in it is of an earlier level; below `level` while a migration is under way. */
  readonly oldest: number;
}

/**
 * Refuses what this build cannot read, naming both levels and what to do.
 *
 * @throws {Refusal} `start.refused`.
 */
export function checkFormat(formats: Formats, stored: StoredFormat, place: string): void {
  const {level, levels} = formats;
  const refuse = (says: string, advice: string): never => {
    throw new Refusal(
      'start.refused',
      `${place} ${says}, and this release reads ${readable(level)}: ${advice}`,
      {detail: {stored: stored.level, supported: level}},
    );
  };
  if (stored.level > level) {
    refuse(
      `was written in format ${stored.level}`,
      'start the release that wrote it, or a later one',
    );
  }
  if (!levels.some(known => known.level === stored.oldest)) {
    refuse(
      `says that its format is ${stored.oldest}, which no release has written`,
      'restore it from a copy',
    );
  }
  if (stored.oldest >= level - 1) return;
  const next = levels.find(known => known.level === stored.oldest + 1);
  refuse(
    `has rows of format ${stored.oldest}`,
    `start release ${next?.since} first and let it finish its migration`,
  );
}

function readable(level: number): string {
  return level === 1 ? 'format 1' : `formats ${level - 1} and ${level}`;
}
