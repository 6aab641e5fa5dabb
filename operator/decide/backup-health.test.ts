/** The condition BackupHealthy over schedules that work, fail, never worked or were put off. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {type BackupFacts, backupHealth, lastBackupOf, type ScheduleFacts} from './backup-health.ts';

const hourMs = 3_600_000;
const nowMs = Date.UTC(2026, 0, 10, 12, 30);

function schedule(more: Partial<ScheduleFacts> = {}): ScheduleFacts {
  return {
    name: 'hourly',
    expression: '0 * * * *',
    isSuspended: false,
    startingDeadlineMs: hourMs / 4,
    createdMs: nowMs - 100 * hourMs,
    lastSuccessMs: Date.UTC(2026, 0, 10, 12),
    ...more,
  };
}

function backup(hoursAgo: number, phase: string, more: Partial<BackupFacts> = {}): BackupFacts {
  const finishedAt = phase === 'Running' ? undefined : '2026-01-10T12:00:30Z';
  const createdMs = nowMs - hoursAgo * hourMs;
  return {name: `b${hoursAgo}`, schedule: 'hourly', phase, createdMs, finishedAt, ...more};
}

function said(schedules: readonly ScheduleFacts[], backups: readonly BackupFacts[] = []): string {
  const {status, reason} = backupHealth({nowMs, schedules, backups});
  return `${status} ${reason}`;
}

test('without a schedule nothing is known', () => {
  assert.equal(said([]), 'Unknown NoBackupYet');
  assert.equal(
    said([schedule({isSuspended: true, lastSuccessMs: undefined})]),
    'Unknown NoBackupYet',
  );
});

test('a recent good backup is healthy, also while the next one runs', () => {
  assert.equal(said([schedule()], [backup(0.5, 'Completed')]), 'True BackupsCurrent');
  const running = [backup(1, 'Completed'), backup(0.1, 'Running')];
  assert.equal(said([schedule()], running), 'True BackupsCurrent');
});

test('a failed run is told until one is good, and one that was skipped changes nothing', () => {
  const failed = [backup(2, 'Completed'), backup(1, 'PartiallyFailed')];
  assert.equal(said([schedule()], failed), 'False BackupFailed');
  assert.equal(said([schedule()], [...failed, backup(0.1, 'Skipped')]), 'False BackupFailed');
  assert.equal(said([schedule()], [...failed, backup(0.1, 'Completed')]), 'True BackupsCurrent');
});

test('a schedule that never worked becomes overdue by itself', () => {
  const fresh = schedule({lastSuccessMs: undefined, createdMs: nowMs - hourMs / 2});
  assert.equal(said([fresh]), 'Unknown NoBackupYet');
  assert.equal(said([schedule({lastSuccessMs: undefined})]), 'False BackupOverdue');
  const old = schedule({lastSuccessMs: nowMs - 5 * hourMs});
  assert.equal(said([old]), 'False BackupOverdue');
  assert.equal(said([old], [backup(0.4, 'Running')]), 'True BackupsCurrent');
});

test('of several schedules the worst is told', () => {
  const daily = schedule({name: 'daily', expression: '0 3 * * *', lastSuccessMs: undefined});
  assert.equal(said([schedule(), daily]), 'False BackupOverdue');
  const young = {...daily, createdMs: nowMs - hourMs};
  assert.equal(said([schedule(), young]), 'Unknown NoBackupYet');
});

test('the last backup is that which a person asked for, too', () => {
  const asked = backup(0.2, 'Completed', {name: 'by-hand', schedule: undefined});
  const last = lastBackupOf([backup(1, 'Failed'), asked, backup(0.1, 'Skipped')]);
  assert.deepEqual(last, {name: 'by-hand', time: '2026-01-10T12:00:30Z', result: 'Completed'});
  assert.equal(lastBackupOf([backup(1, 'Running')]), undefined);
});
