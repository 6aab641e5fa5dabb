/**
 * Runs the shell blocks of the page about upgrades with two releases: this one, and one that brings
 * a format level.
 */
import {rmSync} from 'node:fs';
import {join} from 'node:path';
import {after} from 'node:test';
import {version} from '#server/node/version.ts';
import {makeRelease, nextMinor} from '../upgrade/next-release.ts';
import {temporaryRoot} from '../worlds/server-process.ts';
import {runsAsWritten} from './runs-as-written.ts';

const folder = temporaryRoot('newer-release');
after(() => rmSync(folder, {recursive: true, force: true}));

runsAsWritten('docs/upgrade.md', {
  millisMax: 400_000,
  before: () => {
    const newer = makeRelease(join(folder, 'newer'), nextMinor);
    return `older=bin/svc older_release=${version} newer=${newer} newer_release=${nextMinor}`;
  },
});
