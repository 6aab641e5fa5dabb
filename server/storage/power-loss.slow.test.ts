/**
 * The differential power-loss test: real RocksDB against the twin's crash model.
 *
 * A program writes a random history while its disk calls are recorded; its directory is rebuilt as
 * a power loss could have left it after any of them, reopened with a real store, and must hold a
 * state that the twin can be left in at that point. A failure prints what to set: POWER_LOSS_SEED
 * for one history, POWER_LOSS_SEEDS for their number, POWER_LOSS_POINTS for crashes in each,
 * POWER_LOSS_BULK_BYTES for larger values in even seeds (60000 fills the fallback's memtable).
 */
import assert from 'node:assert/strict';
import {existsSync, mkdirSync, mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {
  marksOf,
  rebuild,
  recordingObstacle,
  recordProgram,
  type Recording,
} from '#server/testing/power-loss/power-loss.ts';
import {
  createSeeded,
  digestOf,
  type Operation,
  powerLossHistory,
  writeChanges,
} from '#server/testing/property/random-history.ts';
import {createMemoryStore} from './memory/memory-store.ts';
import {crashImage, type Image, InMemoryDisk} from './memory/shelf.ts';
import {openStore} from './rocksdb/open.ts';

const seedFirst = Number(process.env['POWER_LOSS_SEED'] ?? 1);
const seedCount = Number(
  process.env['POWER_LOSS_SEEDS'] ?? (process.env['POWER_LOSS_SEED'] ? 1 : 2),
);
const pointCount = Number(process.env['POWER_LOSS_POINTS'] ?? 25);
const operationCount = 150;
const bulkBytes = Number(process.env['POWER_LOSS_BULK_BYTES'] ?? 1000);
const skip = recordingObstacle() ?? false;

const root = mkdtempSync(join(tmpdir(), 'svc-power-loss-'));
after(() => rmSync(root, {recursive: true}));

for (let seed = seedFirst; seed < seedFirst + seedCount; seed++) {
  for (const engine of ['native', 'fallback'] as const) {
    test(`${engine}, seed ${seed}: a power loss leaves what the twin can leave`, {
      skip,
    }, async t => {
      const workspace = join(root, `${engine}-${seed}`);
      mkdirSync(workspace);
      const recording = await recordProgram({
        program: join(import.meta.dirname, '../testing/faults/recorded-writer.ts'),
        environment: {
          STORE_ENGINE: engine,
          STORE_SEED: String(seed),
          STORE_OPERATIONS: String(operationCount),
          STORE_BULK_BYTES: String(bulkBytes),
        },
        workspace,
      });
      const history = powerLossHistory(seed, {length: operationCount, bulkBytes});
      const random = createSeeded(seed);
      let lossCount = 0;
      for (let point = 0; point < pointCount; point++) {
        const eventCount = 1 + (random.u32() % recording.events.length);
        const label = `POWER_LOSS_SEED=${seed}, ${engine}, after event ${eventCount}`;
        const target = join(workspace, `rebuilt-${point}`);
        rebuild(recording, {eventCount, random, target});
        const progress = progressOf(recording, eventCount);
        const image = twinImage(history, progress);
        lossCount += image.pending.length > 0 ? 1 : 0;
        await checkState(join(target, 'store'), image, label);
        await checkCheckpoints(target, history, progress, label);
        rmSync(target, {recursive: true});
      }
      t.diagnostic(`${recording.events.length} events, ${lossCount} points with a choice`);
      assert.ok(lossCount > 0, 'some crashes struck unsynced writes');
    });
  }
}

/** Operations that had ended, and the one under way. */
interface Progress {
  readonly endedCount: number;
  readonly underWay: boolean;
}

function progressOf(recording: Recording, eventCount: number): Progress {
  const marks = marksOf(recording, eventCount).filter(mark => mark !== 'opened');
  const endedCount = marks.filter(mark => mark.startsWith('end')).length;
  return {endedCount, underWay: marks.at(-1)?.startsWith('begin') ?? false};
}

/** The twin's directory at the moment of the crash, with all that it may or may not leave. */
function twinImage(history: readonly Operation[], progress: Progress): Image {
  const shelf = new InMemoryDisk();
  let armed = false;
  const store = createMemoryStore({
    shelf,
    onPoint: () => {
      if (armed) throw new Error('power loss');
    },
  });
  for (const operation of history.slice(0, progress.endedCount)) applyToTwin(store, operation);
  const last = progress.underWay ? history[progress.endedCount] : undefined;
  armed = true;
  try {
    if (last !== undefined) applyToTwin(store, last);
  } catch {
    // The operation had begun.
  }
  const image = shelf.image('/memory');
  assert.ok(image);
  return image;
}

/** Whether the twin may be left in the state of this digest; most losses are small. */
function isPossible(image: Image, digest: string): boolean {
  for (let kept = image.pending.length; kept >= 0; kept--) {
    if (digestAfter(image, kept) === digest) return true;
  }
  return false;
}

function digestAfter(image: Image, kept: number): string {
  const copy: Image = {durable: image.durable, pending: [...image.pending], end: undefined};
  crashImage(copy, {u32: () => kept, fill: () => {}});
  const shelf = new InMemoryDisk();
  shelf.create('/memory', copy.durable);
  return digestOf(createMemoryStore({shelf}));
}

function applyToTwin(store: ReturnType<typeof createMemoryStore>, operation: Operation): void {
  if (operation.kind === 'write') writeChanges(store, operation.changes, operation.sync);
  else if (operation.kind === 'make-durable' || operation.kind === 'reopen') store.makeDurable();
}

async function checkState(path: string, image: Image, label: string): Promise<void> {
  const digests = new Set<string>();
  for (const engine of ['native', 'fallback'] as const) {
    const store = await openStore(path, {engine}).catch((error: unknown) => {
      throw new Error(`${label}: does not open`, {cause: error});
    });
    digests.add(digestOf(store));
    store.close();
  }
  const [digest = ''] = digests;
  assert.equal(digests.size, 1, `${label}: the engines see one state`);
  assert.ok(isPossible(image, digest), `${label}: a state that the twin cannot be left in`);
}

/** A checkpoint that was reported is there as of its moment; one under way is whole or absent. */
async function checkCheckpoints(
  target: string,
  history: readonly Operation[],
  progress: Progress,
  label: string,
): Promise<void> {
  const begun = progress.endedCount + (progress.underWay ? 1 : 0);
  const twin = createMemoryStore();
  for (const [index, operation] of history.slice(0, begun).entries()) {
    if (operation.kind !== 'checkpoint') {
      applyToTwin(twin, operation);
      continue;
    }
    const path = join(target, `checkpoint-${index}`);
    if (index >= progress.endedCount && !existsSync(path)) continue;
    const copy = await openStore(path, {mustExist: true});
    assert.equal(digestOf(copy), digestOf(twin), `${label}: checkpoint ${index}`);
    copy.close();
  }
}
