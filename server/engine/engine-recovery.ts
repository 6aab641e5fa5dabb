/**
 * How an engine is recovered: as a server alone (recovery/recovery.ts), or as a member of a
 * cluster.
 */
import type {CommitPipeline} from '#server/transactions/commit-pipeline.ts';
import type {DatabaseSet} from './database-set.ts';
import type {EngineLog, EngineLogObserver} from './engine-log.ts';
import type {DataPaths, EngineOptions, PipeParts} from './engine-options.ts';
import {LocalCommitLog} from './local-commit-log.ts';
import {recoverMember} from './recovery/member-recovery.ts';
import {recover} from './recovery/recovery.ts';

export type StartLog = (pipe: CommitPipeline, observer: EngineLogObserver) => EngineLog;

export interface RecoveredEngine {
  readonly databases: DatabaseSet;
  readonly pipeParts: Omit<PipeParts, 'settings'>;
  readonly startLog: StartLog;
}

/** @throws {Refusal} `start.refused`, as the recoveries say. */
export async function recoverEngine(options: EngineOptions & DataPaths): Promise<RecoveredEngine> {
  const {settings, memberLog} = options;
  const recovery = {
    ...options,
    segmentBytes: settings.segmentBytes,
    formats: settings.formats,
    raftStorageParent: settings.raftStorageParent ?? options.rootPath,
  };
  if (memberLog === undefined) {
    const {log, databases} = await recover(recovery);
    return {
      databases,
      pipeParts: {log, logId: log.logId, startIndex: log.lastIndex},
      startLog: (pipe, observer) => new LocalCommitLog(pipe, observer),
    };
  }
  const {log, databases, durableIndex, committedIndex} = await recoverMember(recovery, memberLog);
  return {
    databases,
    pipeParts: {log: undefined, logId: log.logId, startIndex: durableIndex},
    startLog: (pipe, observer) => log.start(pipe, observer, committedIndex),
  };
}
