/**
 * What the configuration lets an agent do: six permissions, for the whole server and per database.
 *
 * A permission opens nothing by itself: the rights of the user are asked by the session all the
 * same.
 */
import {ToolRefusal} from './tool-refusal.ts';

export const permissionNames = ['read', 'insert', 'update', 'delete', 'schema', 'admin'] as const;
export type Permission = (typeof permissionNames)[number];

/** How a sentence names the operations of a permission. */
const operationWords: Readonly<Record<Permission, string>> = {
  read: 'Read',
  insert: 'Insert',
  update: 'Update',
  delete: 'Delete',
  schema: 'Schema change',
  admin: 'Admin',
};

export function isPermission(name: unknown): name is Permission {
  return permissionNames.some(permission => permission === name);
}

export function notPermitted(permission: Permission): ToolRefusal {
  return new ToolRefusal(
    `${operationWords[permission]} operations are not allowed by MCP configuration`,
  );
}
