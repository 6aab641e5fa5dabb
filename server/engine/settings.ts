/** The engine's settings where nothing else is configured; see base/settings.ts for their names. */
import {defaultCommitLimits} from '#server/transactions/coordinator.ts';
import type {EngineSettings} from './engine-options.ts';
import {formatLevels, formatsOf} from './formats/levels.ts';

export const defaultEngineSettings: EngineSettings = {
  segmentBytes: 64 << 20,
  walFlush: 2,
  freeBytesMin: 32 << 20,
  formats: formatsOf(formatLevels.at(-1)?.since ?? ''),
  commit: defaultCommitLimits,
  transaction: {writeBytesMax: 256 << 20, durationMsMax: 600_000},
};
