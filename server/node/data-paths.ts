/** Where the settings say that the files of this server lie. */
import {existsSync, readdirSync} from 'node:fs';
import {resolve} from 'node:path';
import {Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import {type DataPaths, dataPaths} from '#server/engine/engine-options.ts';

export function dataPathsIn(settings: Settings): DataPaths {
  return {
    rootPath: resolve(settings.get('svc.server.rootPath')),
    databaseDirectory: resolve(settings.get('svc.server.databaseDirectory')),
    configDirectory: resolve(settings.get('svc.server.configDirectory')),
  };
}

/**
 * Refuses to begin empty beside databases that lie where they would lie without the setting.
 * Nothing was written then.
 *
 * @throws {Refusal} `start.refused`
 */
export function refuseLeftBehind({rootPath, databaseDirectory}: DataPaths): void {
  const usual = dataPaths({rootPath}).databaseDirectory;
  if (databaseDirectory === usual || directoriesIn(databaseDirectory).length > 0) return;
  const left = directoriesIn(usual);
  if (left.length === 0) return;
  throw new Refusal(
    'start.refused',
    `svc.server.databaseDirectory is ${databaseDirectory}, which holds no database, and the ` +
      `databases of this server lie in ${usual} (${left.slice(0, 3).join(', ')}): move what is ` +
      'in there, or take the setting away',
  );
}

function directoriesIn(path: string): string[] {
  if (!existsSync(path)) return [];
  return readdirSync(path, {withFileTypes: true})
    .filter(entry => entry.isDirectory() && !entry.name.startsWith('.'))
    .filter(entry => entry.name !== 'lost+found')
    .map(({name}) => name);
}
