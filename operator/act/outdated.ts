/** What was decided no longer fits what is: look again. */
export class Outdated extends Error {
  override readonly name = 'Outdated';
}
