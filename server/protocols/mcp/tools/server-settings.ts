/** `get_server_settings` and `set_server_setting`. */
import {Refusal} from '#server/base/errors.ts';
import {anyText, text} from '../arguments.ts';
import {requireAdministrator, tool} from '../tool.ts';
import {ToolRefusal} from '../tool-refusal.ts';

export const getServerSettings = tool({
  name: 'get_server_settings',
  description:
    'Answers the settings of the server: value, default, description, and whether somebody has ' +
    'set it. Secrets are masked.',
  annotations: {title: 'Get the settings', readOnlyHint: true, openWorldHint: false},
  profiles: ['admin'],
  requires: ['read'],
  input: {},
  run({administration}) {
    const settings = administration
      .settings()
      .report()
      .filter(({scope}) => scope === 'server')
      .map(({key, value, description, origin, default: usual}) => ({
        key,
        value,
        description,
        overridden: origin !== 'default',
        default: usual,
      }));
    return JSON.stringify({settings});
  },
});

export const setServerSetting = tool({
  name: 'set_server_setting',
  description:
    'Changes a setting of the server at once, until its next start. Look at get_server_settings ' +
    'first: it says what there is and which value is in force.',
  annotations: {
    title: 'Change a setting',
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: true,
    openWorldHint: false,
  },
  profiles: ['admin'],
  requires: ['admin'],
  input: {
    key: text('The name of the setting, such as svc.queryMaxConcurrent'),
    value: anyText('Its new value, written as text'),
  },
  run(call, {key, value}) {
    requireAdministrator(call);
    const {administration} = call;
    const reported = () =>
      administration
        .settings()
        .report()
        .find(row => row.key === key);
    const before = reported();
    if (before === undefined) {
      throw new ToolRefusal(`Unknown server setting: ${key.slice(0, 128)}`);
    }
    const {type} = before;
    if (value === '' && type !== 'string' && type !== 'path') {
      const word = `${type.charAt(0).toUpperCase()}${type.slice(1)}`;
      throw new ToolRefusal(`'value' must not be empty for setting '${key}' of type ${word}`);
    }
    try {
      administration.setServerSetting(key, value);
    } catch (error) {
      throw error instanceof Refusal ? new ToolRefusal(error.message) : error;
    }
    return JSON.stringify({
      key,
      previousValue: textOf(before.value),
      newValue: textOf(reported()?.value),
      message: `Setting '${key}' updated successfully.`,
    });
  },
});

function textOf(value: string | number | boolean | undefined): string | null {
  return value === undefined ? null : String(value);
}
