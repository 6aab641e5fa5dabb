/**
 * The plugins that `svc.server.plugins` names: entries `name` or `name:class` between commas. Names
 * ignore case, and the class is what other systems need and says nothing here.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import {builtWithout} from './optional-modules.ts';

/** All that there are; each is on whether it is named or not. */
const plugins: readonly string[] = ['mcp', 'prometheus'];

/** @throws {Refusal} `start.refused` for a name that this build does not know. */
export function checkPlugins(settings: Settings): void {
  for (const entry of settings.get('svc.server.plugins').split(',')) {
    const [name = ''] = entry.trim().toLowerCase().split(':');
    if (entry.trim() === '') continue;
    const isPresent = plugins.includes(name) && !builtWithout.includes(name);
    if (isPresent) continue;
    const present = plugins.filter(plugin => !builtWithout.includes(plugin)).join(', ');
    throw new Refusal(
      'start.refused',
      `svc.server.plugins names '${entry.trim().slice(0, 80)}': this build has ${present}`,
    );
  }
}
