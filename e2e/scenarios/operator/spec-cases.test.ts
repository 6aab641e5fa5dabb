/** No rule of the resources is left out of what a real API server is asked. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {clusterRules} from '#operator/api/cluster-rules.ts';
import {backupRules, scheduleRules} from '#operator/api/svc-backup.ts';
import {changes, laterChanges, refused, schedules} from './spec-cases.ts';

test('every rule is broken by a case of its own', () => {
  const words = [
    ...[refused, changes, schedules].flatMap(table => Object.values(table).map(([, said]) => said)),
    ...laterChanges.map(([, , , said]) => said),
  ].filter(said => said !== undefined);
  for (const {message} of [...clusterRules, ...scheduleRules, ...backupRules]) {
    assert.ok(
      words.some(said => said.test(message)),
      message,
    );
  }
});
