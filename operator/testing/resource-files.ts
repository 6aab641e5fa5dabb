/**
 * The files that are made from `operator/api`: text of each by its path from the project's root.
 */
import {stringify} from 'yaml';
import {resourceDefinitions} from '#operator/api/crd.ts';

export interface MadeFile {
  readonly path: string;
  readonly text: string;
}

const HEAD = '# Made from operator/api by `make resources`; change it there.\n';

/** YAML as kubectl prints it: two spaces, no wrapped lines, no anchors. */
export function yamlOf(value: unknown): string {
  return stringify(value, {lineWidth: 0, aliasDuplicateObjects: false});
}

export function resourceFiles(): readonly MadeFile[] {
  return resourceDefinitions().map(({file, definition}) => ({
    path: `crds/${file}`,
    text: HEAD + yamlOf(definition),
  }));
}
