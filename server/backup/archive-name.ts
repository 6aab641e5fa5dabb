/**
 * Names of archives: `<database>-backup-<YYYYMMDD>-<HHMMSSmmm>.zip`, the moment in UTC, so that
 * names sort as the archives were made, in the night when clocks go back too. Those of earlier
 * releases stop at the second; they are listed, restored and rotated like the others.
 * Source: docs/backup.md.
 */

/** Milliseconds since 1970; what it names is a moment in UTC. */
export type ArchiveTime = number;

export function archiveName(database: string, at: ArchiveTime): string {
  const digits = new Date(at).toISOString().replaceAll(/[-:.TZ]/g, '');
  return `${database}-backup-${digits.slice(0, 8)}-${digits.slice(8, 17)}.zip`;
}

/** The moment that a name tells; undefined when it is no name of an archive of the database. */
export function archiveTime(database: string, name: string): ArchiveTime | undefined {
  const start = `${database}-backup-`;
  if (!name.startsWith(start)) return undefined;
  const match = /^(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)(\d{3})?\.zip$/.exec(
    name.slice(start.length),
  );
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second, millisecond = '000'] = match;
  const written = `${year}-${month}-${day}T${hour}:${minute}:${second}.${millisecond}Z`;
  const at = Date.parse(written);
  // Dates such as 30 February are read as days of the next month.
  return Number.isNaN(at) || new Date(at).toISOString() !== written ? undefined : at;
}

/** Why a text from outside cannot be the name of an archive; undefined: it can. */
export function archiveNameFault(name: string): string | undefined {
  if (/[/\\\0]/.test(name) || name.includes('..')) {
    return `'${name.slice(0, 120)}' is a path: an archive is named without its directory`;
  }
  if (!name.endsWith('.zip') || !name.includes('-backup-')) {
    return `'${name.slice(0, 120)}' is no name of an archive: those end in .zip and hold -backup-`;
  }
  return undefined;
}
