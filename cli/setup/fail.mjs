/** A set-up that cannot go on; the message says what to do. Anything else that is thrown is a defect of ours. */
export class SetupError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = 'SetupError';
  }
}
