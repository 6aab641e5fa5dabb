/** A short round of each fuzzing target; `make fuzz` runs them for as long as one likes. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {join} from 'node:path';
import {sharedFolder} from '../conformance/conformance.ts';
import {cypherFuzzer} from './fuzz-cypher.ts';
import {jsonFuzzer} from './fuzz-json.ts';
import {httpFuzzer} from './fuzz-http.ts';
import {mcpFuzzer} from './fuzz-mcp.ts';
import {recordFuzzer} from './fuzz-record.ts';
import {sqlFuzzer} from './fuzz-sql.ts';

const millisecondsEach = 2_500;

/** Others are for `make fuzz`: what fails here fails again. */
const seed = Number(process.env['SEED'] || 1);

for (const [name, make] of [
  ['cypher', () => cypherFuzzer(seed, join(sharedFolder(), 'conformance/opencypher-tck'))],
  ['sql', () => sqlFuzzer(seed, join(sharedFolder(), 'conformance/sql-inventory/statements.txt'))],
  ['json', jsonFuzzer],
  ['record', recordFuzzer],
  ['http', httpFuzzer],
  ['mcp', mcpFuzzer],
] as const) {
  test(`nothing surprises us: make fuzz TARGET=${name} SEED=${seed}`, async () => {
    const fuzzer = await make(seed);
    const end = performance.now() + millisecondsEach;
    let steps = 0;
    try {
      for (; performance.now() < end; steps++) await fuzzer.step();
      await fuzzer.finish?.();
    } finally {
      await fuzzer.close?.();
    }
    assert.ok(steps > 0);
  });
}
