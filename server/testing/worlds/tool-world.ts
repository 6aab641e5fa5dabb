/** The tools of agents over a real service, without the messages that bring their calls. */
import {parseJsonText} from '#server/model/json-parser.ts';
import type {MapValue} from '#server/model/value.ts';
import {resolveSettings} from '#server/base/setting-values.ts';
import {Refusal} from '#server/base/errors.ts';
import {createClock, createTimers} from '#server/platform/real/clock.ts';
import {notPermitted, type Permission, permissionNames} from '#server/protocols/mcp/permissions.ts';
import type {ToolCall} from '#server/protocols/mcp/tool.ts';
import {ToolRefusal} from '#server/protocols/mcp/tool-refusal.ts';
import {tools} from '#server/protocols/mcp/tools/tool-list.ts';
import type {Principal} from '#server/security/principal.ts';
import type {Administration} from '#server/session/administration.ts';
import {profilerWorld} from './profiler.ts';
import {root, ServiceWorld} from './service-world.ts';

export interface ToolOptions {
  readonly as?: Principal;
  /** Default: all. */
  readonly permitted?: readonly Permission[];
}

/** What a tool answered: its payload, or the words of its refusal. */
export interface ToolAnswer {
  readonly payload?: unknown;
  readonly refusal?: string;
  /** Whether the refusal is shown in production too. */
  readonly isShown?: boolean;
}

export class ToolWorld implements AsyncDisposable {
  readonly world: ServiceWorld;
  readonly administration: Administration;

  private constructor(world: ServiceWorld, values: Readonly<Record<string, string>>) {
    this.world = world;
    let {settings} = resolveSettings([{name: 'test', values}]);
    this.administration = {
      identity: {serverName: 'svc_0', version: '1.0', instanceId: 'i', languages: ['sql']},
      profiler: profilerWorld({clock: createClock(), timers: createTimers()}).profiler,
      settings: () => settings,
      setServerSetting: (key, value) => {
        settings = settings.with(key, value, 'command');
      },
      setDatabaseSetting: async () => {},
      disk: () => ({}),
      metrics: () => ({}),
      figures: () => ({}),
      events: () => [],
      eventFiles: () => [],
      fencedDatabases: () => [],
      databaseIdentity: name => name,
      shutdown: () => {},
    };
  }

  static async open(settings: Readonly<Record<string, string>> = {}): Promise<ToolWorld> {
    return new ToolWorld(await ServiceWorld.open(settings), settings);
  }

  async call(name: string, given: object, options: ToolOptions = {}): Promise<ToolAnswer> {
    const tool = tools.find(one => one.name === name);
    if (tool === undefined) return {refusal: `Unknown tool: ${name}`};
    const json = parseJsonText(JSON.stringify(given)) as MapValue;
    try {
      return {payload: JSON.parse(await tool.call(this.#call(options), json)) as unknown};
    } catch (error) {
      if (error instanceof ToolRefusal) return {refusal: error.message, isShown: true};
      if (error instanceof Refusal) return {refusal: error.message, isShown: false};
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.world.close();
  }

  #call({as = root, permitted = permissionNames}: ToolOptions): ToolCall {
    const {service} = this.world;
    const allows = (permission: Permission): boolean => permitted.includes(permission);
    return {
      principal: as,
      service,
      administration: this.administration,
      cluster: undefined,
      clock: createClock(),
      requestId: 'r1',
      context: {},
      allows,
      require(permission) {
        if (!allows(permission)) throw notPermitted(permission);
      },
      requireDatabase(name) {
        if (!service.databaseExists(as, name)) throw new ToolRefusal(`no database ${name}`);
      },
      readableDatabases: () => service.databaseNames(as),
    };
  }
}
