/**
 * What the configuration lets an agent do: six permissions, for the whole server and per database.
 *
 * A permission opens nothing by itself: the rights of the user are asked by the session all the
 * same.
 */
import {ToolRefusal} from './tool-refusal.ts';

export type Permission = 'read' | 'insert' | 'update' | 'delete' | 'schema' | 'admin';

/** How a sentence names the operations of a permission. */
const operationWords: Readonly<Record<Permission, string>> = {
  read: 'Read',
  insert: 'Insert',
  update: 'Update',
  delete: 'Delete',
  schema: 'Schema change',
  admin: 'Admin',
};

export function notPermitted(permission: Permission): ToolRefusal {
  return new ToolRefusal(
    `${operationWords[permission]} operations are not allowed by MCP configuration`,
  );
}
