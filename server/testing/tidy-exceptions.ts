/**
 * The files that may break a rule of tidy.ts, a reason each. The list may only shrink: an exception
 * that excuses nothing any more is itself a violation.
 */
import type {TidyException} from './tidy.ts';

export const tidyExceptions: readonly TidyException[] = [];
