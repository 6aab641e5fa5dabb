/** Runs the shell blocks of README.md and of the pages on operation. */
import {runsAsWritten} from './runs-as-written.ts';

for (const page of [
  'README.md',
  'docs/getting-started.md',
  'docs/http.md',
  'docs/isolation.md',
  'docs/durability.md',
  'docs/operations.md',
  'docs/mcp.md',
]) {
  runsAsWritten(page);
}
