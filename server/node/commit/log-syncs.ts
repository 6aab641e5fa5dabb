/** What the threads of this process's log have waited for its disk. */
import {LogSyncs} from '#server/log/counted-disk.ts';

export const logSyncs = new LogSyncs();
