/**
 * The password of `root` at the first start: setting, file, or a prompt on a terminal.
 *
 * Without a terminal and without a password the start is refused: a server never runs with a
 * password that nobody chose and nobody saw. Source: docs/settings.md.
 */
import {randomBytes} from 'node:crypto';
import {readFileSync} from 'node:fs';
import {reasonOf, Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';

export const passwordLengthMin = 8;
export const passwordLengthMax = 256;

export interface PasswordPrompt {
  readonly isTerminal: boolean;
  /** Asks without echo. */
  ask(question: string): Promise<string>;
  tell(line: string): void;
}

/** @throws {Refusal} start.refused when there is none or it is too short or long. */
export async function firstRootPassword(
  settings: Settings,
  prompt: PasswordPrompt,
): Promise<string> {
  const given = givenRootPassword(settings);
  if (given !== undefined) return checked(given);
  if (!prompt.isTerminal) {
    throw new Refusal(
      'start.refused',
      'the first start needs a password for root: set svc.server.rootPassword ' +
        '(environment SVC_SERVER_ROOTPASSWORD) or svc.server.rootPasswordPath',
    );
  }
  const typed = await prompt.ask('Password for root (blank makes a random one): ');
  if (typed !== '') return checked(typed);
  const made = randomBytes(15).toString('base64url');
  prompt.tell(`The password of root is ${made} (shown this once)`);
  return made;
}

/** What the settings say, if anything. @throws {Refusal} start.refused when it cannot be read. */
export function givenRootPassword(settings: Settings): string | undefined {
  const given = settings.get('svc.server.rootPassword') || fromFile(settings);
  return given === '' ? undefined : given;
}

function fromFile(settings: Settings): string {
  const path = settings.get('svc.server.rootPasswordPath');
  if (path === '') return '';
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    const reason = reasonOf(error);
    throw new Refusal('start.refused', `cannot read svc.server.rootPasswordPath: ${reason}`);
  }
}

function checked(password: string): string {
  if (password.length < passwordLengthMin || password.length > passwordLengthMax) {
    throw new Refusal(
      'start.refused',
      `the password of root must have ${passwordLengthMin} to ${passwordLengthMax} characters`,
    );
  }
  return password;
}
