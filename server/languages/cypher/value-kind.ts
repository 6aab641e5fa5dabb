/** What is known of a value before anything runs. */
export type Kind =
  | 'any'
  | 'null'
  | 'boolean'
  | 'integer'
  | 'float'
  | 'string'
  | 'list'
  | 'map'
  | 'node'
  | 'relationship'
  | 'relationships'
  | 'path';
