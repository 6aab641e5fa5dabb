/**
 * The seven rights a group can give: three on a database, four on the records of a type.
 *
 * Names are those of the documented group file (docs/http.md) and never change.
 */
export const databaseRights = ['updateSecurity', 'updateSchema', 'updateDatabaseSettings'] as const;
export const recordRights = ['createRecord', 'readRecord', 'updateRecord', 'deleteRecord'] as const;

export type DatabaseRight = (typeof databaseRights)[number];
export type RecordRight = (typeof recordRights)[number];

export function isDatabaseRight(name: unknown): name is DatabaseRight {
  return databaseRights.some(right => right === name);
}

export function isRecordRight(name: unknown): name is RecordRight {
  return recordRights.some(right => right === name);
}
