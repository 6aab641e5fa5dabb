/** An answer to the agent that says what to change; it is shown in every mode of the server. */
export class ToolRefusal extends Error {
  override readonly name = 'ToolRefusal';
}
