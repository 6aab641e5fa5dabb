/**
 * Names of settings that have a meaning in other systems and none here: whoever writes one is told
 * why, and what to use. They are refused rather than passed over, so that nobody relies on one.
 *
 * Invariant: no name stands here and in the table of settings.
 */

/** The reason by name, as the end of the sentence that begins with it. */
export const refusedSettings: Readonly<Record<string, string>> = {
  'svc.ha.grpcFlowControlWindow':
    'members are connected by plain TCP, whose window the system sets; what may wait to be sent ' +
    'is svc.ha.writeBufferSize',
  'svc.ha.replicationChunkMaxSize':
    'a commit travels whole; its largest size is svc.ha.appendBufferSize',
  'svc.ha.raftStorageMinFreeSpacePerc':
    'the space that is kept free is svc.storage.freeSpaceMin, in bytes',
  'svc.ha.ratisRestartMaxRetries':
    'a log whose disk is full waits for room and goes on by itself, so that there is no restart ' +
    'to count',
  'svc.ha.snapshotGapTolerance':
    'a store knows its place in the log exactly, so that there is no gap to tolerate',
  'svc.ha.snapshotWatchdogTimeout':
    'an install that brings nothing for svc.ha.snapshotDownloadTimeout is begun anew',
  'svc.ha.snapshotInstallBackupWaitMs':
    'a backup reads a view of its own, which an install does not disturb',
  'svc.ha.tsMaxSealedInlineSize': 'all data travels in the log or in a snapshot, none beside them',
  'svc.ha.errorRetries':
    'what may be repeated is repeated by the command line, see svc.ha.clientElectionRetryCount',
};
