/**
 * `make mutants [WORLDS=20]`: puts each mutant into the core and says who noticed it. Fails when
 * less than 95 percent are noticed.
 */
import {tryMutant} from './mutant-trial.ts';
import {mutants} from './mutants.ts';

const shareMin = 0.95;

async function main(worlds: number): Promise<number> {
  let byTests = 0;
  let byWorlds = 0;
  let noticed = 0;
  for (const [number, {file, because}] of mutants.entries()) {
    const trial = await tryMutant({mutant: number, worlds});
    if (trial.byTests) byTests++;
    if (trial.byWorlds) byWorlds++;
    if (trial.byTests || trial.byWorlds) noticed++;
    const who = [...(trial.byTests ? ['tests'] : []), ...(trial.byWorlds ? ['worlds'] : [])];
    const verdict = who.length === 0 ? 'NOT NOTICED' : `by ${who.join(' and ')}`;
    process.stdout.write(`${String(number).padStart(2)} ${verdict}: ${file}: ${because}\n`);
  }
  const share = noticed / mutants.length;
  const percent = (share * 100).toFixed(1);
  process.stdout.write(
    `${noticed} of ${mutants.length} mutants noticed (${percent} %): ` +
      `${byTests} by tests, ${byWorlds} by ${worlds} simulated worlds\n`,
  );
  return share >= shareMin ? 0 : 1;
}

process.exitCode = await main(Number(process.env['WORLDS'] ?? 20));
