/** The encodings of rows that threads for long reads know, by name (model/row-encoding.ts). */
import {typedRows} from '#server/execution/query-result.ts';
import type {RowEncoding} from '#server/model/row-encoding.ts';

export const rowEncodings: readonly RowEncoding[] = [typedRows];
