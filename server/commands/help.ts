/**
 * The help of the command line, made from the tables that also read it: it cannot be out of date.
 */
import type {ArgumentRow, Command} from './command.ts';

/** `svc --help`. */
export function generalHelp(commands: readonly Command[]): string {
  return [
    'Svc, a multi-model database server.',
    '',
    'usage: svc COMMAND [ARGUMENTS] [OPTIONS]',
    '',
    ...aligned(commands.map(command => [command.name, command.says])),
    '',
    "'svc COMMAND --help' tells more of each.",
    '',
  ].join('\n');
}

/** `svc COMMAND --help`. */
export function commandHelp(command: Command): string {
  const options = Object.entries(command.options).map(([name, row]): [string, string] => {
    const says = row.repeated === undefined ? row.says : `${row.says}; may be repeated`;
    const names = row.short === undefined ? `--${name}` : `-${row.short}, --${name}`;
    return [row.value === undefined ? names : `${names} ${row.value}`, says];
  });
  const usage = ['svc', command.name, ...command.arguments.map(shape), '[OPTIONS]'].join(' ');
  const section = (title: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : ['', title, ...lines];
  return [
    `svc ${command.name} ${command.says}.`,
    '',
    `usage: ${usage}`,
    ...section('arguments', aligned(command.arguments.map(row => [row.name, row.says]))),
    ...section('options', aligned([...options, ['--help', 'this text']])),
    ...section(
      'examples',
      command.examples.map(example => `  ${example}`),
    ),
    '',
  ].join('\n');
}

function shape(row: ArgumentRow): string {
  if (row.count === 'optional') return `[${row.name}]`;
  if (row.count === 'any') return `[${row.name}...]`;
  return row.count === 'many' ? `${row.name}...` : row.name;
}

/** Pairs as lines of two columns. */
export function aligned(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, says]) => `  ${name.padEnd(width)}  ${says}`);
}
