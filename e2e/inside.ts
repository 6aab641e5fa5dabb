/**
 * The lab from the inside: brings a Kubernetes up, runs the scenarios, prints a line for each and
 * what they came to. Started by main.ts in namespaces of its own.
 *
 * Its argument is what main.ts found out, as JSON. Exit code 1 when a scenario failed, 3 when the
 * lab did not come up.
 */
import {Lab} from './lab/lab.ts';
import {LabFolder} from './lab/layout.ts';
import {runScenarios} from './scenarios/run-scenarios.ts';
import {chosen, scenarios} from './scenarios/scenario-table.ts';

/** What main.ts tells. */
export interface Instructions {
  readonly folder: string;
  /** Archives of `make images`, by the name of their image. */
  readonly images: Readonly<Record<string, string>>;
  readonly version: string;
  /** Ids between commas; empty: all. */
  readonly only: string;
  readonly keep: boolean;
  /** Scenarios at once. */
  readonly lanes: number;
}

const nodes = 3;
const instructions = JSON.parse(process.argv[2] ?? '{}') as Instructions;
const began = performance.now();
const seconds = (): string => ((performance.now() - began) / 1_000).toFixed(1);

async function startLab(): Promise<Lab> {
  try {
    return await Lab.start({
      folder: new LabFolder(instructions.folder),
      nodes,
      images: Object.values(instructions.images),
      tell: line => console.error(line),
    });
  } catch (error) {
    console.error('the lab did not come up:', error instanceof Error ? error.message : error);
    process.exit(3);
  }
}

const lab = await startLab();
console.error(`${nodes} nodes are ready after ${seconds()} s`);
const {failed} = await runScenarios(lab, instructions, chosen(scenarios, instructions.only));
if (instructions.keep) {
  console.error(
    [
      'The lab stays until Ctrl-C. In another shell:',
      `  nsenter -t ${readOwnPid()} -m -n -p env KUBECONFIG=${lab.kubeconfig} \\`,
      `    PATH=${process.env['PATH']} kubectl get pods -A`,
    ].join('\n'),
  );
  await new Promise(() => setInterval(() => undefined, 1 << 30));
}
process.exit(failed === 0 ? 0 : 1);

/** A shell expression, since the number differs between this namespace and the one outside. */
function readOwnPid(): string {
  return `$(cat ${new LabFolder(instructions.folder).namespacePid})`;
}
