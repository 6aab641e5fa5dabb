/** Names of the files that a store keeps in its directory, as RocksDB gives them. */
const names = [
  'CURRENT|IDENTITY|LOCK|LOG(?:\\.old\\.\\d+)?',
  '(?:MANIFEST|OPTIONS)-\\d+',
  '\\d+\\.(?:sst|log|blob)',
  // Written under such a name first, and directories of files that are kept for a while.
  '[\\w-]+\\.dbtmp|archive|lost',
];
const storeFile = new RegExp(`^(?:${names.join('|')})$`);

/** Whether a store may have written a file (or directory) of that name; others mean nothing. */
export function isStoreFile(name: string): boolean {
  return storeFile.test(name);
}
