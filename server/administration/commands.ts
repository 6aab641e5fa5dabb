/**
 * The table of administrative commands, in the order of the manual (docs/administration.md).
 *
 * Protocols take a command from here by its name, or find one by its words, and have it done by
 * `administer`.
 */
import {backupCommands} from './backups.ts';
import {databaseCommands} from './databases.ts';
import {memberCommands} from './members.ts';
import {profilerCommands} from './profiler.ts';
import {runningWorkCommands} from './running-work.ts';
import {serverCommands} from './server.ts';
import {userCommands} from './users.ts';

export const administrativeCommands = {
  ...databaseCommands,
  ...userCommands,
  ...serverCommands,
  ...memberCommands,
  ...runningWorkCommands,
  ...profilerCommands,
  ...backupCommands,
};
