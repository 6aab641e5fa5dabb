/** `svc version`: the version, the runtime, and which format versions are read and written. */
import {printJson} from '#server/client/json-text.ts';
import {type Command, print} from './command.ts';

export const versionCommand: Command = {
  name: 'version',
  says: 'prints the version, the runtime and the formats',
  arguments: [],
  options: {json: {says: 'print it as JSON'}},
  examples: ['svc version'],
  run: async (given, context) => {
    const {version, runtime, formats, without} = context.about;
    const lines = Object.entries(formats).map(
      ([name, {reads, writes}]) => `format ${name}: reads ${reads}, writes ${writes}`,
    );
    const absent = without.map(name => `without module ${name}`);
    const text = given.has('json')
      ? printJson(context.about)
      : [`svc ${version}`, `runtime ${runtime}`, ...lines, ...absent].join('\n');
    await print(context.stdout, `${text}\n`);
    return 0;
  },
};
