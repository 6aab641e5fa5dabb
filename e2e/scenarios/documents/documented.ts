/**
 * The commands of docs/kubernetes, as they stand there to be typed: which page is typed by which
 * scenario, and what a page gives to be read alone.
 *
 * Every `sh` block of a page is run by its scenario. A block that holds commands and is not run
 * says why, in a comment before it.
 */
import {readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {runWith} from '../../lab/commands.ts';
import type {Lab} from '../../lab/lab.ts';

const root = join(import.meta.dirname, '../../..');
const folder = 'docs/kubernetes';

export const dayByDay = `${folder}/day-by-day.md`;
export const aboutOperator = `${folder}/operator.md`;

/** Who types the commands of a page. */
export const typedBy: Readonly<Record<string, string>> = {
  [dayByDay]: 'E31',
  [aboutOperator]: 'E32',
};

export interface Block {
  /** The word behind the fence: `sh`, `yaml`, `text`. */
  readonly language: string;
  readonly text: string;
  /** Why nobody runs it, where the page says so. */
  readonly notRun: string | undefined;
}

export function pages(): readonly string[] {
  const names = readdirSync(join(root, folder)).filter(name => name.endsWith('.md'));
  return names.map(name => `${folder}/${name}`);
}

export function blocksOf(page: string): readonly Block[] {
  const text = readFileSync(join(root, page), 'utf8');
  const fence = /(?:^<!-- not run: (.+) -->\n+)?^```(\w*)\n([^]*?)^```$/gm;
  return [...text.matchAll(fence)].map(([, notRun, language = '', block = '']) => ({
    language,
    text: block,
    notRun,
  }));
}

/** The blocks of a page that are typed, in their order. */
export function commandsOf(page: string): readonly string[] {
  return blocksOf(page)
    .filter(({language}) => language === 'sh')
    .map(({text}) => text);
}

/** A reader's patience is no bound of the product: a machine with other work takes longer. */
const longTimeout = '--timeout=900s';

/** Types a block in a shell of the lab, from the root of the checkout. */
export async function typeIn(lab: Lab, block: string): Promise<void> {
  const script = `cd '${root}'\nexport KUBECONFIG='${lab.kubeconfig}'\n${block}`;
  // What was typed stands in the error, before what came of it.
  const patient = script.replaceAll(/--timeout=\d+s/g, longTimeout);
  await runWith(patient, 'bash', '-euxo', 'pipefail');
}
