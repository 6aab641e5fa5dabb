/** Moments as names of files and lines of events write them, in UTC. */

/** `20261120-222156` */
export function fileMoment(ms: number): string {
  const [date = '', time = ''] = new Date(ms).toISOString().slice(0, 19).split('T');
  return `${date.replaceAll('-', '')}-${time.replaceAll(':', '')}`;
}

/** `2026-11-20 22:21:56.799` */
export function eventMoment(ms: number): string {
  return new Date(ms).toISOString().replace('T', ' ').replace('Z', '');
}
