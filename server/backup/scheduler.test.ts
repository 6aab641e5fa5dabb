/**
 * What the scheduler of backups tells, event by event: begun and ended, completed and rotated,
 * failed, skipped, missed, never due; and a leader that is none any more when its backup is done.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {Scheduler} from '#server/schedule/scheduler.ts';
import {type BackupDocument, readBackupDocument} from './backup-document.ts';
import {BackupScheduler} from './scheduler.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** A server whose clock is set by the test, and whose backups end when the test says so. */
class World {
  now = Date.parse('2026-03-01T00:00:00Z');
  leads = true;
  readonly told: string[] = [];
  readonly begun: number[] = [];
  readonly rotated: string[] = [];
  backUp: () => Promise<string> = async () => 'a.zip';
  readonly #clock = {now: () => this.now, monotonic: () => this.now};
  readonly #jobs = new Scheduler({clock: this.#clock, timers: {after: () => () => {}}});
  readonly #scheduler = new BackupScheduler({
    scheduler: this.#jobs,
    clock: this.#clock,
    logger: {
      log: (level, event, facts) => {
        assert.equal(facts?.['plugin'], 'Auto-Backup');
        const about = [facts['reason'], facts['file']].filter(fact => typeof fact === 'string');
        this.told.push([level, event, ...about].join(' '));
      },
    },
    timeZone: () => 'UTC',
    openDatabases: () => ['music'],
    runsHere: server => server === '*' || (server === '$leader' && this.leads),
    backUp: async () => {
      this.begun.push(this.now);
      return await this.backUp();
    },
    rotate: async database => {
      this.rotated.push(database);
      return ['old.zip'];
    },
  });

  use(plan: object | undefined): void {
    const document: BackupDocument | undefined = plan && readBackupDocument({defaults: plan});
    this.#scheduler.use(document);
  }

  /** Lets time go by, and what came due begin. */
  async pass(ms: number): Promise<void> {
    this.now += ms;
    this.#jobs.look();
    await new Promise(resolve => setImmediate(resolve));
  }

  /** What was told since it was asked last. */
  news(): readonly string[] {
    return this.told.splice(0);
  }

  get outcome(): string | undefined {
    return this.#jobs.list()[0]?.last?.outcome;
  }
}

const hourly = {schedule: {frequencyMinutes: 60}};

test('begun, completed, rotated, ended', async () => {
  const world = new World();
  world.use(hourly);
  assert.deepEqual(world.news(), ['info auto-backup.scheduler-started']);
  await world.pass(hourMs);
  assert.deepEqual(world.news(), [
    'info auto-backup.completed a.zip',
    'info auto-backup.rotated old.zip',
  ]);
  assert.equal(world.outcome, 'completed');
  world.use(hourly);
  assert.deepEqual(world.news(), []);
  world.use(undefined);
  assert.deepEqual(world.news(), ['info auto-backup.scheduler-stopped']);
  await world.pass(hourMs);
  assert.deepEqual(world.news(), []);
});

test('one that fails is told, removes no archive, and comes again', async () => {
  const world = new World();
  world.use(hourly);
  world.news();
  world.backUp = async () => {
    throw new Error('the disk is full');
  };
  await world.pass(hourMs);
  assert.deepEqual(world.news(), ['error auto-backup.failed the disk is full']);
  assert.deepEqual([world.outcome, world.rotated], ['failed', []]);
  world.backUp = async () => 'b.zip';
  await world.pass(hourMs);
  assert.deepEqual(world.news()[0], 'info auto-backup.completed b.zip');
});

test('while one is under way, of its own or by hand, the next is skipped', async () => {
  const world = new World();
  world.use(hourly);
  world.news();
  const slow = Promise.withResolvers<string>();
  world.backUp = () => slow.promise;
  await world.pass(hourMs);
  await world.pass(hourMs);
  assert.deepEqual(world.news(), ['warn auto-backup.skipped the one before is under way']);
  slow.resolve('slow.zip');
  await world.pass(0);
  assert.deepEqual(world.news()[0], 'info auto-backup.completed slow.zip');
  world.backUp = async () => {
    throw new Refusal('backup.running', 'already in progress');
  };
  await world.pass(hourMs);
  assert.deepEqual(world.news(), ['warn auto-backup.skipped already in progress']);
  assert.equal(world.begun.length, 2);
});

test('what came due while the machine slept is missed once, and not made up for', async () => {
  const world = new World();
  const start = world.now;
  world.use(hourly);
  world.news();
  await world.pass(5.5 * hourMs);
  assert.deepEqual(world.news(), ['warn auto-backup.missed the server was not running then']);
  assert.deepEqual(world.begun, []);
  await world.pass(0.5 * hourMs);
  assert.deepEqual(world.begun, [start + 6 * hourMs]);
});

test('an expression that never meets its window is told once', () => {
  const world = new World();
  const never = {
    type: 'cron',
    expression: '0 0 12 * * *',
    timeWindow: {start: '01:00', end: '02:00'},
  };
  world.use({schedule: never});
  const said = 'error auto-backup.never its expression never comes due inside its time window';
  assert.deepEqual(world.news(), ['info auto-backup.scheduler-started', said]);
  world.use({schedule: never});
  assert.deepEqual(world.news(), []);
});

test('a leader that is none any more ends its backup, and begins no other', async () => {
  const world = new World();
  world.use(hourly);
  world.news();
  const slow = Promise.withResolvers<string>();
  world.backUp = () => slow.promise;
  await world.pass(hourMs);
  world.leads = false;
  await world.pass(hourMs);
  slow.resolve('of-the-old-leader.zip');
  await world.pass(hourMs);
  assert.deepEqual(world.news(), [
    'info auto-backup.completed of-the-old-leader.zip',
    'info auto-backup.rotated old.zip',
  ]);
  assert.equal(world.begun.length, 1);
  world.leads = true;
  world.backUp = async () => 'again.zip';
  await world.pass(hourMs);
  assert.equal(world.begun.length, 2);
});
